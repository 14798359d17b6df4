// SPDX-License-Identifier: MIT
#pragma once
// Finds out whether this process is a forked copy.

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace hetsched::detail {

/// How many forks lie between this process and the first one that used hetsched.
inline std::atomic<std::uint32_t> fork_generation{0};

/// Remembers the process it was made in. A check costs one load.
class ForkMark {
public:
  ForkMark() {
    static int const registered = pthread_atfork(
        nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
    (void)registered;
    made_in_ = fork_generation.load(std::memory_order_relaxed);
  }

  [[nodiscard]] bool happened() const noexcept {
    return fork_generation.load(std::memory_order_relaxed) != made_in_;
  }

private:
  std::uint32_t made_in_ = 0;
};

} // namespace hetsched::detail
