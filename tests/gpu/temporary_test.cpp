// SPDX-License-Identifier: MIT
// Temporaries whose values are on devices.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace hs = hetsched;

namespace gpu_temporary_test {

using Vector = hs::VectorView<double>;
using ConstVector = hs::VectorView<double const>;

struct Begin : hs::Task<2>::Signature<double, hs::W<Vector>> {
  static void set(double value, Vector y) {
    for (auto& element : y) {
      element = value;
    }
  }

  static void cpu(double value, Vector y) { set(value, y); }

  static void gpu(hs::GpuStream& stream, double value, Vector y) {
    support::launch(stream, [=] { set(value, y); });
  }
};

struct AddTo : hs::Task<2>::Signature<hs::R<Vector>, hs::RW<Vector>> {
  static void add(ConstVector x, Vector y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] += x[i];
    }
  }

  static void cpu(ConstVector x, Vector y) { add(x, y); }

  static void gpu(hs::GpuStream& stream, ConstVector x, Vector y) {
    support::launch(stream, [=] { add(x, y); });
  }
};

struct Next : hs::Task<2>::Signature<hs::R<Vector>, hs::W<Vector>> {
  static void add_one(ConstVector x, Vector y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = x[i] + 1;
    }
  }

  static void cpu(ConstVector x, Vector y) { add_one(x, y); }

  static void gpu(hs::GpuStream& stream, ConstVector x, Vector y) {
    support::launch(stream, [=] { add_one(x, y); });
  }
};

template <class T, class Rt, class... A>
void spawn_on(Rt& rt, bool device, A const&... arguments) {
  if (device) {
    rt.template spawn<T>(hs::SetArch(hs::ArchCUDA))(arguments...);
  } else {
    rt.template spawn<T>(hs::SetArch(hs::ArchHost))(arguments...);
  }
}

hs::Config with(char const* devices) {
  auto config = support::on_cpus(1);
  config.devices = devices;
  return config;
}

TEST_SUITE_BEGIN("devices");

TEST_CASE("temporary: on a device only, nothing of it comes to the host") {
  hs::Runtime<> rt(with("emu@32KB")); // 4 of the temporaries
  constexpr std::size_t n = 1000;
  std::vector<double> sums(n);
  auto const out = rt.data(sums);
  constexpr int length = 200;
  {
    auto last = rt.temporary<double>(n);
    rt.spawn<Begin>(hs::SetArch(hs::ArchCUDA))(1.0, last);
    for (int k = 1; k < length; ++k) {
      auto const next = rt.temporary<double>(n);
      rt.spawn<Next>(hs::SetArch(hs::ArchCUDA))(last, next);
      if (k % 50 == 0) {
        rt.sync(); // brings home what the program has, and no temporary
      }
      last = next;
    }
    rt.spawn<AddTo>(hs::SetArch(hs::ArchCUDA))(last, out);
  }
  rt.sync();
  CHECK(sums == std::vector<double>(n, length));
  auto const device = rt.stats().devices.at(0);
  CHECK(device.bytes_from_host == n * sizeof(double)); // of `out`
  CHECK(device.bytes_to_host == n * sizeof(double));
  CHECK(device.evictions_dirty == 0);
}

TEST_CASE("temporary: between host and devices, its handle gone") {
  hs::Runtime<> rt(with("emu:2@64KB"));
  constexpr std::size_t n = 1000;
  std::vector<double> sums(n);
  auto const out = rt.data(sums);
  for (int k = 0; k < 100; ++k) {
    auto const x = rt.temporary<double>(n);
    auto const y = rt.temporary<double>(n);
    spawn_on<Begin>(rt, k % 2 == 0, 1.0, x);
    rt.spawn<Begin>()(2.0, y);
    spawn_on<AddTo>(rt, k % 3 != 0, x, y);
    auto const parts = rt.partition(y, hs::block_rows(300));
    auto const into = rt.partition(out, hs::block_rows(300));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      rt.spawn<AddTo>()(parts[p], into[p]);
    }
  }
  rt.sync();
  CHECK(sums == std::vector<double>(n, 300));
}

TEST_SUITE_END();

} // namespace gpu_temporary_test
