// SPDX-License-Identifier: MIT
#pragma once
// What the arguments of a pipeline must be, one sentence for each mistake.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/algorithms/pipeline_run.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <type_traits>

namespace hetsched::detail {

template <class T>
inline constexpr bool is_item =
    std::is_object_v<T> && std::is_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

/// Whether the stages can follow each other, the first of which takes an Item. Does not compile, by
/// one message, if they cannot.
template <class Item, class Stage, class... Rest>
[[nodiscard]] consteval bool are_stages() {
  static_assert(is_pipeline_stage<Stage>,
                "hetsched: a stage of a pipeline is given as hs::in_order(f) or hs::parallel(f)");
  if constexpr (is_pipeline_stage<Stage>) {
    using F = decltype(Stage::function);
    constexpr bool takes = std::is_invocable_v<F&, Item>;
    constexpr bool takes_as_const = std::is_invocable_v<typename Stage::Function&, Item>;
    static_assert(takes,
                  "hetsched: a stage of a pipeline cannot be called with what the stage before it, "
                  "or the source, returns");
    static_assert(!takes || takes_as_const,
                  "hetsched: a parallel stage of a pipeline is called by several threads at a "
                  "time, so its function must not be mutable");
    if constexpr (takes_as_const) {
      using Result = StageResult<Item, Stage>;
      if constexpr (sizeof...(Rest) == 0) {
        static_assert(std::is_void_v<Result>,
                      "hetsched: the last stage of a pipeline must return void: nobody takes what "
                      "it returns");
        return std::is_void_v<Result>;
      } else {
        static_assert(!std::is_void_v<Result>,
                      "hetsched: only the last stage of a pipeline may return void");
        static_assert(std::is_void_v<Result> || is_item<Result>,
                      "hetsched: the items of a pipeline must be movable");
        if constexpr (is_item<Result>) {
          return are_stages<Result, Rest...>();
        }
      }
    }
  }
  return false;
}

template <class Source, class... Stages>
[[nodiscard]] consteval bool is_pipeline() {
  constexpr bool is_called = std::is_invocable_v<Source&>;
  static_assert(is_called, "hetsched: the source of a pipeline is called without arguments");
  static_assert(sizeof...(Stages) != 0, "hetsched: a pipeline needs a stage behind its source");
  if constexpr (is_called && sizeof...(Stages) != 0) {
    using Item = SourceItem<Source>;
    static_assert(!std::is_void_v<Item>,
                  "hetsched: the source of a pipeline must return a std::optional: an item, or "
                  "nothing at the end");
    static_assert(std::is_void_v<Item> || is_item<Item>,
                  "hetsched: the items of a pipeline must be movable");
    if constexpr (is_item<Item>) {
      return are_stages<Item, Stages...>();
    }
  }
  return false;
}

/// Throws Error(bad_config).
inline void check_items_in_flight(std::size_t items) {
  constexpr std::size_t most = std::size_t{1} << 30;
  if (items == 0 || items > most) {
    throw Error(ErrorCode::bad_config,
                "pipeline",
                text("%zu items in flight: must be from 1 to %zu", items, most));
  }
}

} // namespace hetsched::detail
