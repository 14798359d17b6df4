// SPDX-License-Identifier: MIT
#include "runtime_programs.hpp"

#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>

#include "claim_programs.hpp"
#include "device_programs.hpp"

#include <array>
#include <cstddef>

namespace interleavings {

namespace {

template <class... Policies>
struct With {
  using Runtime = hs::Runtime<Policies...>;

  static Runtime make(hs::Config const& config) { return Runtime(config); }
};

using Default = With<>;

/// One central queue: the oldest first, whoever asks.
using OldestFirst = With<hs::policies::Eager<>>;

/// The same, with times of tasks.
template <class Scheduler, std::int64_t Host, std::int64_t Device>
using Timed = With<Scheduler, hs::policies::Lru, FixedTimes<Host, Device>>;

// A core ends any claimed task sooner.
using FastHost = Timed<hs::policies::Eager<>, 1, 1000000000>;

// Ready tasks are offered to devices.
using FastDevice = Timed<hs::policies::Eager<>, 1000000000, 1>;
using FastDeviceOfThieves = Timed<hs::policies::WorkStealing<>, 1000000000, 1>;

constexpr Program claimed[] = {
    {"super-tasks", DevicePrograms<Default>::super_tasks},
    {"super-tasks by reuse", DevicePrograms<With<hs::policies::Multigrain<>>>::super_tasks},
    {"claimed beside thieves", ClaimPrograms<FastDeviceOfThieves>::on_one},
    {"claimed beside thieves by two", ClaimPrograms<FastDeviceOfThieves>::on_two},
    {"made ready together beside thieves", ClaimPrograms<FastDeviceOfThieves>::made_ready_together},
    {"claimed and waited for beside thieves",
     ClaimPrograms<FastDeviceOfThieves>::waited_for_in_a_body},
    {"claimed and lost beside thieves", ClaimPrograms<FastDeviceOfThieves>::lost<2>},
    {"claimed beside thieves, no times", ClaimPrograms<Default>::on_one},
    {"claimed", ClaimPrograms<OldestFirst>::on_one},
    {"claimed by two", ClaimPrograms<OldestFirst>::on_two},
    {"claimed and waited for", ClaimPrograms<OldestFirst>::waited_for_in_a_body},
    {"claimed and lost at event 1", ClaimPrograms<OldestFirst>::lost<1>},
    {"claimed and lost at event 3", ClaimPrograms<OldestFirst>::lost<3>},
    {"claimed beside a failure", ClaimPrograms<OldestFirst>::beside_a_failure},
    {"claimed, cores are faster", ClaimPrograms<FastHost>::on_one},
    {"made ready together, cores are faster", ClaimPrograms<FastHost>::made_ready_together},
    {"claimed and waited for, cores are faster", ClaimPrograms<FastHost>::waited_for_in_a_body},
    {"claimed and lost, cores are faster", ClaimPrograms<FastHost>::lost<2>},
    {"claimed, the device is faster", ClaimPrograms<FastDevice>::on_one},
    {"claimed by two, devices are faster", ClaimPrograms<FastDevice>::on_two},
    {"made ready together, the device is faster", ClaimPrograms<FastDevice>::made_ready_together},
    {"claimed and waited for, the device is faster",
     ClaimPrograms<FastDevice>::waited_for_in_a_body},
    {"claimed and lost, the device is faster", ClaimPrograms<FastDevice>::lost<1>},
    {"claimed and lost later, the device is faster", ClaimPrograms<FastDevice>::lost<3>},
    {"claimed beside a failure, the device is faster", ClaimPrograms<FastDevice>::beside_a_failure},
};

/// A task's priority is the number of the worker that has it, and no other may take it.
class OwnQueues {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  template <hs::context Ctx>
  hs::Wake push(Ctx const& ctx, hs::TaskId task, hs::WorkerId /*worker*/) {
    auto const home = ctx.task(task).priority;
    queues_[static_cast<std::size_t>(home)].push(task, 0);
    return hs::Wake::worker(hs::WorkerId{home});
  }

  template <hs::context Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker) {
    return queues_[worker.index()].pop([&](hs::TaskId task) { return ctx.can_run(task, worker); });
  }

  /// The engine asks as long as there is something to take over.
  template <hs::context Ctx>
  hs::TaskId reconsider(Ctx const& /*ctx*/, hs::WorkerId /*worker*/) {
    return hs::no_task;
  }

private:
  std::array<hs::policies::Fifo, 3> queues_;
};

constexpr Program oldest_first[] = {
    {"groups in bodies, oldest first", Programs<OldestFirst>::groups_in_bodies},
    {"partition in a body, oldest first", Programs<OldestFirst>::partition_in_a_body},
    {"crossed beside an abortable task, own queues",
     Programs<With<OwnQueues>>::crossed_beside_an_abortable},
};

} // namespace

std::span<Program const> oldest_first_programs() {
  return oldest_first;
}

std::span<Program const> runtime_programs() {
  return Programs<Default>::all;
}

std::span<Program const> meeting_programs() {
  return Programs<Default>::meetings;
}

std::span<Program const> claim_programs() {
  return claimed;
}

std::span<Program const> device_programs() {
  return DevicePrograms<Default>::all;
}

} // namespace interleavings
