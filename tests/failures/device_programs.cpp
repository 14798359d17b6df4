// SPDX-License-Identifier: MIT
// Programs with emulated devices.

#include <hetsched/gpu.hpp>
#include <hetsched/policies/caches/next_use.hpp>

#include "../support/launch.hpp"
#include "programs.hpp"

#include <string_view>
#include <vector>

namespace failures {

struct Grow : hs::Task<1>::Signature<hs::RW<Numbers>> {};

struct GrowThere : hs::Task<1>::Signature<hs::RW<Numbers>> {};

struct Gather : hs::Task<2>::Signature<hs::R<Numbers>, hs::CW<long, hs::Sum<long>>> {};

} // namespace failures

template <>
struct hetsched::TaskBodyCPU<failures::Grow> {
  void operator()(failures::Numbers all) const { failures::increment(all); }
};

template <>
struct hetsched::TaskBodyGPU<failures::Grow> {
  void operator()(GpuStream& stream, failures::Numbers all) const {
    support::launch(stream, [all] { failures::increment(all); });
  }
};

template <>
struct hetsched::TaskBodyGPU<failures::GrowThere> {
  void operator()(GpuStream& stream, failures::Numbers all) const {
    support::launch(stream, [all] { failures::increment(all); });
  }
};

template <>
struct hetsched::TaskBodyGPU<failures::Gather> {
  void operator()(GpuStream& stream, VectorView<long const> all, long& sum) const {
    support::launch(stream, [all, &sum] { sum += all[0]; });
  }
};

namespace {

using namespace failures;

using Rt = hs::Runtime<>;
using Foreseeing = hs::Runtime<hs::policies::WorkStealing<>, hs::policies::NextUse>;

/// One device, which has memory for a part of the data.
hs::Config one_device() {
  hs::Config config;
  config.devices = "emu:1@1KB";
  config.streams = 1;
  return config;
}

/// Blocks come to the device, leave it, and come home.
template <class Rt>
void in_blocks(Rt& rt, Data& data) {
  auto const parts = rt.partition(rt.data(data.numbers), hs::block_rows(8));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      rt.template spawn<GrowThere>()(parts[k]);
    }
  }
  rt.sync();
}

bool devices(std::string_view) {
  return right<Rt>(one_device(), 2, 0, in_blocks<Rt>);
}

bool next_uses(std::string_view) {
  return right<Foreseeing>(one_device(), 2, 0, in_blocks<Foreseeing>);
}

/// Tasks for cores and devices, in turn.
bool anywhere(std::string_view) {
  return right<Rt>(one_device(), 20, 0, [](Rt& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 10; ++k) {
      rt.spawn<Grow>()(numbers);
      rt.spawn<Grow>(hs::SetArch(hs::ArchHost))(numbers);
    }
    rt.sync(numbers);
    rt.sync();
  });
}

bool contributions_there(std::string_view) {
  return right<Rt>(one_device(), 1, 8, [](Rt& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    auto const sum = rt.data(data.sum);
    rt.spawn<GrowThere>()(numbers);
    for (int k = 0; k < 8; ++k) {
      rt.spawn<Gather>()(numbers, sum);
    }
    rt.sync();
  });
}

/// A device that breaks down.
bool lost_device(std::string_view) {
  auto config = one_device();
  config.devices = "emu:1@1KB?lost=copy@20";
  return right<Rt>(config, 20, 0, [](Rt& rt, Data& data) {
    auto const parts = rt.partition(rt.data(data.numbers), hs::block_rows(32));
    for (int k = 0; k < 20; ++k) {
      rt.spawn<Grow>()(parts[0]);
      rt.spawn<Grow>()(parts[1]);
      rt.sync(parts[0]);
    }
    rt.sync();
  });
}

bool abortable_there(std::string_view) {
  return right<Rt>(one_device(), 10, 0, [](Rt& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 10; ++k) {
      rt.spawn<Grow>(hs::abortable)(numbers);
    }
    rt.sync();
  });
}

bool hints(std::string_view) {
  return right<Rt>(one_device(), 2, 0, [](Rt& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    rt.prefetch(numbers, hs::NodeId{1});
    rt.spawn<Grow>()(numbers);
    rt.pin(numbers, hs::NodeId{1});
    rt.spawn<GrowThere>()(numbers);
    rt.unpin(numbers, hs::NodeId{1});
    rt.sync();
  });
}

constexpr Program device_list[] = {{"devices", devices},
                                   {"next uses", next_uses},
                                   {"cores and devices", anywhere},
                                   {"contributions on devices", contributions_there},
                                   {"lost device", lost_device},
                                   {"abortable on devices", abortable_there},
                                   {"hints", hints}};

} // namespace

namespace failures {

std::span<Program const> device_programs() {
  return device_list;
}

} // namespace failures
