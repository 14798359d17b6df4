// SPDX-License-Identifier: MIT
// Early activation: a device gets tasks before their predecessors have ended there.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/random.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace hs = hetsched;

namespace early_test {

using Vector = hs::VectorView<double>;
using ConstVector = hs::VectorView<double const>;

/// x := value
struct Fill : hs::Task<2>::Signature<double, hs::W<Vector>> {};

/// y := x + y
struct Accumulate : hs::Task<2>::Signature<hs::R<Vector>, hs::RW<Vector>> {};

/// z := x + 2 y
struct Combine : hs::Task<3>::Signature<hs::R<Vector>, hs::R<Vector>, hs::W<Vector>> {};

void fill(double value, Vector x) {
  for (auto& element : x) {
    element = value;
  }
}

void accumulate(ConstVector x, Vector y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += x[i];
  }
}

void combine(ConstVector x, ConstVector y, Vector z) {
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = x[i] + 2 * y[i];
  }
}

} // namespace early_test

template <>
struct hetsched::TaskBodyCPU<early_test::Fill> {
  void operator()(double value, early_test::Vector x) const { early_test::fill(value, x); }
};

template <>
struct hetsched::TaskBodyGPU<early_test::Fill> {
  void operator()(hs::GpuStream& stream, double value, early_test::Vector x) const {
    REQUIRE(stream.run_emulated([=] { early_test::fill(value, x); }));
  }
};

template <>
struct hetsched::TaskBodyCPU<early_test::Accumulate> {
  void operator()(early_test::ConstVector x, early_test::Vector y) const {
    early_test::accumulate(x, y);
  }
};

template <>
struct hetsched::TaskBodyGPU<early_test::Accumulate> {
  void operator()(hs::GpuStream& stream, early_test::ConstVector x, early_test::Vector y) const {
    REQUIRE(stream.run_emulated([=] { early_test::accumulate(x, y); }));
  }
};

template <>
struct hetsched::TaskBodyCPU<early_test::Combine> {
  void
  operator()(early_test::ConstVector x, early_test::ConstVector y, early_test::Vector z) const {
    early_test::combine(x, y, z);
  }
};

template <>
struct hetsched::TaskBodyGPU<early_test::Combine> {
  void operator()(hs::GpuStream& stream,
                  early_test::ConstVector x,
                  early_test::ConstVector y,
                  early_test::Vector z) const {
    REQUIRE(stream.run_emulated([=] { early_test::combine(x, y, z); }));
  }
};

namespace early_test {

constexpr std::size_t n = 128;

/// A runtime in which no task runs before `go`. All tasks read `start`, which a task of worker 0
/// writes, and worker 0 works in sync only.
struct Held {
  explicit Held(std::string const& devices)
      : rt([&] {
          hs::Config config;
          config.cpus = 1;
          config.bind = hs::Bind::none;
          config.devices = devices;
          return config;
        }()),
        first(n, 0), start(rt.data(first)) {
    rt.spawn(hs::SetArch(hs::ArchHost))([](Vector x) { fill(1, x); }, hs::write(start));
  }

  hs::Runtime<> rt;
  std::vector<double> first;
  hs::Handle<Vector> start;
};

/// Remembers the order in which tasks ended, by their priorities.
struct Ends : hs::policies::Eager<> {
  static constexpr auto threading = hs::Threading::serialized;
  static inline std::vector<std::int32_t> all;

  void
  epilogue(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId, hs::Duration) {
    all.push_back(ctx.task(task).priority);
  }
};

TEST_SUITE_BEGIN("devices");

TEST_CASE("early: a chain goes to the device ahead of its results") {
  constexpr int length = 20;
  Held held("emu:1@64KB?kernel=3ms");
  std::vector<double> sum(n, 0);
  auto h = held.rt.data(sum);
  for (int k = 0; k < length; ++k) {
    held.rt.spawn<Accumulate>(hs::SetArch(hs::ArchCUDA))(held.start, h);
  }
  held.rt.sync();
  CHECK(sum[0] == length);
  CHECK(sum[n - 1] == length);
  CHECK(held.rt.stats().early >= length / 2);
  CHECK(held.rt.stats().executed == length + 1);
}

TEST_CASE("early: tasks end in the order of their chain, however late their ends are seen") {
  constexpr std::int32_t chains = 2; // so few that the scheduler often has no other task
  constexpr std::int32_t links = 8;  // on the device; then one on a core
  constexpr std::int32_t rounds = 320;
  constexpr std::int32_t length = rounds * (links + 1);
  hs::Config config;
  config.cpus = 2;
  config.bind = hs::Bind::none;
  config.devices = "emu:1@1MB";
  int turned = 0;
  std::uint64_t early = 0;
#ifdef HETSCHED_TEST_FEW
  constexpr int repeats = 3;
#else
  constexpr int repeats = 10;
#endif
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Ends::all.clear();
    hs::Runtime<Ends> rt(config);
    std::vector<double> one(1, 1);
    std::vector<std::vector<double>> sums(chains, std::vector<double>(1, 0));
    auto const x = rt.data(one);
    std::vector<hs::Handle<Vector>> y;
    for (auto& sum : sums) {
      y.push_back(rt.data(sum));
    }
    for (std::int32_t round = 0; round < rounds; ++round) {
      for (std::int32_t c = 0; c < chains; ++c) {
        for (std::int32_t k = 0; k <= links; ++k) {
          auto const place = hs::priority(c * length + round * (links + 1) + k);
          auto& sum = y[static_cast<std::size_t>(c)];
          if (k < links) {
            rt.spawn<Accumulate>(hs::SetArch(hs::ArchCUDA), place)(x, sum);
          } else {
            rt.spawn<Accumulate>(hs::SetArch(hs::ArchHost), place)(x, sum);
          }
        }
      }
    }
    rt.sync();
    std::vector<std::int32_t> next(chains, 0);
    for (auto const place : Ends::all) {
      turned += next[static_cast<std::size_t>(place / length)]++ == place % length ? 0 : 1;
    }
    CHECK(sums.back()[0] == length);
    early += rt.stats().early;
  }
  CHECK(turned == 0);
  CHECK(early > 0);
}

TEST_CASE("peek: data of tasks that come next are there before the device takes them") {
  constexpr std::size_t tasks = 20;
  auto const ahead = [](auto rt_of, int window) {
    hs::Config config;
    config.cpus = 1;
    config.bind = hs::Bind::none;
    config.devices = "emu:1@256KB?kernel=2ms";
    config.window = window;
    typename decltype(rt_of)::type rt(config);
    std::vector<std::vector<double>> from(tasks, std::vector<double>(n, 1));
    auto to = from;
    std::vector<hs::Handle<Vector>> h;
    for (std::size_t k = 0; k < tasks; ++k) {
      h.push_back(rt.data(from[k]));
      h.push_back(rt.data(to[k]));
      rt.template spawn<Accumulate>(hs::SetArch(hs::ArchCUDA))(h[2 * k], h[2 * k + 1]);
    }
    rt.sync();
    for (auto const& y : to) {
      CHECK(y[n - 1] == 2);
    }
    auto const device = rt.stats().devices[0];
    CHECK(device.bytes_ahead_used <= device.bytes_ahead);
    return device.bytes_ahead_used / (2 * n * sizeof(double));
  };
  std::type_identity<hs::Runtime<hs::policies::Random<>>> const own_queues;
  std::type_identity<hs::Runtime<hs::policies::Eager<>>> const one_queue;
  CHECK(ahead(own_queues, 8) >= tasks / 2);
  CHECK(ahead(one_queue, 8) >= tasks / 2);
  CHECK(ahead(own_queues, 1) == 0);
  CHECK(ahead(one_queue, 1) == 0);
}

TEST_CASE("early: what joins several streams waits for all of them") {
  constexpr std::size_t width = 6;
  for (int repeat = 0; repeat < 10; ++repeat) {
    Held held("emu:2@64KB?kernel=1ms");
    std::vector<std::vector<double>> data(width, std::vector<double>(n, 0));
    std::vector<hs::Handle<Vector>> h;
    for (auto& x : data) {
      h.push_back(held.rt.data(x));
    }
    std::vector<double> expected(width, 0);
    for (int round = 0; round < 4; ++round) {
      for (std::size_t k = 0; k < width; ++k) {
        held.rt.spawn<Accumulate>()(held.start, h[k]);
        expected[k] += 1;
      }
      for (std::size_t k = 0; k + 2 < width; ++k) {
        held.rt.spawn<Combine>()(h[k], h[k + 1], h[k + 2]);
        expected[k + 2] = expected[k] + 2 * expected[k + 1];
      }
    }
    held.rt.sync();
    for (std::size_t k = 0; k < width; ++k) {
      CHECK(data[k][0] == expected[k]);
      CHECK(data[k][n - 1] == expected[k]);
    }
  }
}

TEST_CASE("early: a task that fails on the device takes back those behind it") {
  // y := start (the kernel that fails), z := y + 2 start, w := y + 2 z. No only copy is on the
  // device, so all tasks can run again.
  for (int const failing : {1, 2, 3}) {
    Held held("emu:1@64KB?kernel=2ms&fail=kernel@" + std::to_string(failing));
    std::vector<double> y(n, 0);
    std::vector<double> z(n, 0);
    std::vector<double> w(n, 0);
    auto hy = held.rt.data(y);
    auto hz = held.rt.data(z);
    auto hw = held.rt.data(w);
    held.rt.spawn<Combine>(hs::SetArch(hs::ArchCUDA))(held.start, held.start, hy);
    held.rt.spawn<Combine>()(hy, held.start, hz);
    held.rt.spawn<Combine>()(hy, hz, hw);
    held.rt.spawn<Accumulate>()(hz, hw);
    std::string error;
    try {
      held.rt.sync();
    } catch (hs::Error const& told) {
      error = told.what();
    }
    CAPTURE(failing);
    if (failing == 1) { // that task had no body for the host
      CHECK(error.find("Combine") != std::string::npos);
    }
    if (error.empty()) {
      CHECK(y[0] == 3);
      CHECK(z[0] == 5);
      CHECK(w[0] == 3 + 2 * 5 + 5);
    }
    error.clear();
    held.rt.spawn<Fill>()(7.0, hy); // the runtime, and every datum, can be used again
    held.rt.spawn<Fill>()(8.0, hz);
    held.rt.spawn<Fill>()(9.0, hw);
    held.rt.sync();
    CHECK(y[0] + z[n - 1] + w[0] == 24);
  }
}

TEST_CASE("early: what fails and can run on the host loses nothing") {
  for (std::string const fault : {"fail=kernel@1", "fail=kernel@2", "lost=kernel@1"}) {
    Held held("emu:1@64KB?kernel=2ms&" + fault);
    std::vector<double> y(n, 0);
    std::vector<double> z(n, 0);
    auto hy = held.rt.data(y);
    auto hz = held.rt.data(z);
    held.rt.spawn<Fill>()(2.0, hy);
    held.rt.spawn<Combine>()(hy, held.start, hz);
    held.rt.sync();
    CAPTURE(fault);
    CHECK(y[0] == 2);
    CHECK(z[n - 1] == 4);
  }
}

} // namespace early_test
