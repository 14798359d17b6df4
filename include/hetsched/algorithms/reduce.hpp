// SPDX-License-Identifier: MIT
#pragma once
// Reductions of elements to one value.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/fold.hpp>
#include <hetsched/detail/algorithms/measured_loop.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// init op load(0) op ... op load(count - 1).
template <class Kind, class Rt, class T, class Op, class Load>
[[nodiscard]] T reduce_indices(Rt& rt,
                               char const* algorithm,
                               std::size_t count,
                               T init,
                               Op const& op,
                               Load const& load,
                               LoopOptions options) {
  check_loop(rt, algorithm);
  auto& cost = element_cost<Kind>;
  auto const workers = host_workers(rt);
  auto const fixed = options.fixed_order;
  auto const unit = fixed ? fixed_grain(count, options) : 1;
  auto const measures = options.grain == 0;
  auto const add = [&](std::size_t begin, std::size_t end) {
    for (auto at = begin; at < end;) { // without fixed order: once
      auto const stop = fixed ? std::min(at + unit, end) : end;
      init = static_cast<T>(op(std::move(init), fold<T>(at, stop, op, load)));
      at = stop;
    }
  };
  auto const first = measures && count != 0 ? run_front(count, workers, unit, cost, add) : 0;
  auto const rest = count - first;
  if (rest == 0) {
    return init;
  }
  auto const grain = fixed      ? unit
                     : measures ? measured_grain(rest, workers, cost.ns())
                                : options.grain;
  auto const blocks = (rest + grain - 1) / grain;
  std::vector<std::optional<T>> sums(blocks);
  auto const begin = monotonic_ns();
  auto const done = run_blocks(rt, blocks, workers, [&](std::size_t k, BlockLoop const&) {
    sums[k].emplace(fold<T>(first + k * grain, first + std::min((k + 1) * grain, rest), op, load));
  });
  if (measures && done != 0) {
    cost.learn(monotonic_ns() - begin, std::min(done * grain, rest));
  }
  for (auto& sum : sums) {
    init = static_cast<T>(op(std::move(init), *std::move(sum)));
  }
  return init;
}

} // namespace detail

/// init op first[0] op ... op last[-1], as std::reduce: `op` must be associative and commutative,
/// and is called with T and elements in any combination. Numbers are combined in 8 lanes.
///
/// A floating-point sum of n numbers differs from the exact one by at most n u (|init| + sum of
/// |x_i|) + O(u^2), u = 2^-53 for double: the bound for any order. Its last bits may change from
/// call to call, unless LoopOptions::fixed_order is set. See parallel_for for what holds for all
/// algorithms.
template <class Rt, std::random_access_iterator It, class T, class Op = std::plus<>>
[[nodiscard]] T
reduce(Rt& rt, It first, It last, T init, Op const& op = {}, LoopOptions options = {}) {
  struct Kind;
  auto const load = [first](std::size_t i) -> decltype(auto) {
    return first[static_cast<std::iter_difference_t<It>>(i)];
  };
  return detail::reduce_indices<Kind>(
      rt, "reduce", static_cast<std::size_t>(last - first), std::move(init), op, load, options);
}

/// init op map(first[0]) op ... op map(last[-1]); otherwise as reduce.
template <class Rt, std::random_access_iterator It, class T, class Op, class Map>
  requires std::invocable<Map const&, std::iter_reference_t<It>>
[[nodiscard]] T transform_reduce(
    Rt& rt, It first, It last, T init, Op const& op, Map const& map, LoopOptions options = {}) {
  struct Kind;
  auto const load = [first, &map](std::size_t i) -> decltype(auto) {
    return map(first[static_cast<std::iter_difference_t<It>>(i)]);
  };
  return detail::reduce_indices<Kind>(rt,
                                      "transform_reduce",
                                      static_cast<std::size_t>(last - first),
                                      std::move(init),
                                      op,
                                      load,
                                      options);
}

/// init op map(first[0], second[0]) op ...; without functions, a dot product.
template <class Rt,
          std::random_access_iterator It,
          std::random_access_iterator Second,
          class T,
          class Op = std::plus<>,
          class Map = std::multiplies<>>
[[nodiscard]] T transform_reduce(Rt& rt,
                                 It first,
                                 It last,
                                 Second second,
                                 T init,
                                 Op const& op = {},
                                 Map const& map = {},
                                 LoopOptions options = {}) {
  struct Kind;
  auto const load = [first, second, &map](std::size_t i) -> decltype(auto) {
    return map(first[static_cast<std::iter_difference_t<It>>(i)],
               second[static_cast<std::iter_difference_t<Second>>(i)]);
  };
  return detail::reduce_indices<Kind>(rt,
                                      "transform_reduce",
                                      static_cast<std::size_t>(last - first),
                                      std::move(init),
                                      op,
                                      load,
                                      options);
}

} // namespace hetsched
