// SPDX-License-Identifier: MIT
#pragma once
// The smallest type for each context concept. Instantiating a policy's hooks on them shows that the
// policy asks for nothing that its concept does not offer. They compile; nothing calls them.
//
//     template hs::TaskId MyScheduler::pop(hs::testing::PlacementArchetype const&, hs::WorkerId);

#include <hetsched/concepts/context.hpp>

#include <cstdlib>

namespace hetsched::testing {

struct ClockArchetype {
  [[nodiscard]] Instant now() const { std::abort(); }
};

struct PlacementArchetype {
  [[nodiscard]] std::span<WorkerInfo const> workers() const { std::abort(); }

  [[nodiscard]] bool can_run(TaskId /*task*/, WorkerId /*worker*/) const { std::abort(); }

  [[nodiscard]] std::uint64_t random(WorkerId /*worker*/) const { std::abort(); }

  [[nodiscard]] TaskView task(TaskId /*task*/) const { std::abort(); }
};

struct ContextArchetype : ClockArchetype, PlacementArchetype {
  [[nodiscard]] std::optional<Prediction> predicted(TaskId /*task*/, WorkerId /*worker*/) const {
    std::abort();
  }

  [[nodiscard]] Duration transfer(TaskId /*task*/, WorkerId /*worker*/) const { std::abort(); }

  [[nodiscard]] TaskId running(WorkerId /*worker*/) const { std::abort(); }

  [[nodiscard]] Instant busy_until(WorkerId /*worker*/) const { std::abort(); }
};

struct MemoryArchetype : ClockArchetype {
  [[nodiscard]] std::span<NodeInfo const> nodes() const { std::abort(); }

  [[nodiscard]] std::size_t valid_bytes(TaskId /*task*/, NodeId /*node*/) const { std::abort(); }

  [[nodiscard]] std::size_t free_bytes(NodeId /*node*/) const { std::abort(); }
};

static_assert(clock_context<ClockArchetype> && !placement_context<ClockArchetype>);
static_assert(placement_context<PlacementArchetype> && !clock_context<PlacementArchetype>);
static_assert(context<ContextArchetype> && !memory_context<ContextArchetype>);
static_assert(memory_context<MemoryArchetype> && !placement_context<MemoryArchetype>);

} // namespace hetsched::testing
