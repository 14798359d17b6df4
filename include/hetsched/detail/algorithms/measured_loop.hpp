// SPDX-License-Identifier: MIT
#pragma once
// How a loop over elements is cut: by what an element has cost, or by the options.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/block_loop.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// What an element of one kind of loop costs: the latest measurement. Races between loops of that
/// kind only lose one of two measurements, so all is relaxed.
class ElementCost {
public:
  /// Nanoseconds; 0: not known.
  [[nodiscard]] float ns() const noexcept { return ns_.load(std::memory_order_relaxed); }

  void learn(std::int64_t elapsed_ns, std::size_t elements) noexcept {
    auto const now = std::max(static_cast<float>(elapsed_ns) / static_cast<float>(elements), 1e-3F);
    auto const before = ns();
    ns_.store(before == 0 ? now : (before + now) / 2, std::memory_order_relaxed);
  }

  /// Every 16th time: a loop of a microsecond need not read the clock each time.
  [[nodiscard]] bool is_due() noexcept {
    auto const turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    return turn % 16 == 0;
  }

private:
  Atomic<float> ns_{0};
  Atomic<std::uint32_t> turn_{0};
};

/// One for each kind of loop; `Kind`: the types of the function and of what it is called with.
template <class Kind>
inline constinit ElementCost element_cost{};

/// A loop that is expected to take less stays on the calling thread. A sleeping worker takes 10 to
/// 60 us to wake (2-core virtual machine), so less would hardly gain.
inline constexpr float worth_helping_ns = 40000;

/// A block is to take at least so long: taking one costs up to 0.2 us.
inline constexpr float block_ns = 10000;

/// The elements of a block where there are `workers`: 8 blocks for each, unless they were too
/// short.
[[nodiscard]] inline std::size_t
measured_grain(std::size_t count, std::size_t workers, float element_ns) noexcept {
  auto const even = (count + workers - 1) / workers;
  auto const least = static_cast<std::size_t>(block_ns / element_ns) + 1;
  return std::max<std::size_t>(std::min(even, std::max((even + 7) / 8, least)), 1);
}

/// Those of a block if all blocks depend on the number of elements only: at most 256 blocks.
[[nodiscard]] inline std::size_t fixed_grain(std::size_t count, LoopOptions options) noexcept {
  return options.grain != 0 ? options.grain : std::max<std::size_t>((count + 255) / 256, 16);
}

/// Runs the elements from 0 on the calling thread, in consecutive pieces run(begin, end), until all
/// are done or the rest is worth the help of others. Returns where the rest begins. Pieces begin at
/// multiples of `unit`.
template <class Run>
std::size_t
run_front(std::size_t count, std::size_t workers, std::size_t unit, ElementCost& cost, Run&& run) {
  std::size_t done = 0;
  std::size_t piece = unit;
  while (done < count) {
    auto const left = count - done;
    auto const expected = cost.ns() * static_cast<float>(left);
    if (expected >= worth_helping_ns && workers > 1) {
      break;
    }
    if (cost.ns() != 0) {
      if (workers == 1 || (expected < 2000 && !cost.is_due())) {
        run(done, count);
        return count;
      }
      piece = static_cast<std::size_t>(block_ns / cost.ns()) / unit * unit + unit;
    }
    piece = std::min(piece, left);
    auto const begin = monotonic_ns();
    run(done, done + piece);
    auto const elapsed = monotonic_ns() - begin;
    done += piece;
    if (elapsed >= 1000 || cost.ns() != 0 || done == count) {
      cost.learn(elapsed, piece);
    } else {
      piece *= 2; // too short to be measured
    }
  }
  return done;
}

/// Calls run(begin, end) for consecutive pieces of 0 to count, in no order and at the same time.
template <class Kind, class Rt, class Run>
void run_loop(Rt& rt, char const* algorithm, std::size_t count, LoopOptions options, Run&& run) {
  check_loop(rt, algorithm);
  if (count == 0) {
    return;
  }
  auto& cost = element_cost<Kind>;
  auto const workers = host_workers(rt);
  auto const measures = options.grain == 0;
  auto const first = measures ? run_front(count, workers, 1, cost, run) : 0;
  auto const rest = count - first;
  if (rest == 0) {
    return;
  }
  auto const grain = measures ? measured_grain(rest, workers, cost.ns()) : options.grain;
  auto const begin = monotonic_ns();
  auto const block = [&](std::size_t k, BlockLoop const&) {
    run(first + k * grain, first + std::min((k + 1) * grain, rest));
  };
  auto const done = run_blocks(rt, (rest + grain - 1) / grain, workers, block);
  if (measures && done != 0) {
    cost.learn(monotonic_ns() - begin, std::min(done * grain, rest));
  }
}

} // namespace hetsched::detail
