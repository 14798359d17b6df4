// SPDX-License-Identifier: MIT
#pragma once
// What the parts of a collection on one rank share.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/array_space.hpp>
#include <hetsched/detail/collections/collection_type.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/runtime/base_runtime.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hetsched::detail {

/// Under the lock of the collection, but for what never changes.
struct CollectionContext {
  /// Of the runtime.
  struct Workers {
    int cpu = 0;
    int gpu = 0;

    explicit Workers(BaseRuntime<ThreadEngine> const& runtime) {
      for (auto const& worker : runtime.workers()) {
        ++(worker.arch == ArchCUDA ? gpu : cpu);
      }
    }
  };

  ArraySpace& space;
  BaseRuntime<ThreadEngine>& runtime;
  void* typed_runtime;
  std::span<CollectionType const* const> types;
  StealRule rule;
  CollectionOptions options;
  Workers workers{runtime};
  std::size_t task_bytes = packed_bytes(types); // of any packed task
  CollectionStats stats = {};
  Routines routines = {};
  bool ended = false; // all tasks are complete, or a rank is gone

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
