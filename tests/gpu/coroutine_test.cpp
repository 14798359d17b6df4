// SPDX-License-Identifier: MIT
// Coroutines whose data tasks on devices change.

#include <hetsched/coroutines.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace hs = hetsched;

namespace gpu_coroutine_test {

using Vector = hs::VectorView<long>;

struct Increment : hs::Task<1>::Signature<hs::RW<Vector>> {
  static void increment(Vector y) {
    for (auto& element : y) {
      ++element;
    }
  }

  static void gpu(hs::GpuStream& stream, Vector y) {
    support::launch(stream, [=] { increment(y); });
  }
};

hs::Coroutine<long> add_twice(hs::Runtime<>& rt, hs::WithHandle<Vector> own) {
  long seen = 0;
  for (int k = 0; k < 2; ++k) {
    rt.spawn<Increment>()(own.handle);
    auto const& handle = own.handle;
    co_await handle; // the value is in host memory, and may be changed there
    seen += own.view[0];
    own.view[0] += 10;
  }
  co_return seen;
}

TEST_SUITE_BEGIN("devices");

TEST_CASE("coroutine: sees what devices have made of its data") {
  for (auto const* const devices : {"emu:1", "emu:2"}) {
    auto config = support::on_cpus(2);
    config.devices = devices;
    std::vector<long> values(8, 0);
    hs::Runtime<> rt(config);
    auto const data = rt.data(values);
    std::vector<hs::Future<long>> all;
    rt.spawn<Increment>()(data);
    for (int k = 0; k < 3; ++k) {
      all.push_back(rt.async(add_twice, hs::read_write(data)));
      rt.spawn<Increment>()(data);
    }
    long sum = 0;
    for (auto const& one : all) {
      sum += one.get();
    }
    rt.sync();
    CHECK(sum == 2 + 13 + 25 + 36 + 48 + 59);
    CHECK(values[0] == 70);
    CHECK(values[7] == 10);
  }
}

TEST_SUITE_END();

} // namespace gpu_coroutine_test
