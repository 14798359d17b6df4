// SPDX-License-Identifier: MIT
#pragma once
// Prefix sums.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/fold.hpp>
#include <hetsched/detail/algorithms/measured_loop.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// The blocks of a scan: each is summed up, waits for the sum of those before it, and is scanned
/// while it is still in its core's cache.
template <class T, class Op, class In, class Out>
class ScanBlocks {
public:
  ScanBlocks(In first, Out out, Op const& op) : first_(first), out_(out), op_(op) {}

  /// On the calling thread, behind what was scanned before.
  void scan(std::size_t begin, std::size_t end, std::optional<T>& before) const {
    auto from = first_ + static_cast<std::iter_difference_t<In>>(begin);
    auto to = out_ + static_cast<std::iter_difference_t<Out>>(begin);
    auto i = begin;
    if (!before && i != end) {
      before.emplace(*from);
      *to = *before;
      ++i, ++from, ++to;
    }
    if (i == end) {
      return;
    }
    T sum = std::move(*before);
    for (; i != end; ++i, ++from, ++to) {
      sum = static_cast<T>(op_(std::move(sum), *from));
      *to = sum;
    }
    *before = std::move(sum);
  }

  /// One that is scanned as blocks of other workers are: the sum behind it is that of `fold`.
  void scan_fixed(std::size_t begin, std::size_t end, std::optional<T>& before) const {
    auto after = joined(before, total(begin, end));
    scan(begin, end, before);
    before = std::move(after);
  }

  /// Block k of `rest` elements behind `offset`; `sums[k]`: of all before it.
  struct Chain {
    explicit Chain(std::size_t blocks) : sums(blocks + 1), ready(blocks + 1) {}

    std::vector<std::optional<T>> sums;
    std::vector<Atomic<bool>> ready; // release after sums[k] is written, acquire before it is read
  };

  void scan_block(std::size_t begin,
                  std::size_t end,
                  std::size_t k,
                  Chain& chain,
                  BlockLoop const& loop) const {
    auto sum = total(begin, end);
    Patience patience;
    // The block before began before, on a thread that runs it now.
    while (!chain.ready[k].load(std::memory_order_acquire)) {
      if (loop.stopped()) {
        return;
      }
      patience.wait();
    }
    auto before = chain.sums[k];
    chain.sums[k + 1] = joined(before, std::move(sum));
    chain.ready[k + 1].store(true, std::memory_order_release);
    scan(begin, end, before);
  }

private:
  [[nodiscard]] T total(std::size_t begin, std::size_t end) const {
    return fold<T>(begin, end, op_, [this](std::size_t i) -> decltype(auto) {
      return first_[static_cast<std::iter_difference_t<In>>(i)];
    });
  }

  [[nodiscard]] std::optional<T> joined(std::optional<T> const& before, T sum) const {
    return std::optional<T>(before ? static_cast<T>(op_(*before, std::move(sum))) : std::move(sum));
  }

  In first_;
  Out out_;
  Op const& op_;
};

} // namespace detail

/// out[i] = first[0] op ... op first[i], as std::inclusive_scan: `op` must be associative and, for
/// numbers, commutative. `out` may be `first`, but must not overlap otherwise. Returns the end of
/// the output. Elements are copied.
///
/// Floating-point sums: each out[i] is within i u (sum of |x_j|, j <= i) + O(u^2) of the exact one,
/// as in any order. With LoopOptions::fixed_order they are bitwise the same in every run; that
/// costs a second pass over each block, also on one worker. `op` must not wait for tasks. See
/// parallel_for for what holds for all algorithms.
template <class Rt,
          std::random_access_iterator In,
          std::random_access_iterator Out,
          class Op = std::plus<>>
Out inclusive_scan(
    Rt& rt, In first, In last, Out out, Op const& op = {}, LoopOptions options = {}) {
  struct Kind;
  using T = std::iter_value_t<In>;
  using Scan = detail::ScanBlocks<T, Op, In, Out>;
  detail::check_loop(rt, "inclusive_scan");
  auto const count = static_cast<std::size_t>(last - first);
  auto const fixed = options.fixed_order;
  auto const unit = fixed ? detail::fixed_grain(count, options) : 1;
  auto const measures = options.grain == 0;
  auto const workers = detail::host_workers(rt);
  auto& cost = detail::element_cost<Kind>;
  Scan const blocks(first, out, op);
  std::optional<T> before;
  auto const front = [&](std::size_t begin, std::size_t end) {
    if (!fixed) {
      blocks.scan(begin, end, before);
      return;
    }
    for (auto at = begin; at < end; at += unit) {
      blocks.scan_fixed(at, std::min(at + unit, end), before);
    }
  };
  auto const done = measures ? detail::run_front(count, workers, unit, cost, front) : 0;
  auto const rest = count - done;
  if (rest != 0) {
    // Blocks that stay in a second-level cache between their two passes.
    auto const cached = std::max<std::size_t>(131072 / sizeof(T), 1);
    auto const grain = fixed ? unit
                       : measures
                           ? std::min(cached, detail::measured_grain(rest, workers, cost.ns()))
                           : options.grain;
    auto const number = (rest + grain - 1) / grain;
    typename Scan::Chain chain(number);
    chain.sums[0] = std::move(before);
    chain.ready[0].store(true, std::memory_order_relaxed); // the spawns publish it
    detail::run_blocks(rt, number, workers, [&](std::size_t k, detail::BlockLoop const& loop) {
      blocks.scan_block(done + k * grain, done + std::min((k + 1) * grain, rest), k, chain, loop);
    });
  }
  return out + static_cast<std::iter_difference_t<Out>>(count);
}

} // namespace hetsched
