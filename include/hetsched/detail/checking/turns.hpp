// SPDX-License-Identifier: MIT
#pragma once
// Whose turn it is while accesses are checked: one body's at a time, or the program's own.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

namespace hetsched::detail {

/// Who has the turn may touch registered data, and nobody else does: a body or a kernel alone, or
/// what the runtime itself does with data, which has an order of its own. A thread of the program
/// outside bodies may do so while it does not wait in the runtime, so a body begins when it waits,
/// and it goes on when no body runs. No wait here is without an end, as bodies may wait for each
/// other, or for the program, in ways that nobody here knows of.
class Turns {
public:
  /// Waits for the turn of a body. False: whoever has it seems to wait for the caller, who goes on
  /// without it, and calls `end_loose`.
  [[nodiscard]] bool take(TaskType const& type) {
    if (!wait_for([this] { return try_take(); })) {
      return false;
    }
    count_.fetch_add(1, std::memory_order_relaxed);
    holder_.store(&type, std::memory_order_relaxed);
    return true;
  }

  void give() noexcept {
    holder_.store(nullptr, std::memory_order_relaxed);
    turn_.store(0, std::memory_order_release);
  }

  /// The same for what the runtime itself does.
  [[nodiscard]] bool share() {
    return wait_for([this] { return try_share(); });
  }

  void end_share() noexcept { turn_.fetch_sub(1, std::memory_order_release); }

  void end_loose() noexcept { loose_.fetch_sub(1, std::memory_order_seq_cst); }

  /// Changes when a body begins to run beside others.
  [[nodiscard]] std::uint64_t loosened() const noexcept {
    return loosened_.load(std::memory_order_seq_cst);
  }

  [[nodiscard]] bool any_loose() const noexcept {
    return loose_.load(std::memory_order_seq_cst) != 0;
  }

  // ---- the program outside bodies ----

  /// A thread of the program begins to wait in the runtime.
  void program_waits() noexcept {
    thread_local Outside outside(*this);
    waiting_.fetch_add(1, std::memory_order_seq_cst);
  }

  /// It goes on, once no body runs.
  void program_goes_on() noexcept {
    auto const since = now_ns();
    bool shares = false;
    for (int poll = 0; !shares && now_ns() - since < program_patience_ns; ++poll) {
      shares = try_share();
      if (!shares) {
        pause(poll);
      }
    }
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
    gone_on_.fetch_add(1, std::memory_order_seq_cst);
    if (shares) {
      end_share();
    }
  }

  /// Waits until the program waits; not for long, less long the more often in vain, and once only
  /// until it waits again. Returns whether it does. The caller has the turn.
  [[nodiscard]] bool await_program() noexcept {
    auto const stretch = gone_on_.load(std::memory_order_seq_cst);
    if (does_program_wait() || given_up_ == stretch) {
      return does_program_wait();
    }
    auto const since = now_ns();
    for (int poll = 0; now_ns() - since < body_patience_ns_; ++poll) {
      pause(poll);
      if (does_program_wait()) {
        body_patience_ns_ = std::min(2 * body_patience_ns_, program_patience_ns);
        return true;
      }
    }
    given_up_ = stretch;
    body_patience_ns_ = std::max(body_patience_ns_ / 2, least_patience_ns);
    return false;
  }

  /// Changes when a thread of the program goes on after a wait.
  [[nodiscard]] std::uint64_t gone_on() const noexcept {
    return gone_on_.load(std::memory_order_seq_cst);
  }

private:
  static constexpr std::int64_t patience_ns = 2'000'000'000;
  static constexpr std::int64_t short_patience_ns = 10'000'000;
  static constexpr std::int64_t program_patience_ns = 100'000'000;
  static constexpr std::int64_t least_patience_ns = 5'000'000;

  /// A thread of the program that has waited once.
  struct Outside {
    explicit Outside(Turns& of) noexcept : turns(of) {
      turns.outside_.fetch_add(1, std::memory_order_seq_cst);
    }

    ~Outside() { turns.outside_.fetch_sub(1, std::memory_order_seq_cst); }

    Outside(Outside const&) = delete;
    Outside& operator=(Outside const&) = delete;

    Turns& turns;
  };

  [[nodiscard]] static std::int64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }

  static void pause(int poll) noexcept {
    if (poll < idle_polls) {
      yield_core();
    } else {
      pause_for(50000);
    }
  }

  // Acquire and release: who has the turn sees what others did with data in theirs.
  [[nodiscard]] bool try_take() noexcept {
    int free = 0;
    return turn_.compare_exchange_strong(free, of_body, std::memory_order_acquire);
  }

  [[nodiscard]] bool try_share() noexcept {
    auto turn = turn_.load(std::memory_order_relaxed);
    return turn != of_body &&
           turn_.compare_exchange_strong(turn, turn + 1, std::memory_order_acquire);
  }

  /// False: it lasted too long.
  template <class Try>
  [[nodiscard]] bool wait_for(Try const& attempt) {
    auto seen = count_.load(std::memory_order_relaxed);
    auto since = now_ns();
    for (int poll = 0; !attempt(); ++poll) {
      pause(poll);
      auto const count = count_.load(std::memory_order_relaxed);
      auto const* const holder = holder_.load(std::memory_order_relaxed);
      if (count != seen) {
        seen = count;
        since = now_ns();
      } else if (auto const waited = now_ns() - since;
                 waited > patience_ns || (waited > short_patience_ns && is_slow(holder))) {
        note_slow(holder);
        loose_.fetch_add(1, std::memory_order_seq_cst);
        loosened_.fetch_add(1, std::memory_order_seq_cst);
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool does_program_wait() const noexcept {
    return waiting_.load(std::memory_order_seq_cst) >=
           std::max(1, outside_.load(std::memory_order_seq_cst));
  }

  [[nodiscard]] bool is_slow(TaskType const* type) {
    std::lock_guard const guard(slow_lock_);
    return std::find(slow_.begin(), slow_.end(), type) != slow_.end();
  }

  void note_slow(TaskType const* type) {
    std::lock_guard const guard(slow_lock_);
    if (type == nullptr || std::find(slow_.begin(), slow_.end(), type) != slow_.end()) {
      return;
    }
    if (slow_.empty()) {
      std::fputs("hetsched: HETSCHED_CHECK: a body has run for 2 s while another waited for its "
                 "turn; the two run at the same time, and the second one is not checked\n",
                 stderr);
    }
    slow_.push_back(type);
  }

  static constexpr int of_body = -1;

  Atomic<int> turn_{0}; // or by how many it is shared
  Atomic<std::uint64_t> count_{0};
  Atomic<TaskType const*> holder_{nullptr};
  Atomic<int> loose_{0};
  Atomic<std::uint64_t> loosened_{0};
  Atomic<int> outside_{0}; // threads that have waited once
  Atomic<int> waiting_{0};
  Atomic<std::uint64_t> gone_on_{1};
  std::uint64_t given_up_ = 0; // value of gone_on_; both are for who has the turn
  std::int64_t body_patience_ns_ = program_patience_ns;
  Mutex slow_lock_;
  std::vector<TaskType const*> slow_; // bodies that others did not wait for
};

} // namespace hetsched::detail
