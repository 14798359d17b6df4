// SPDX-License-Identifier: MIT
#pragma once
// What the parts of a collection that runs on threads share.

#include <hetsched/detail/collections/array_space.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/runtime/base_runtime.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <span>

namespace hetsched::detail {

/// Under the lock of the collection, but for what never changes.
struct CollectionContext : RankContext {
  CollectionContext(ArraySpace& arrays,
                    BaseRuntime<ThreadEngine>& base_runtime,
                    void* of_type,
                    std::span<CollectionType const* const> task_types,
                    StealRule const& steal_rule,
                    CollectionOptions const& settings)
      : RankContext{arrays.port(),
                    arrays.rma,
                    arrays.looks,
                    task_types,
                    steal_rule,
                    settings,
                    Workers(base_runtime.workers())},
        space(arrays), runtime(base_runtime), typed_runtime(of_type) {}

  ArraySpace& space;
  BaseRuntime<ThreadEngine>& runtime;
  void* typed_runtime;
};

} // namespace hetsched::detail
