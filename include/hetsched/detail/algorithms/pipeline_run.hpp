// SPDX-License-Identifier: MIT
#pragma once
// One call of a pipeline: items with their types, carried from stage to stage.

#include <hetsched/detail/algorithms/pipeline_flow.hpp>
#include <hetsched/detail/core/array.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// A function, and whether its calls follow each other in the order of the items.
template <class F, bool InOrder>
struct PipelineStage {
  static constexpr bool in_order = InOrder;
  /// A function of a parallel stage is called by several threads at the same time.
  using Function = std::conditional_t<InOrder, F, F const>;

  F function;
};

template <class T>
inline constexpr bool is_pipeline_stage = false;

template <class F, bool InOrder>
inline constexpr bool is_pipeline_stage<PipelineStage<F, InOrder>> = true;

template <class T>
struct OptionalItem {
  using type = void;
};

template <class T>
struct OptionalItem<std::optional<T>> {
  using type = T;
};

/// What a source gives; void if it does not return a std::optional.
template <class Source>
using SourceItem = typename OptionalItem<std::remove_cvref_t<std::invoke_result_t<Source&>>>::type;

template <class Item, class Stage>
using StageResult = std::decay_t<std::invoke_result_t<typename Stage::Function&, Item>>;

/// `type<k>`: what stage k takes.
template <class Item, class... Stages>
struct PipelineItems;

template <class Item, class Stage>
struct PipelineItems<Item, Stage> {
  template <std::size_t>
  using type = Item;
  static constexpr std::size_t bytes = sizeof(Item);
  static constexpr std::size_t alignment = alignof(Item);
};

template <std::size_t K, class Item, class Rest>
struct ItemAt {
  using type = typename Rest::template type<K - 1>;
};

template <class Item, class Rest>
struct ItemAt<0, Item, Rest> {
  using type = Item;
};

template <class Item, class Stage, class Next, class... Stages>
struct PipelineItems<Item, Stage, Next, Stages...> {
  using Rest = PipelineItems<StageResult<Item, Stage>, Next, Stages...>;
  template <std::size_t K>
  using type = typename ItemAt<K, Item, Rest>::type;
  static constexpr std::size_t bytes = std::max(sizeof(Item), Rest::bytes);
  static constexpr std::size_t alignment = std::max(alignof(Item), Rest::alignment);
};

/// The source and the stages of one call.
template <class Source, class... Stages>
class PipelineRun : public PipelineFlow {
public:
  PipelineRun(std::size_t places, std::size_t helpers, Source& source, Stages&... stages)
      : PipelineFlow(gated_stages,
                     places,
                     helpers,
                     [](PipelineFlow& flow, PipelineStep step) {
                       static_cast<PipelineRun&>(flow).do_step(step);
                     }),
        next_item_(source), stages_(stages...), places_(places) {
    for (auto k = places; k-- > 0;) {
      this->source().give_back(places_[k]);
    }
  }

  PipelineRun(PipelineRun const&) = delete;
  PipelineRun& operator=(PipelineRun const&) = delete;

  /// Items that a failure has left are destroyed.
  ~PipelineRun() {
    for (auto& place : places_) {
      destroy_kept(place, std::make_index_sequence<stage_count>());
    }
  }

private:
  static constexpr std::size_t stage_count = sizeof...(Stages);
  static constexpr std::array<bool, stage_count> in_order{Stages::in_order...};
  static constexpr std::size_t gate_count =
      (std::size_t{0} + ... + std::size_t{Stages::in_order ? 1 : 0});

  /// Stage K is gate gates_before(K), if it is in order.
  static constexpr std::size_t gates_before(std::size_t stage) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < stage; ++k) {
      count += in_order[k] ? 1 : 0;
    }
    return count;
  }

  /// Counted from 1.
  static constexpr std::array<std::size_t, gate_count> gated_stages = [] {
    std::array<std::size_t, gate_count> gated{};
    for (std::size_t k = 0; k < stage_count; ++k) {
      if (in_order[k]) {
        gated[gates_before(k)] = k + 1;
      }
    }
    return gated;
  }();

  using Items = PipelineItems<SourceItem<Source>, Stages...>;
  template <std::size_t K>
  using Item = typename Items::template type<K>;

  struct Place : PipelinePlace {
    alignas(Items::alignment) std::byte memory[Items::bytes];
  };

  template <std::size_t K>
  static Item<K>* kept(Place& place) noexcept {
    return std::launder(reinterpret_cast<Item<K>*>(place.memory));
  }

  /// Leaves the item for stage K in its place.
  template <std::size_t K>
  static void put(Place& place, std::optional<Item<K>>& item) {
    std::construct_at(reinterpret_cast<Item<K>*>(place.memory), std::move(*item));
    place.kept_for = K + 1;
    item.reset();
  }

  template <std::size_t K>
  static void take(Place& place, std::optional<Item<K>>& item) {
    item.emplace(std::move(*kept<K>(place)));
    destroy<K>(place);
  }

  template <std::size_t K>
  static void destroy(Place& place) noexcept {
    std::destroy_at(kept<K>(place));
    place.kept_for = 0;
  }

  template <std::size_t... K>
  static void destroy_kept(Place& place, std::index_sequence<K...> /*stages*/) noexcept {
    (void)((place.kept_for == K + 1 && (destroy<K>(place), true)) || ...);
  }

  void do_step(PipelineStep step) {
    auto& place = static_cast<Place&>(*step.place);
    if (step.stage == 0) {
      begin(place);
    } else {
      go_on(place, step.stage, std::make_index_sequence<stage_count>());
    }
  }

  void begin(Place& place) {
    auto item = std::optional<Item<0>>(std::invoke(next_item_));
    if (!item) {
      source().end(place);
      return;
    }
    leave_source();
    carry<0>(place, item);
  }

  template <std::size_t... K>
  void go_on(Place& place, std::size_t stage, std::index_sequence<K...> /*stages*/) {
    (void)((stage == K + 1 && (go_on_at<K>(place), true)) || ...);
  }

  template <std::size_t K>
  void go_on_at(Place& place) {
    if constexpr (in_order[K]) {
      std::optional<Item<K>> item;
      take<K>(place, item);
      run<K>(place, item);
    }
  }

  /// The item is in front of stage K.
  template <std::size_t K>
  void carry(Place& place, std::optional<Item<K>>& item) {
    if (stopped()) {
      return;
    }
    if constexpr (in_order[K]) {
      auto& its = gate(gates_before(K));
      if (!its.takes_turn(place.number)) {
        put<K>(place, item);
        if (its.keep(place)) {
          return;
        }
        take<K>(place, item);
      }
    }
    run<K>(place, item);
  }

  /// Stage K may take the item now. After it the item is gone, before any other is told.
  template <std::size_t K>
  void run(Place& place, std::optional<Item<K>>& item) {
    typename Stage<K>::Function& function = std::get<K>(stages_).function;
    if constexpr (K + 1 == stage_count) {
      run_last<K>(function, place, item);
    } else {
      std::optional<Item<K + 1>> result;
      result.emplace(std::invoke(function, std::move(*item)));
      item.reset();
      if constexpr (in_order[K]) {
        auto& its = gate(gates_before(K));
        if (auto* const next = its.pass_on(place.number)) {
          offer(its, *next);
        }
      }
      carry<K + 1>(place, result);
    }
  }

  /// The last stage, if it is in order, goes on with the next item if that is there.
  template <std::size_t K, class F>
  void run_last(F& function, Place& first, std::optional<Item<K>>& item) {
    if constexpr (!in_order[K]) {
      std::invoke(function, std::move(*item));
      item.reset();
      give_back(first, false);
    } else {
      auto& its = gate(gates_before(K));
      auto* place = &first;
      for (;;) {
        std::invoke(function, std::move(*item));
        item.reset();
        auto* const next = static_cast<Place*>(its.pass_on(place->number));
        bool const goes_on = next != nullptr && !stopped();
        give_back(*place, goes_on);
        if (!goes_on) {
          return;
        }
        take<K>(*next, item);
        place = next;
      }
    }
  }

  template <std::size_t K>
  using Stage = std::tuple_element_t<K, std::tuple<Stages...>>;

  Source& next_item_;
  std::tuple<Stages&...> stages_;
  FixedArray<Place> const places_;
};

} // namespace hetsched::detail
