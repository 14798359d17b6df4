// SPDX-License-Identifier: MIT
#pragma once
// Small programs with emulated devices, some of which get lost. Their streams are threads, too.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "programs.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace interleavings {

using Vector = hetsched::VectorView<long>;
using Constant = hetsched::VectorView<long const>;

/// Writes 42 to each element.
struct Answer : hetsched::Task<1>::Signature<hetsched::W<Vector>> {};

/// Adds 1 to each element.
struct Increment : hetsched::Task<1>::Signature<hetsched::RW<Vector>> {};

/// Copies one datum to another.
struct CopyAll : hetsched::Task<2>::Signature<hetsched::R<Vector>, hetsched::W<Vector>> {};

/// Throws when it is launched.
struct Refuse : hetsched::Task<1>::Signature<hetsched::RW<Vector>> {};

/// Reads two data, or writes three.
struct Two : hetsched::Task<2>::Signature<hetsched::R<Vector>, hetsched::R<Vector>> {};

struct Three
    : hetsched::Task<3>::Signature<hetsched::W<Vector>, hetsched::W<Vector>, hetsched::W<Vector>> {
};

/// Doubles each element of each datum and adds 1: at once on a device, a task for each datum on
/// cores.
struct DoubleAll : hetsched::Task<1>::Signature<hetsched::RW<hetsched::Each<Vector>>> {
  static void one(Vector v) {
    for (auto& x : v) {
      x = 2 * x + 1;
    }
  }

  static void gpu(hetsched::GpuStream& stream, hetsched::Each<Vector> all) {
    for (auto const v : all) {
      (void)stream.run_emulated([v] { one(v); });
    }
  }

  template <class Rt>
  static void cpu(Rt& rt, hetsched::Each<hetsched::Handle<Vector>> all) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      rt.spawn()([](Vector v) { one(v); }, hetsched::read_write(all[k]));
    }
  }
};

} // namespace interleavings

template <>
struct hetsched::TaskBodyGPU<interleavings::Answer> {
  void operator()(GpuStream& stream, interleavings::Vector v) const {
    (void)stream.run_emulated([v] {
      for (auto& one : v) {
        one = 42;
      }
    });
  }
};

template <>
struct hetsched::TaskBodyGPU<interleavings::Increment> {
  void operator()(GpuStream& stream, interleavings::Vector v) const {
    (void)stream.run_emulated([v] {
      for (auto& one : v) {
        ++one;
      }
    });
  }
};

template <>
struct hetsched::TaskBodyGPU<interleavings::CopyAll> {
  void operator()(GpuStream& stream, interleavings::Constant from, interleavings::Vector to) const {
    (void)stream.run_emulated([from, to] {
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = from[i];
      }
    });
  }
};

template <>
struct hetsched::TaskBodyGPU<interleavings::Refuse> {
  void operator()(interleavings::Vector) const { throw std::runtime_error("refused"); }
};

template <>
struct hetsched::TaskBodyGPU<interleavings::Two> {
  void operator()(interleavings::Constant, interleavings::Constant) const {}
};

template <>
struct hetsched::TaskBodyGPU<interleavings::Three> {
  void operator()(interleavings::Vector, interleavings::Vector, interleavings::Vector) const {}
};

namespace interleavings {

template <class Setup>
struct DevicePrograms {
  using Rt = typename Setup::Runtime;

  static constexpr std::size_t length = 32; // 256 bytes
  static constexpr hetsched::NodeId device{1};

  static hetsched::Config with(char const* devices, int cpus = 1) {
    auto config = on_cores(cpus);
    config.devices = devices;
    return config;
  }

  static auto on_device() { return hetsched::SetArch(hetsched::ArchCUDA); }

  /// Returns whether it throws that a device failed.
  template <class F>
  static bool fails(F&& f) {
    try {
      f();
    } catch (hetsched::Error const& error) {
      hetsched::testing::expect(error.code() == hetsched::ErrorCode::device_failed,
                                "an error that is no device's");
      return true;
    }
    return false;
  }

  static void chain_on_a_device() {
    std::vector<long> x(length);
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const hx = rt.data(x);
    for (int k = 0; k < 3; ++k) {
      rt.template spawn<Increment>(on_device())(hx);
    }
    rt.spawn()([](Vector v) { v[0] *= 2; }, hetsched::read_write(hx));
    rt.template spawn<Increment>(on_device())(hx);
    rt.sync();
    hetsched::testing::expect(x[0] == 7 && x[length - 1] == 4, "7 and 4");
  }

  static void two_devices() {
    std::vector<long> x(length), y(length), z(length);
    auto rt = Setup::make(with("emu:2@64KB"));
    auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.template spawn<Answer>(on_device())(hx);
    rt.template spawn<CopyAll>(on_device())(hx, hy);
    rt.template spawn<CopyAll>(on_device())(hx, hz);
    rt.template spawn<Increment>(on_device())(hx);
    rt.sync();
    hetsched::testing::expect(x[0] == 43 && y[0] == 42 && z[0] == 42, "43, 42, 42");
  }

  static void little_memory() {
    std::vector<long> x(length), y(length), z(length);
    auto rt = Setup::make(with("emu:1@512B"));
    auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.template spawn<Answer>(on_device())(hx);
    rt.template spawn<CopyAll>(on_device())(hx, hy);
    rt.template spawn<CopyAll>(on_device())(hy, hz);
    rt.template spawn<Increment>(on_device())(hx);
    rt.sync();
    hetsched::testing::expect(x[0] == 43 && y[0] == 42 && z[0] == 42, "43, 42, 42");
  }

  static void prefetched() {
    std::vector<long> x(length, 1);
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const hx = rt.data(x);
    rt.prefetch(hx, device);
    rt.template spawn<Increment>(on_device())(hx);
    rt.spawn()([](Vector v) { ++v[0]; }, hetsched::read_write(hx));
    rt.prefetch(hx, device);
    rt.sync();
    hetsched::testing::expect(x[0] == 3 && x[1] == 2, "3, 2");
  }

  static void sync_of_one_datum() {
    std::vector<long> x(length), y(length);
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.template spawn<Answer>(on_device())(hx);
    rt.template spawn<Answer>(on_device())(hy);
    rt.sync(hx);
    hetsched::testing::expect(x[0] == 42, "42 after the sync");
    rt.template spawn<Increment>(on_device())(hx);
    rt.sync();
    hetsched::testing::expect(x[0] == 43 && y[0] == 42, "43, 42");
  }

  static void abortable_on_a_device() {
    std::vector<long> x(length), y(length);
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const hx = rt.data(x), hy = rt.data(y);
    rt.template spawn<Increment>(hetsched::abortable, on_device())(hx);
    rt.template spawn<Increment>(hetsched::abortable, on_device())(hy);
    rt.template spawn<Increment>(hetsched::abortable, on_device())(hx);
    rt.sync();
    hetsched::testing::expect(x[0] == 2 && y[0] == 1, "2, 1");
  }

  // ---- devices that get lost, and tasks that fail ----

  /// The only copy of x goes down with the device. A task reads x, then x is overwritten.
  static void lost_and_read() {
    std::vector<long> x(length, 1), y(length), z(length);
    auto rt = Setup::make(with("emu:1@64KB?lost=copy@1"));
    auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.template spawn<Answer>(on_device())(hx);
    rt.wait();
    rt.prefetch(hz, device);
    rt.spawn()([](Constant a, Vector b) { b[0] = a[0]; }, hetsched::read(hx), hetsched::write(hy));
    bool const told = fails([&] { rt.sync(hy); });
    hetsched::testing::expect(told || y[0] == 42, "42 or an error");
    rt.spawn()([](Vector a) { a[0] = 7; }, hetsched::write(hx));
    (void)fails([&] { rt.sync(); });
    rt.sync();
    hetsched::testing::expect(x[0] == 7, "x = 7");
  }

  static void lost_and_joined() { lost_partition(true); }

  static void lost_and_partitioned() { lost_partition(false); }

  static void lost_partition(bool join) {
    std::vector<long> x(length), z(length);
    auto rt = Setup::make(with("emu:1@64KB?lost=copy@1"));
    auto const hx = rt.data(x), hz = rt.data(z);
    hetsched::Partition<Vector> parts;
    if (join) {
      parts = rt.partition(hx, hetsched::block_rows(length / 2));
    }
    rt.template spawn<Answer>(on_device())(join ? parts[0] : hx);
    rt.wait();
    rt.prefetch(hz, device);
    if (!join) {
      parts = rt.partition(hx, hetsched::block_rows(length / 2));
    }
    rt.join(parts);
    bool const told = fails([&] { rt.sync(); });
    hetsched::testing::expect(told || x[0] == 42, "42 or an error");
    rt.sync();
  }

  /// Devices that get lost at any event: each loss is told once.
  template <int Event>
  static void lost_at() {
    std::vector<long> x(length), y(length);
    auto const devices = "emu:1@64KB?lost=event@" + std::to_string(Event);
    (void)fails([&] {
      auto rt = Setup::make(with(devices.c_str()));
      auto const hx = rt.data(x), hy = rt.data(y);
      rt.template spawn<Answer>(on_device())(hx);
      rt.template spawn<Answer>(on_device())(hy);
      int times = 0;
      while (times < 4 && fails([&] { rt.sync(); })) {
        ++times;
      }
      hetsched::testing::expect(times < 4, "a loss is told once");
      hetsched::testing::expect(times > 0 || (x[0] == 42 && y[0] == 42), "42 or an error");
    });
  }

  static void one_of_two_lost() {
    std::vector<long> x(length);
    auto rt = Setup::make(with("emu:1@64KB?lost=kernel@1;emu:1@64KB"));
    auto const hx = rt.data(x);
    for (int k = 0; k < 4; ++k) {
      rt.template spawn<Increment>(on_device())(hx);
    }
    bool const told = fails([&] { rt.sync(); });
    hetsched::testing::expect(told || x[0] == 4, "4 or an error");
    hetsched::testing::expect(rt.stats().rerun <= 8, "a lost device takes nothing");
  }

  static void failing_series_with_devices() {
    long sum = 0;
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const h = rt.data(sum);
    rt.spawn()([](long& mine) { mine += 5; }, hetsched::reduce<hetsched::Sum<long>>(h));
    rt.spawn()([](long&) { throw std::runtime_error("no"); },
               hetsched::reduce<hetsched::Sum<long>>(h));
    try {
      rt.sync();
      hetsched::testing::expect(false, "the sync throws");
    } catch (std::runtime_error const&) {
    }
    rt.spawn()([](long& v) { v = 0; }, hetsched::write(h));
    rt.spawn()([](long& mine) { mine += 1; }, hetsched::reduce<hetsched::Sum<long>>(h));
    rt.sync();
    hetsched::testing::expect(sum == 1, "the sum is 1");
  }

  static void sync_in_a_body_that_throws() {
    std::vector<long> a(length);
    auto rt = Setup::make(with("emu:1@64KB"));
    auto const ha = rt.data(a);
    rt.spawn()(
        [](Rt& in, hetsched::Handle<Vector> h) {
          std::vector<long> v(length);
          auto const hv = in.data(v);
          in.template spawn<Answer>(on_device())(hv);
          in.template spawn<Refuse>(on_device())(h);
          bool thrown = false;
          try {
            in.sync();
          } catch (std::runtime_error const&) {
            thrown = true;
          }
          hetsched::testing::expect(thrown && v[0] == 42, "the sync throws, with all else at home");
        },
        hetsched::read_write(ha));
    try {
      rt.sync();
    } catch (std::runtime_error const&) {
    }
    rt.sync();
  }

  /// What fits exactly is admitted, however the memory was split before.
  static void fits_exactly() {
    std::vector<long> p(length), b(length), x(length), y(length), z(2 * length);
    auto rt = Setup::make(with("emu:1@1KB"));
    auto const hp = rt.data(p), hb = rt.data(b), hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.template spawn<Two>(on_device())(hp, hb);
    rt.spawn()([](Vector v) { v[0] = 1; }, hetsched::write(hp));
    rt.wait();
    rt.template spawn<Three>(on_device())(hx, hy, hz);
    rt.sync();
  }

  /// Super-tasks on data that they share, on two cores and a device.
  static void super_tasks() {
    std::array<std::vector<long>, 4> data;
    auto rt = Setup::make(with("emu:1@64KB", 2));
    std::vector<hetsched::Handle<Vector>> handles;
    for (auto& datum : data) {
      datum.assign(length, 1);
      handles.push_back(rt.data(datum));
    }
    std::span const some(handles);
    rt.template spawn<DoubleAll>(hetsched::reuse(1))(some.first(2));
    rt.template spawn<DoubleAll>(hetsched::reuse(3))(some.last(2));
    rt.template spawn<DoubleAll>(hetsched::reuse(2))(some.subspan(1, 2));
    rt.sync();
    for (std::size_t k = 0; k < data.size(); ++k) {
      hetsched::testing::expect(data[k][k] == (k % 3 == 0 ? 3 : 7), "3, 7, 7 and 3");
    }
  }

  static constexpr Program all[] = {
      {"chain on a device", chain_on_a_device},
      {"two devices", two_devices},
      {"little memory", little_memory},
      {"prefetched", prefetched},
      {"sync of one datum on a device", sync_of_one_datum},
      {"abortable on a device", abortable_on_a_device},
      {"lost and read", lost_and_read},
      {"lost and joined", lost_and_joined},
      {"lost and partitioned", lost_and_partitioned},
      {"lost at event 1", lost_at<1>},
      {"lost at event 2", lost_at<2>},
      {"lost at event 3", lost_at<3>},
      {"lost at event 4", lost_at<4>},
      {"lost at event 5", lost_at<5>},
      {"lost at event 6", lost_at<6>},
      {"one of two lost", one_of_two_lost},
      {"failing series with devices", failing_series_with_devices},
      {"sync in a body that throws", sync_in_a_body_that_throws},
      {"fits exactly", fits_exactly},
  };
};

} // namespace interleavings
