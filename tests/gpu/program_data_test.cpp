// SPDX-License-Identifier: MIT
// Data that the program has on a device, and its own streams there. An emulated device's memory is
// host memory, so the test reads it as the program's kernels would.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"
#include "device_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using devices_test::contains;
using devices_test::TestDevice;
using devices_test::TestStream;

namespace program_data_test {

using Vector = hs::VectorView<double>;
using ConstVector = hs::VectorView<double const>;

/// y := x + factor y
struct Update : hs::Task<3>::Signature<double, hs::R<Vector>, hs::RW<Vector>> {};

void update(double factor, ConstVector x, Vector y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = x[i] + factor * y[i];
  }
}

} // namespace program_data_test

template <>
struct hetsched::TaskBodyCPU<program_data_test::Update> {
  void
  operator()(double factor, program_data_test::ConstVector x, program_data_test::Vector y) const {
    program_data_test::update(factor, x, y);
  }
};

template <>
struct hetsched::TaskBodyGPU<program_data_test::Update> {
  void operator()(hs::GpuStream& stream,
                  double factor,
                  program_data_test::ConstVector x,
                  program_data_test::Vector y) const {
    if (!stream.run_emulated([=] { program_data_test::update(factor, x, y); })) {
      FAIL("not an emulated device");
    }
  }
};

namespace program_data_test {

constexpr std::size_t n = 1000;
constexpr hs::NodeId one{1};
constexpr hs::NodeId two{2};

hs::Config config(std::string const& devices) {
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = devices;
  return config;
}

TEST_SUITE_BEGIN("devices");

TEST_CASE("devices: tasks on parts of uneven sizes") {
  hs::Runtime<> rt(config("emu:2@16KB"));
  std::vector<double> xs(n, 1);
  std::vector<double> ys(n, 2);
  auto const x = rt.data(xs);
  auto const y = rt.data(ys);
  {
    auto const cuts = hs::cuts({1, 500, 930});
    auto const from = rt.partition(x, cuts);
    auto const to = rt.partition(y, cuts);
    for (std::size_t k = 0; k < to.size(); ++k) {
      rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(static_cast<double>(k), from[k], to[k]);
    }
  }
  rt.spawn<Update>(hs::SetArch(hs::ArchHost))(10.0, x, y); // y = x + 10 y, of the whole
  rt.sync();
  for (std::size_t i = 0; i < n; ++i) {
    auto const k = (i >= 1 ? 1 : 0) + (i >= 500 ? 1 : 0) + (i >= 930 ? 1 : 0);
    REQUIRE(ys[i] == 1 + 10 * (1 + k * 2));
  }
}

TEST_CASE("device_data: tasks anywhere use it, sync brings it home") {
  hs::Runtime<> rt(config("emu:2@16KB"));
  std::vector<double> on_one(n, 1);
  std::vector<double> on_two(n, 2);
  std::vector<double> on_host(n, 3);
  auto const x = rt.device_data(one, on_one.data(), n);
  auto const y = rt.device_data(two, on_two.data(), n);
  auto const z = rt.data(on_host);
  for (int round = 0; round < 3; ++round) {
    rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(2.0, x, y); // y = x + 2 y
    rt.spawn<Update>(hs::SetArch(hs::ArchHost))(3.0, y, x); // x = y + 3 x
    rt.spawn<Update>()(1.0, x, z);                          // z = x + z
  }
  rt.sync(x);
  CHECK(on_one == std::vector<double>(n, 204));
  rt.sync();
  CHECK(on_two == std::vector<double>(n, 78));
  CHECK(on_host == std::vector<double>(n, 257));
  on_one.assign(n, 10); // the program's own kernel
  rt.spawn<Update>(hs::SetArch(hs::ArchHost))(0.0, x, z);
  rt.sync();
  CHECK(on_host[n - 1] == 10);
}

TEST_CASE("device_data: a sync leaves alone what tasks of another thread use on the host") {
  auto cores = config("emu:1@16KB?latency=50us");
  cores.cpus = 2;
  hs::Runtime<> rt(cores);
  std::vector<double> ones(n, 1);
  std::vector<double> sums(n, 0);
  auto const x = rt.data(ones);
  auto const y = rt.device_data(one, sums.data(), n);
  constexpr int rounds = 300;
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      rt.sync();
    }
  });
  for (int round = 0; round < rounds; ++round) {
    rt.spawn<Update>(hs::SetArch(hs::ArchHost))(1.0, x, y); // y = x + y
    if (round % 3 == 0) {
      rt.sync(y);
    }
  }
  rt.sync(y);
  over = true;
  other.join();
  CHECK(sums == std::vector<double>(n, rounds));
}

TEST_CASE("device_data: takes no memory for data, and stays in place") {
  hs::Runtime<> rt(config("emu:1@1KB")); // an eighth of one vector
  std::vector<double> a(n, 1);
  std::vector<double> b(n, 2);
  std::vector<double> c(n, 3);
  auto const x = rt.device_data(one, a.data(), n);
  auto const y = rt.device_data(one, b.data(), n);
  auto const z = rt.data(c);
  for (int round = 0; round < 10; ++round) {
    rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(1.0, x, y);
  }
  CHECK(
      contains(support::message_of([&] { rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(1.0, x, z); }),
               "do not fit"));
  rt.evict(x, one);
  rt.prefetch(y, one);
  rt.sync();
  CHECK(b == std::vector<double>(n, 12));
  auto const stats = rt.stats().devices[0];
  CHECK(stats.bytes_from_host == 0);
  CHECK(stats.evictions_clean + stats.evictions_dirty == 0);
}

TEST_CASE("device_data: parts, constant data, and the last handle") {
  std::vector<double> a(n, 1);
  std::vector<double> b(n, 2);
  hs::Runtime<> rt(config("emu:1@64KB"));
  {
    auto const x = rt.device_data(one, static_cast<double const*>(a.data()), n);
    auto const y = rt.device_data(one, b.data(), n);
    rt.spawn<Update>()(1.0, x, y);
    {
      auto parts = rt.partition(y, hs::Blocks{100, 1});
      std::vector<double> fives(100, 5);
      auto const five = rt.data(fives);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        rt.spawn<Update>()(0.0, five, parts[k]);
      }
      rt.join(parts);
      rt.sync();
    }
    CHECK(b == std::vector<double>(n, 5));
    rt.spawn<Update>(hs::SetArch(hs::ArchHost))(1.0, x, y);
    rt.wait();
  }
  CHECK(b == std::vector<double>(n, 6)); // the last handle brought it home
  auto const again = rt.device_data(one, b.data(), n);
}

TEST_CASE("device_data: refuses what is no such memory") {
  hs::Runtime<> rt(config("emu:1@64KB"));
  std::vector<double> a(n, 1);
  auto const x = rt.device_data(one, a.data() + 10, 20);
  auto const refusal = [&](hs::NodeId node, double* first, std::size_t count) {
    return support::message_of([&] { (void)rt.device_data(node, first, count); });
  };
  CHECK(contains(refusal(hs::host_node, a.data(), n), "node 0 is no device's memory"));
  CHECK(contains(refusal({7}, a.data(), n), "no memory node 7"));
  CHECK(contains(refusal(one, nullptr, n), "has no memory"));
  for (std::size_t const begin : {0, 9, 10, 15, 29}) {
    CHECK(contains(refusal(one, a.data() + begin, 12), "overlaps"));
  }
  CHECK(refusal(one, a.data() + 30, 12) == "");
  CHECK(refusal(one, a.data(), 10) == "");
  CHECK(contains(support::message_of([&] { rt.follow(rt.data(a), nullptr); }), "no device_data"));
}

TEST_CASE("follow: tasks wait for the program's own stream") {
  for (auto const* const devices : {"emu:1@64KB", "emu:2@64KB"}) {
    hs::Runtime<> rt(config(devices));
    TestDevice mine(hetsched_emulated_driver());
    TestStream stream(mine);
    std::vector<double> a(n, 1);
    std::vector<double> b(n, 0);
    auto const x = rt.device_data(one, a.data(), n);
    auto const y = rt.data(b);
    for (int round = 1; round <= 5; ++round) {
      REQUIRE(devices_test::run(stream, [&a, round] {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                a.assign(n, round);
              }) == hs_ok);
      rt.follow(x, stream.handle);
      if (round % 2 == 0) {
        rt.spawn<Update>(hs::SetArch(hs::ArchHost))(10.0, x, y);
      } else {
        rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(10.0, x, y);
      }
      rt.sync(x); // before the stream writes again
    }
    rt.sync();
    CHECK(b == std::vector<double>(n, 12345));
  }
}

TEST_CASE("device_data: a device that is lost takes it along, and nothing hangs") {
  hs::Runtime<> rt(config("emu:1@64KB?lost=kernel@2"));
  std::vector<double> a(n, 1);
  std::vector<double> b(n, 2);
  auto const x = rt.data(a);
  {
    auto const y = rt.device_data(one, b.data(), n);
    for (int round = 0; round < 4; ++round) {
      rt.spawn<Update>(hs::SetArch(hs::ArchCUDA))(1.0, x, y);
    }
    auto const why = support::message_of([&] { rt.sync(); });
    CHECK_MESSAGE(contains(why, "told to get lost"), why);
    CHECK(contains(support::message_of([&] { rt.sync(y); }), "failed"));
  }
  auto const z = rt.data(b);
  rt.spawn<Update>()(0.0, x, z);
  rt.sync();
  CHECK(b == a);
}

TEST_SUITE_END();

} // namespace program_data_test
