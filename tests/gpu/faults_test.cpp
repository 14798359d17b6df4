// SPDX-License-Identifier: MIT
// Whatever fault a device has, a program gets its results or one error that names the fault.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace hs = hetsched;

namespace faults_test {

using Vector = hs::VectorView<double>;

/// y := 2 y + x
struct Double : hs::Task<2>::Signature<hs::R<Vector>, hs::RW<Vector>> {};

/// total := total + sum of x
struct Add : hs::Task<2>::Signature<hs::R<Vector>, hs::CW<Vector, hs::Sum<double>>> {};

void add_doubled(double const* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = 2 * y[i] + x[i];
  }
}

void add(double const* x, double* total, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    total[i] += x[i];
  }
}

} // namespace faults_test

template <>
struct hetsched::TaskBodyCPU<faults_test::Double> {
  void operator()(hs::VectorView<double const> x, faults_test::Vector y) const {
    faults_test::add_doubled(x.data(), y.data(), y.size());
  }
};

template <>
struct hetsched::TaskBodyGPU<faults_test::Double> {
  void
  operator()(hs::GpuStream& stream, hs::VectorView<double const> x, faults_test::Vector y) const {
    support::launch(stream, [=] { faults_test::add_doubled(x.data(), y.data(), y.size()); });
  }
};

template <>
struct hetsched::TaskBodyCPU<faults_test::Add> {
  void operator()(hs::VectorView<double const> x, faults_test::Vector total) const {
    faults_test::add(x.data(), total.data(), x.size());
  }
};

template <>
struct hetsched::TaskBodyGPU<faults_test::Add> {
  void operator()(hs::GpuStream& stream,
                  hs::VectorView<double const> x,
                  faults_test::Vector total) const {
    support::launch(stream, [=] { faults_test::add(x.data(), total.data(), x.size()); });
  }
};

namespace faults_test {

constexpr std::size_t length = 64;
constexpr int vectors = 6;
constexpr int rounds = 8;

struct Outcome {
  bool right = false;    // all results are right
  std::string error;     // what sync threw
  bool readable = false; // afterwards every datum could be read, or was reported as lost
  hs::Stats stats;
};

/// Chains on six vectors and a sum, on devices that hold three vectors each.
Outcome run(std::string const& devices, bool only_devices) {
  std::vector<std::vector<double>> data(vectors, std::vector<double>(length, 1));
  std::vector<double> total(length, 0);
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = devices;
  hs::Runtime<> rt(config);
  std::vector<hs::Handle<Vector>> handles;
  for (auto& vector : data) {
    handles.push_back(rt.data(vector));
  }
  auto sum = rt.data(total);
  auto const last = static_cast<std::size_t>(vectors) - 1;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t v = 0; v < last; ++v) {
      if (only_devices || v % 2 == 0) {
        rt.spawn<Double>(hs::SetArch(hs::ArchCUDA))(handles[last], handles[v]);
      } else {
        rt.spawn<Double>()(handles[last], handles[v]);
      }
      rt.spawn<Add>()(handles[v], sum);
    }
  }
  Outcome outcome;
  try {
    rt.sync();
  } catch (hs::Error const& error) {
    outcome.error = error.what();
  }
  std::vector<double> value(1, 1);
  double expected = 0;
  for (int round = 0; round < rounds; ++round) {
    value[0] = 2 * value[0] + 1;
    expected += value[0] * static_cast<double>(last);
  }
  outcome.right = true;
  outcome.readable = true;
  for (std::size_t v = 0; v <= last; ++v) {
    try {
      rt.sync(handles[v]);
      outcome.right = outcome.right && data[v][0] == (v == last ? 1 : value[0]) &&
                      data[v][length - 1] == data[v][0];
    } catch (hs::Error const& error) {
      outcome.right = false;
      outcome.readable = outcome.readable && std::string(error.what()).size() > 10;
    }
  }
  outcome.right = outcome.right && total[0] == expected && total[length - 1] == expected;
  outcome.stats = rt.stats();
  return outcome;
}

TEST_SUITE_BEGIN("devices");

TEST_CASE("faults: without any, the results are right") {
  for (bool const only_devices : {false, true}) {
    auto const outcome = run("emu:2@2KB", only_devices);
    CHECK(outcome.right);
    CHECK(outcome.error.empty());
    CHECK(outcome.stats.rerun == 0);
  }
}

TEST_CASE("faults: one that fails once is made good, or told") {
  for (std::string const operation : {"copy", "kernel", "event", "pin"}) {
    for (int const number : {1, 2, 3, 7, 20}) {
      for (bool const only_devices : {false, true}) {
        auto const fault = "fail=" + operation + "@" + std::to_string(number);
        auto const outcome = run("emu:1@2KB?" + fault, only_devices);
        CAPTURE(fault);
        CAPTURE(only_devices);
        CAPTURE(outcome.error);
        CHECK(outcome.readable);
        CHECK(outcome.right == outcome.error.empty());
        if (operation == "copy" || operation == "pin") {
          CHECK(outcome.right);
        }
      }
    }
  }
}

TEST_CASE("faults: when a device is lost the host goes on, or is told what is gone") {
  for (std::string const operation : {"copy", "kernel", "event"}) {
    for (int const number : {1, 2, 5, 12, 30}) {
      for (bool const only_devices : {false, true}) {
        auto const fault = "lost=" + operation + "@" + std::to_string(number);
        auto const outcome = run("emu:1@2KB?" + fault + ";emu:1@2KB", only_devices);
        CAPTURE(fault);
        CAPTURE(only_devices);
        CAPTURE(outcome.error);
        CHECK(outcome.readable);
        CHECK(outcome.right == outcome.error.empty());
      }
    }
  }
}

TEST_CASE("faults: a device that cannot be opened is named") {
  for (std::string const fault : {"fail=allocate@1", "fail=stream@2", "lost=stream@1"}) {
    hs::Config config;
    config.devices = "emu:1@2KB?" + fault;
    CAPTURE(fault);
    CHECK_THROWS_AS(hs::Runtime<>{config}, hs::Error);
  }
}

} // namespace faults_test
