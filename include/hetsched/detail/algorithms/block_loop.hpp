// SPDX-License-Identifier: MIT
#pragma once
// A loop over blocks that the calling thread and helper tasks share.
//
// The caller works, too, and waits for blocks under way only, never for a helper that has not
// begun. So a call needs no worker but its own, and may stand in any body: whoever it waits for is
// running. A helper that begins after the loop has ended finds it closed and returns.

#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

/// Waits a moment, longer the more often it is asked in a row.
class Patience {
public:
  void wait() noexcept {
    ++rounds_;
    if (rounds_ < 200) {
      cpu_relax();
    } else if (rounds_ < 300) {
      yield_core();
    } else {
      pause_for(20000);
    }
  }

private:
  int rounds_ = 0;
};

/// What the caller of a loop and its helpers share. It lives as long as the last helper, the body
/// only until `close` returns.
class BlockLoop {
public:
  using Body = void (*)(void* object, std::size_t block);

  BlockLoop(std::size_t blocks, void* object, Body body) noexcept
      : blocks_(blocks), object_(object), body_(body) {}

  /// Runs blocks until none is left or one has failed. Returns how many.
  std::size_t work() noexcept {
    std::size_t done = 0;
    while (!stopped()) {
      // Relaxed: it only deals out numbers. What blocks write is published by `entered_`.
      auto const block = next_.fetch_add(1, std::memory_order_relaxed);
      if (block >= blocks_) {
        break;
      }
      try {
        body_(object_, block);
      } catch (...) {
        fail(std::current_exception());
      }
      ++done;
    }
    return done;
  }

  /// A helper's part.
  void help() noexcept {
    // Acquire pairs with nothing that is needed beyond the spawn; that the body still exists
    // follows from the order of the changes of this one variable: `close` waits for who entered
    // before it.
    if ((entered_.fetch_add(one, std::memory_order_acquire) & closed) == 0) {
      work();
    }
    entered_.fetch_sub(one, std::memory_order_release); // pairs with the acquire in `close`
  }

  /// Lets nobody else in, and waits until all helpers that are in it have left.
  void close() noexcept {
    entered_.fetch_or(closed, std::memory_order_acq_rel);
    Patience patience;
    while (entered_.load(std::memory_order_acquire) != closed) {
      patience.wait();
    }
  }

  /// Whether a block has failed: others need not be finished.
  [[nodiscard]] bool stopped() const noexcept { return failed_.load(std::memory_order_relaxed); }

  /// After `close`. The caller has the exception alone then: a late helper does not destroy it.
  void rethrow() {
    if (error_ != nullptr) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

  void fail(std::exception_ptr error) noexcept {
    // Only the first writes error_; `entered_` publishes it to the caller.
    if (!failed_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::move(error);
    }
  }

private:
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t one = 2;

  std::size_t const blocks_;
  void* const object_;
  Body const body_;
  std::exception_ptr error_;
  alignas(64) Atomic<std::size_t> next_{0};
  alignas(64) Atomic<std::uint32_t> entered_{0}; // twice those inside, plus `closed`
  Atomic<bool> failed_{false};
};

/// A worker helps with a loop.
struct LoopHelper : Task<1>::Signature<V<std::shared_ptr<BlockLoop>>> {
  static constexpr std::string_view name = "loop";

  static void cpu(std::shared_ptr<BlockLoop> const& loop) { loop->help(); }
};

/// Throws Error(bad_call) where no task may be spawned and waited for.
template <class Rt>
void check_loop(Rt& rt, char const* algorithm) {
  static_assert(Rt::computes,
                "hetsched: algorithms that return results need a runtime that computes: a "
                "SimulatedRuntime runs no bodies");
  auto const& state = this_thread;
  if (state.capture != nullptr && state.capture_core == &rt.engine()) [[unlikely]] {
    throw Error(ErrorCode::bad_call,
                algorithm,
                std::string("not allowed inside ") +
                    static_cast<CaptureSink*>(state.capture)->place);
  }
}

/// Those whose bodies are on cores.
template <class Rt>
[[nodiscard]] std::size_t host_workers(Rt const& rt) noexcept {
  std::size_t count = 0;
  for (auto const& worker : rt.workers()) {
    count += worker.arch == ArchHost ? 1 : 0;
  }
  return count == 0 ? 1 : count;
}

/// Calls body(block, loop) for each block, on up to `workers` workers, and returns when all have
/// ended. Blocks begin in ascending order. Rethrows the first exception; blocks that have not begun
/// are then left out. Returns how many blocks the caller ran.
template <class Rt, class F>
std::size_t run_blocks(Rt& rt, std::size_t blocks, std::size_t workers, F&& body) {
  struct Shared {
    F& body;
    BlockLoop* loop;
  } shared{body, nullptr};

  auto const loop = std::make_shared<BlockLoop>(blocks, &shared, [](void* object, std::size_t k) {
    auto& self = *static_cast<Shared*>(object);
    self.body(k, *self.loop);
  });
  shared.loop = loop.get();
  std::size_t done = 0;
  try {
    for (std::size_t k = 1; k < workers && k < blocks; ++k) {
      rt.template spawn<LoopHelper>()(loop);
    }
    done = loop->work();
  } catch (...) {
    loop->fail(std::current_exception());
  }
  loop->close();
  loop->rethrow();
  return done;
}

} // namespace hetsched::detail
