// SPDX-License-Identifier: MIT
#pragma once
// A loop over blocks that the calling thread and helper tasks share.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/algorithms/shared_work.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/spawn/spawn.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>

namespace hetsched::detail {

/// Deals out blocks.
class BlockLoop : public SharedWork {
public:
  using Body = void (*)(void* object, std::size_t block);

  BlockLoop(std::size_t blocks, void* object, Body body) noexcept
      : SharedWork([](SharedWork& self) noexcept { static_cast<BlockLoop&>(self).work(); }),
        blocks_(blocks), object_(object), body_(body) {}

  /// Runs blocks until none is left or one has failed. Returns how many.
  std::size_t work() noexcept {
    std::size_t done = 0;
    while (!stopped()) {
      // Relaxed: it only deals out numbers. What blocks write is published by SharedWork.
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

private:
  std::size_t const blocks_;
  void* const object_;
  Body const body_;
  alignas(64) Atomic<std::size_t> next_{0};
};

/// A worker helps with a loop.
struct LoopHelper : Task<1>::Signature<V<std::shared_ptr<BlockLoop>>> {
  static constexpr std::string_view name = "loop";

  static void cpu(std::shared_ptr<BlockLoop> const& loop) { loop->help(); }
};

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
