// SPDX-License-Identifier: MIT
// Bodies that launch their kernels in several streams.

#include <hetsched/gpu.hpp>
#include <hetsched/gpu/gpu_branches.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::contains;
using support::message_of;

namespace branches_test {

using Vector = hs::VectorView<int>;

/// What one body does, as the test has it.
struct Script {
  std::size_t branches = 3;
  std::size_t rounds = 2; // of forks
  support::Meeting* meeting = nullptr;
  int failing = 0; // 1: in a branch, 2: before the branches, 3: the body itself
};

/// In order: doubles each element; in branch k adds k + 1 to every element k modulo their number;
/// adds 1 to each.
struct Branching : hs::Task<2>::Signature<Script, hs::RW<Vector>> {
  static void gpu(hs::GpuStream& stream, Script const& script, Vector v) {
    for (std::size_t round = 0; round < script.rounds; ++round) {
      support::launch(stream, [v, script] {
        for (auto& x : v) {
          x *= 2;
        }
        if (script.failing == 2) {
          throw std::runtime_error("before");
        }
      });
      hs::GpuBranches branches(stream, script.branches);
      for (std::size_t k = 0; k < branches.size(); ++k) {
        support::launch(branches[k], [v, k, script] {
          if (script.meeting != nullptr && !script.meeting->meet()) {
            throw std::runtime_error("alone");
          }
          for (auto i = k; i < v.size(); i += script.branches) {
            v[i] += static_cast<int>(k) + 1;
          }
          if (script.failing == 1 && k == 1) {
            throw std::runtime_error("inside");
          }
        });
      }
      if (script.failing == 3) {
        throw std::runtime_error("the body");
      }
      if (round == 0) {
        branches.join(); // else at the end of the scope
      }
    }
    support::launch(stream, [v] {
      for (auto& x : v) {
        x += 1;
      }
    });
  }
};

struct Nested : hs::Task<2>::Signature<int, hs::RW<Vector>> {
  static void gpu(hs::GpuStream& stream, int levels, Vector) {
    hs::GpuBranches const branches(stream, levels == 0 ? 0 : 2);
    hs::GpuBranches const more(branches[0], 2);
  }
};

hs::Config one_device(std::string const& options = "") {
  auto config = support::on_cpus(1);
  config.devices = "emu:1@1MB" + options;
  return config;
}

std::vector<int> expected(std::vector<int> v, Script const& script) {
  for (std::size_t round = 0; round < script.rounds; ++round) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = 2 * v[i] + static_cast<int>(i % script.branches) + 1;
    }
  }
  for (auto& x : v) {
    x += 1;
  }
  return v;
}

TEST_SUITE_BEGIN("devices");

TEST_CASE("GpuBranches: between what the stream was given before and what it is given after") {
  hs::Runtime<> rt(one_device());
  for (std::size_t const branches : {1U, 2U, 3U, 7U}) {
    std::vector<int> v(50, 3);
    auto const hv = rt.data(v);
    Script const script{.branches = branches};
    auto right = v;
    for (int k = 0; k < 5; ++k) {
      rt.spawn<Branching>()(script, hv);
      right = expected(right, script);
    }
    rt.sync();
    CHECK(v == right);
  }
}

TEST_CASE("GpuBranches: run at the same time") {
  hs::Runtime<> rt(one_device());
  std::vector<int> v(4);
  auto const hv = rt.data(v);
  support::Meeting meeting(3);
  rt.spawn<Branching>()(Script{.rounds = 1, .meeting = &meeting}, hv);
  rt.sync();
  CHECK(v == std::vector<int>{2, 3, 4, 2});
}

TEST_CASE("GpuBranches: what fails in a branch, before, or in the body fails the task") {
  hs::Runtime<> rt(one_device());
  for (int const failing : {1, 2, 3}) {
    std::vector<int> v(4, 1);
    auto const hv = rt.data(v);
    rt.spawn<Branching>()(Script{.rounds = 1, .failing = failing}, hv);
    rt.spawn<Branching>()(Script{}, hv); // is skipped
    auto const message = message_of([&] { rt.sync(); });
    CHECK(contains(message, failing == 1 ? "inside" : failing == 2 ? "before" : "the body"));
    rt.spawn()([](Vector w) { w[0] = 5; }, hs::write(hv));
    rt.spawn<Branching>()(Script{}, hv);
    rt.sync();
    CHECK(v[0] == expected({5}, Script{})[0]);
  }
}

TEST_CASE("GpuBranches: none, and branches of branches, are refused") {
  hs::Runtime<> rt(one_device());
  std::vector<int> v(4);
  auto const hv = rt.data(v);
  rt.spawn<Nested>()(0, hv);
  CHECK(contains(message_of([&] { rt.sync(); }), "GpuBranches: asks for no stream"));
  rt.spawn()([](Vector) {}, hs::write(hv));
  rt.spawn<Nested>()(1, hv);
  CHECK(contains(message_of([&] { rt.sync(); }), "a branch has no branches of its own"));
}

TEST_CASE("GpuBranches: events and streams that cannot be had, and lost devices") {
  Script const script;
  for (std::string const what :
       {"fail=event@", "fail=stream@", "lost=event@", "lost=stream@", "lost=kernel@"}) {
    int wrong = 0;
    for (int call = 1; call <= 40; ++call) {
      CAPTURE(what);
      CAPTURE(call);
      std::vector<int> v(16, 1);
      try {
        hs::Runtime<> rt(one_device("?" + what + std::to_string(call)));
        auto const hv = rt.data(v);
        rt.spawn<Branching>()(script, hv);
        rt.sync();
        CHECK(v == expected(std::vector<int>(16, 1), script));
      } catch (hs::Error const& error) {
        CHECK((error.code() == hs::ErrorCode::device_failed ||
               error.code() == hs::ErrorCode::bad_config));
        ++wrong;
      }
    }
    CHECK((what == "fail=event@" ? wrong == 0 : wrong > 0));
  }
}

TEST_SUITE_END();

} // namespace branches_test
