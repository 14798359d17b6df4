// SPDX-License-Identifier: MIT
// How tasks from lambdas are called: by their labels, or by where they were spawned.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/perf_models/history.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace lambda_names_test {

namespace hs = hetsched;
using support::on_cpus;

/// What the newest runtime has learnt.
struct Watched : hs::policies::History {
  inline static Watched const* newest = nullptr;

  Watched() { newest = this; }
};

/// The name of what is spawned `lines` below.
std::string below(unsigned lines, std::source_location here = std::source_location::current()) {
  return "lambda_names_test.cpp:" + std::to_string(here.line() + lines);
}

template <class Rt>
std::vector<std::string> names_of(Rt const& rt) {
  std::vector<std::string> names;
  for (auto const& type : rt.stats().types) {
    names.push_back(type.name + " " + std::to_string(type.count));
  }
  return names;
}

template <class Rt, class F>
void spawn_here(Rt& rt, F function) {
  rt.spawn()(function);
}

TEST_SUITE_BEGIN("runtime");

TEST_CASE("lambda names: a model keeps lambdas apart whose data have equal sizes") {
  hs::Runtime<hs::policies::WorkStealing<>, hs::policies::Lru, Watched> rt(on_cpus(1));
  double x = 0;
  auto const h = rt.data(x);
  auto const first = below(3);
  for (int k = 0; k < 3; ++k) {
    rt.spawn(hs::label("labelled"))([](double& v) { v += 1; }, hs::read_write(h));
    rt.spawn()([](double& v) { v += 2; }, hs::read_write(h));
    rt.spawn(hs::priority(1))([](double& v) { v += 3; }, hs::read_write(h));
  }
  rt.sync();

  CHECK(x == 18);
  std::vector<std::string> types;
  for (auto const& known : Watched::newest->known()) {
    types.push_back(known.type);
    CHECK(known.count == 3);
  }
  REQUIRE(types.size() == 3);
  CHECK(types[0] == "labelled");
  CHECK(types[1] == first);
  CHECK(types[2].starts_with("lambda_names_test.cpp:"));
}

TEST_CASE("lambda names: several lambdas from one place, in any kind of runtime") {
  auto config = on_cpus(1);
  config.timing = true;
  for (int k = 0; k < 2; ++k) {
    hs::Runtime<> plain(config);
    hs::Runtime<hs::policies::Eager<>> eager(config);
    auto const spawn_two = [](auto& rt) {
      auto const one = [] {};
      auto const two = [] {};
      spawn_here(rt, one);
      spawn_here(rt, two);
      spawn_here(rt, two);
      rt.sync();
      return names_of(rt);
    };
    auto const names = spawn_two(plain);
    REQUIRE(names.size() == 2);
    CHECK(names[0].ends_with(" 1"));
    CHECK(names[1].ends_with(" (2) 2"));
  }
  // The lambda is the same, the runtimes are not.
  auto const shared = [] {};
  hs::Runtime<> plain(config);
  hs::Runtime<hs::policies::Eager<>> eager(config);
  spawn_here(plain, shared);
  spawn_here(eager, shared);
  plain.sync();
  eager.sync();
  CHECK(names_of(plain) == names_of(eager));
}

TEST_CASE("lambda names: the first 64 labels count, then the place") {
  auto config = on_cpus(1);
  config.timing = true;
  hs::Runtime<> rt(config);
  for (int k = 0; k < 100; ++k) {
    rt.spawn(hs::label("label " + std::to_string(k)))([] {});
  }
  rt.sync();

  auto const names = names_of(rt);
  REQUIRE(names.size() == 65);
  CHECK(std::count(names.begin(), names.end(), "label 63 1") == 1);
  CHECK(names.back().starts_with("lambda_names_test.cpp:"));
  CHECK(names.back().ends_with(" 36"));
}

TEST_CASE("lambda names: abortable lambdas and captured ones, too") {
  auto config = on_cpus(1);
  config.timing = true;
  hs::Runtime<> rt(config);
  double x = 0;
  std::vector<double> y(1);
  auto const h = rt.data(x);
  auto const hy = rt.data(y);
  auto const place = below(1);
  rt.spawn(hs::abortable)([](hs::VectorView<double> v) { v[0] += 1; }, hs::read_write(hy));
  rt.sync();
  CHECK(names_of(rt) == std::vector<std::string>{place + " 1"});

  auto const graph = rt.capture(
      [&] { rt.spawn(hs::label("captured"))([](double& v) { v += 1; }, hs::read_write(h)); });
  CHECK(graph.tasks().nodes()[0].type == "captured");
}

TEST_CASE("lambda names: many threads spawn one lambda for the first time") {
  auto config = on_cpus(2);
  config.timing = true;
  for (int round = 0; round < 20; ++round) {
    hs::Runtime<> rt(config);
    auto const label = "round " + std::to_string(round);
    {
      std::vector<std::jthread> threads;
      for (int k = 0; k < 4; ++k) {
        threads.emplace_back([&] {
          for (int task = 0; task < 10; ++task) {
            rt.spawn(hs::label(label))([] {});
            rt.spawn()([] {});
          }
        });
      }
    }
    rt.sync();
    auto const names = names_of(rt);
    REQUIRE(names.size() == 2);
    CHECK(names[0].starts_with("lambda_names_test.cpp:"));
    CHECK(names[0].ends_with(" 40"));
    CHECK(names[1] == label + " 40");
  }
}

TEST_SUITE_END();

} // namespace lambda_names_test
