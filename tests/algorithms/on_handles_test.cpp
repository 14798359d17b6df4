// SPDX-License-Identifier: MIT
#include <hetsched/algorithms.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/gpu/for_each.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::error_of;
using support::on_cpus;

namespace on_handles_test {

/// With a body for GPUs, below.
struct Triple {
  HETSCHED_DEVICE void operator()(double& v) const { v *= 3; }
};

} // namespace on_handles_test

template <>
struct hetsched::TaskBodyGPU<hetsched::algorithms::ForEach<double, on_handles_test::Triple>> {
  struct Kernel {
    on_handles_test::Triple f;
    VectorView<double> x;

    HETSCHED_DEVICE void operator()(std::size_t i) const { f(x[i]); }
  };

  void operator()(GpuStream& stream,
                  on_handles_test::Triple f,
                  LoopOptions,
                  VectorView<double> x) const {
    gpu::for_each_index(stream, x.size(), Kernel{f, x});
  }
};

namespace on_handles_test {

TEST_SUITE_BEGIN("algorithms/on_handles");

TEST_CASE_TEMPLATE("algorithms on handles: in program order with other tasks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 8}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    for (std::size_t const n : {0, 1, 5, 3001}) {
      hs::LoopOptions const options{.grain = 100};
      std::vector<int> x(n), y(n);
      long sum = 1;
      long squares = 0;
      {
        auto const hx = rt.data(x);
        auto const hy = rt.data(y);
        auto const hs_sum = rt.data(sum);
        auto const hs_squares = rt.data(squares);
        rt.spawn()([](hs::VectorView<int> v) { std::iota(v.begin(), v.end(), 0); }, hs::write(hx));
        hs::for_each(rt, hx, [](int& v) { v = 2 * v; }, options);
        hs::transform(rt, hx, hy, [](int v) { return -v; }, options);
        hs::reduce(rt, hx, hs_sum, std::plus<>(), options);
        hs::transform_reduce(
            rt, hx, hs_squares, std::plus<>(), [](int v) { return long{v} * v; }, options);
        hs::sort(rt, hy, std::less<>(), options);
        hs::inclusive_scan(rt, hx, hx, std::plus<>(), options);
        rt.sync();
      }
      auto const m = static_cast<long>(n);
      CHECK(sum == 1 + m * (m - 1));
      CHECK(squares == (n == 0 ? 0 : 4 * (m - 1) * m * (2 * m - 1) / 6));
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) {
        right = right && y[i] == -2 * static_cast<int>(n - 1 - i) &&
                x[i] == static_cast<int>(i * (i + 1));
      }
      CHECK(right);
    }
  }
}

TEST_CASE_TEMPLATE("algorithms on handles: loops over several data, and pairs of elements",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 8}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    for (std::size_t const n : {0, 1, 2999}) {
      hs::LoopOptions const options{.grain = 100};
      std::vector<long> x(n), y(n), z(n);
      long dot = 1;
      long differences = 0;
      int calls = 0;
      {
        auto const hx = rt.data(x);
        auto const hy = rt.data(y);
        auto const hz = rt.data(z);
        auto const hdot = rt.data(dot);
        auto const hdifferences = rt.data(differences);
        auto const hcalls = rt.data(calls);
        std::vector const both{hx, hy};
        hs::parallel_for(
            rt,
            std::size_t{0},
            n,
            [](std::size_t i, hs::VectorView<long> v, hs::VectorView<long> w, long by) {
              v[i] = static_cast<long>(i);
              w[i] = by * v[i];
            },
            options,
            hs::write(hx),
            hs::write(hy),
            3L);
        hs::parallel_for(
            rt,
            0,
            static_cast<int>(n),
            [](int i, hs::VectorView<long const> v, hs::VectorView<long> w, int& count) {
              w[static_cast<std::size_t>(i)] = v[static_cast<std::size_t>(i)] + 1;
              std::atomic_ref(count).fetch_add(1, std::memory_order_relaxed);
            },
            hs::read(hx),
            hs::write(hz),
            hs::read_write(hcalls));
        hs::parallel_for(
            rt,
            std::size_t{0},
            n,
            [](std::size_t i, hs::Each<hs::VectorView<long>> all) {
              for (auto const& one : all) {
                one[i] += 1;
              }
            },
            hs::read_write(both));
        hs::transform(rt, hx, hy, hy, [](long a, long b) { return b - a; }, options);
        hs::transform_reduce(rt, hx, hz, hdot);
        hs::transform_reduce(
            rt, hy, hz, hdifferences, std::plus<>(), [](long a, long b) { return a - b; }, options);
        rt.sync();
      }
      auto const m = static_cast<long>(n);
      bool right = true;
      for (std::size_t i = 0; i < n; ++i) {
        auto const k = static_cast<long>(i);
        right = right && x[i] == k + 1 && y[i] == 2 * k && z[i] == k + 1;
      }
      CHECK(right);
      CHECK(calls == static_cast<int>(n));
      CHECK(dot == 1 + m * (m + 1) * (2 * m + 1) / 6);
      CHECK(differences == m * (m - 1) / 2 - m);
    }
  }
}

TEST_CASE("algorithms on handles: captured, on parts, with errors") {
  hs::Runtime<> rt(on_cpus(3));
  std::vector<double> x(1000, 1.0), y(999);
  double z = 0;
  auto const hx = rt.data(x);
  auto graph = rt.capture([&] { hs::for_each(rt, hx, [](double& v) { v += 1; }); });
  rt.run(graph);
  rt.run(graph);
  CHECK(x == std::vector<double>(1000, 3.0));
  {
    auto const parts = rt.partition(hx, hs::block_rows(300));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      hs::for_each(rt, parts[k], [k](double& v) { v = static_cast<double>(k); });
    }
  }
  rt.sync();
  CHECK(x[299] == 0);
  CHECK(x[999] == 3);

  auto const hy = rt.data(y);
  auto const error = error_of([&] { hs::transform(rt, hx, hy, [](double v) { return v; }); });
  REQUIRE(error);
  CHECK(std::string(error->what()) == "hetsched: transform: x has 1000 elements, y has 999");
  CHECK(std::string(error_of([&] { hs::transform_reduce(rt, hx, hy, rt.data(z)); })->what()) ==
        "hetsched: transform_reduce: x has 1000 elements, second has 999");
  CHECK(std::string(error_of([&] {
                      hs::transform(rt, hx, hy, hx, [](double a, double b) { return a + b; });
                    })->what()) == "hetsched: transform: x has 1000 elements, second has 999");
  hs::for_each(rt, hx, [](double&) { throw std::runtime_error("no"); });
  CHECK_THROWS_WITH(rt.sync(), "no");
  CHECK(rt.failures().size() == 1);
}

TEST_CASE("algorithms on handles: on emulated devices where there is a body") {
  for (char const* const devices : {"emu@16MB", "emu:2@64KB"}) {
    auto config = on_cpus(2);
    config.devices = devices;
    hs::Runtime<> rt(config);
    std::vector<double> x(5000);
    std::iota(x.begin(), x.end(), 0.0);
    double sum = 0;
    auto const hx = rt.data(x);
    auto const hsum = rt.data(sum);
    {
      auto const parts = rt.partition(hx, hs::block_rows(700));
      for (std::size_t k = 0; k < parts.size(); ++k) {
        rt.spawn<hs::algorithms::ForEach<double, Triple>>(hs::SetArch(hs::ArchCUDA))(
            Triple{}, hs::LoopOptions{}, parts[k]);
        hs::for_each(rt, parts[k], Triple{}); // on a device or on cores
      }
    }
    hs::reduce(rt, hx, hsum);
    rt.sync();
    CHECK(sum == 9.0 * 5000 * 4999 / 2);
    CHECK(x[4999] == 9.0 * 4999);
  }
}

TEST_SUITE_END();

} // namespace on_handles_test
