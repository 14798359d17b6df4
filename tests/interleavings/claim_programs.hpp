// SPDX-License-Identifier: MIT
#pragma once
// Small programs whose tasks any core or emulated device may run, so that cores and thieves meet
// what devices claim.

#include <hetsched/hetsched.hpp>

#include "device_programs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace interleavings {

/// Adds 1 to each element, anywhere.
struct Anywhere : hetsched::Task<1>::Signature<hetsched::RW<Vector>> {};

/// Predicts that each task takes so long on the host and on a device.
template <std::int64_t Host, std::int64_t Device>
struct FixedTimes {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hetsched::Prediction> predict(hetsched::TaskView const&,
                                                            hetsched::Arch arch) const {
    return hetsched::Prediction{{arch == hetsched::ArchHost ? Host : Device}, {}, 1};
  }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}

  [[nodiscard]] hetsched::Duration transfer(std::size_t, hetsched::NodeId, hetsched::NodeId) const {
    return {};
  }
};

} // namespace interleavings

template <>
struct hetsched::TaskBodyCPU<interleavings::Anywhere> {
  void operator()(interleavings::Vector v) const {
    for (auto& one : v) {
      ++one;
    }
  }
};

template <>
struct hetsched::TaskBodyGPU<interleavings::Anywhere> {
  void operator()(GpuStream& stream, interleavings::Vector v) const {
    (void)stream.run_emulated([v] {
      for (auto& one : v) {
        ++one;
      }
    });
  }
};

namespace interleavings {

template <class Setup>
struct ClaimPrograms : DevicePrograms<Setup> {
  using Rt = typename Setup::Runtime;
  using Data = std::array<std::vector<long>, 3>;
  using Handles = std::array<hetsched::Handle<Vector>, 3>;

  static Handles handles(Rt& rt, Data& data) {
    for (auto& one : data) {
      one.resize(ClaimPrograms::length);
    }
    return {rt.data(data[0]), rt.data(data[1]), rt.data(data[2])};
  }

  static void expect_each(Data const& data, long value) {
    for (auto const& one : data) {
      hetsched::testing::expect(one.front() == value && one.back() == value, "each task ran once");
    }
  }

  /// More tasks than are claimed, one after the other, from outside.
  static void independent(char const* devices) {
    Data data;
    auto rt = Setup::make(ClaimPrograms::with(devices, 2));
    auto const h = handles(rt, data);
    for (int k = 0; k < 2; ++k) {
      for (auto const& one : h) {
        rt.template spawn<Anywhere>()(one);
      }
    }
    rt.sync();
    expect_each(data, 2);
  }

  static void on_one() { independent("emu:1@64KB"); }

  static void on_two() { independent("emu:2@64KB"); }

  /// The end of a task makes several ready.
  static void made_ready_together() {
    Data data;
    auto rt = Setup::make(ClaimPrograms::with("emu:1@64KB", 2));
    auto const h = handles(rt, data);
    rt.spawn()([](Vector, Vector, Vector) {},
               hetsched::read_write(h[0]),
               hetsched::read_write(h[1]),
               hetsched::read_write(h[2]));
    for (auto const& one : h) {
      rt.template spawn<Anywhere>()(one);
    }
    rt.sync();
    expect_each(data, 1);
  }

  /// A body waits for tasks that a device may claim, and others spawn what it may not run.
  static void waited_for_in_a_body() {
    Data data;
    auto rt = Setup::make(ClaimPrograms::with("emu:1@64KB", 2));
    auto const h = handles(rt, data);
    rt.spawn()(
        [](Rt& in, hetsched::Handle<Vector> mine) {
          in.template spawn<Anywhere>()(mine);
          in.sync();
        },
        hetsched::read_write(h[0]));
    rt.template spawn<Anywhere>()(h[1]);
    rt.template spawn<Anywhere>()(h[2]);
    rt.sync();
    expect_each(data, 1);
  }

  /// The device gets lost while it claims tasks.
  template <int Event>
  static void lost() {
    Data data;
    auto const devices = "emu:1@64KB?lost=event@" + std::to_string(Event);
    bool told = false;
    (void)ClaimPrograms::fails([&] {
      auto rt = Setup::make(ClaimPrograms::with(devices.c_str(), 2));
      auto const h = handles(rt, data);
      for (auto const& one : h) {
        rt.template spawn<Anywhere>()(one);
      }
      told = ClaimPrograms::fails([&] { rt.sync(); });
      rt.sync();
      hetsched::testing::expect(rt.stats().executed == 3 || told, "3 tasks or an error");
    });
    if (!told) {
      expect_each(data, 1);
    }
  }

  /// A task fails while others are claimed.
  static void beside_a_failure() {
    Data data;
    auto rt = Setup::make(ClaimPrograms::with("emu:1@64KB", 2));
    auto const h = handles(rt, data);
    rt.template spawn<Anywhere>()(h[0]);
    rt.template spawn<Refuse>()(h[1]);
    rt.template spawn<Anywhere>()(h[1]);
    rt.template spawn<Anywhere>()(h[2]);
    bool thrown = false;
    try {
      rt.sync();
    } catch (std::runtime_error const&) {
      thrown = true;
    }
    hetsched::testing::expect(thrown, "the sync throws");
    hetsched::testing::expect(data[0][0] == 1 && data[2][0] == 1, "what does not depend on it ran");
  }
};

} // namespace interleavings
