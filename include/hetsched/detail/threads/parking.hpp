// SPDX-License-Identifier: MIT
#pragma once
// Workers without work sleep here. No wake-up is lost.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <bit>
#include <cstdint>

namespace hetsched::detail {

/// Why a worker was woken: a task was pushed for it, its condition holds, or the nesting rule is
/// lifted.
enum class WakeReason : std::uint32_t { none, task, condition, lifted };

/// There is one bit per worker: it has announced sleep. Protocol of a sleeper: announce, look for
/// work and at its condition once more, park. Protocol of a waker: publish, then look at the bits.
///
/// Why no wake-up is lost: announce is a seq_cst RMW followed by seq_cst looks into the queues; a
/// push publishes by a seq_cst operation or under a lock that the look takes too, followed by
/// `first_asleep`'s seq_cst load: one of the two sees the other. Conditions other than tasks use
/// `unpark`, whose RMW on the same word is ordered with announce by the word's modification order.
class Parking {
public:
  explicit Parking(int workers)
      : asleep_((static_cast<std::size_t>(workers) + 63) / 64),
        signals_(static_cast<std::size_t>(workers)) {}

  void announce(WorkerId worker) noexcept {
    signals_[worker.index()].raised.store(0, std::memory_order_relaxed);
    word(worker).fetch_or(bit(worker), std::memory_order_seq_cst);
  }

  /// Withdraws an announcement. Returns false if another thread has claimed the worker meanwhile.
  bool retract(WorkerId worker) noexcept { return claim(worker); }

  /// Sleeps until a thread claims the worker, and returns why. May return early, then with
  /// WakeReason::none.
  WakeReason park(WorkerId worker) noexcept {
    auto& raised = signals_[worker.index()].raised;
    raised.wait(0, std::memory_order_acquire);
    auto const reason = static_cast<WakeReason>(raised.load(std::memory_order_acquire));
    // Still announced: this was a late signal for an earlier sleep.
    return claim(worker) ? WakeReason::none : reason;
  }

  /// Wakes the worker if it has announced sleep. Returns whether it had.
  bool unpark(WorkerId worker, WakeReason reason) noexcept {
    if (!claim(worker)) {
      return false;
    }
    auto& raised = signals_[worker.index()].raised;
    raised.store(static_cast<std::uint32_t>(reason), std::memory_order_release);
    raised.notify_one();
    return true;
  }

  [[nodiscard]] bool is_asleep(WorkerId worker) const noexcept {
    return (asleep_[worker.index() / 64].bits.load(std::memory_order_seq_cst) & bit(worker)) != 0;
  }

  /// Calls f(worker) for announced workers, lowest number first, until it returns true.
  template <class F>
  void find_asleep(F&& f) const {
    for (std::size_t i = 0; i < asleep_.size(); ++i) {
      auto bits = asleep_[i].bits.load(std::memory_order_seq_cst);
      while (bits != 0) {
        auto const low = static_cast<std::size_t>(std::countr_zero(bits));
        if (f(WorkerId{static_cast<std::int32_t>(i * 64 + low)})) {
          return;
        }
        bits &= bits - 1;
      }
    }
  }

  [[nodiscard, gnu::always_inline]] bool any_asleep() const noexcept {
    return asleep_[0].bits.load(std::memory_order_seq_cst) != 0 ||
           (several_words_ && any_beyond_first());
  }

  [[nodiscard]] int count_asleep() const noexcept {
    int count = 0;
    for (auto const& word : asleep_) {
      count += std::popcount(word.bits.load(std::memory_order_seq_cst));
    }
    return count;
  }

private:
  struct alignas(64) Word {
    Atomic<std::uint64_t> bits{0};
  };

  struct alignas(64) Signal {
    Atomic<std::uint32_t> raised{0};
  };

  static std::uint64_t bit(WorkerId worker) noexcept {
    return std::uint64_t{1} << (worker.index() % 64);
  }

  Atomic<std::uint64_t>& word(WorkerId worker) noexcept {
    return asleep_[worker.index() / 64].bits;
  }

  bool claim(WorkerId worker) noexcept {
    return (word(worker).fetch_and(~bit(worker), std::memory_order_seq_cst) & bit(worker)) != 0;
  }

  [[nodiscard]] bool any_beyond_first() const noexcept {
    for (auto const& word : asleep_) {
      if (word.bits.load(std::memory_order_seq_cst) != 0) {
        return true;
      }
    }
    return false;
  }

  FixedArray<Word> asleep_;
  bool const several_words_ = asleep_.size() > 1;
  FixedArray<Signal> signals_;
};

} // namespace hetsched::detail
