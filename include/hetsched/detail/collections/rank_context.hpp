// SPDX-License-Identifier: MIT
#pragma once
// What the parts of a collection on one rank share, whatever runs its tasks.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/concepts/rma_port.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/collections/collection_type.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hetsched::detail {

/// For one thread at a time, but for what never changes.
struct RankContext {
  /// Of the rank's runtime.
  struct Workers {
    int cpu = 0;
    int gpu = 0;

    explicit Workers(std::span<WorkerInfo const> workers) {
      for (auto const& worker : workers) {
        ++(worker.arch == ArchCUDA ? gpu : cpu);
      }
    }
  };

  RmaPort& port;
  RmaOperations& rma;
  Looks& looks;
  std::span<CollectionType const* const> types;
  StealRule rule;
  CollectionOptions options;
  Workers workers;
  std::size_t task_bytes = packed_bytes(types); // of any packed task
  CollectionStats stats = {};
  Routines routines = {};
  bool ended = false; // all tasks are complete, or a rank is gone

  [[nodiscard]] int rank() const { return port.rank(); }

  [[nodiscard]] int ranks() const { return port.ranks(); }

private:
  [[nodiscard]] static std::size_t
  packed_bytes(std::span<CollectionType const* const> types) noexcept {
    std::size_t most = 0;
    for (auto const* type : types) {
      most = std::max(most, type->bytes);
    }
    return (sizeof(PackedHead) + most + 7) / 8 * 8;
  }
};

} // namespace hetsched::detail
