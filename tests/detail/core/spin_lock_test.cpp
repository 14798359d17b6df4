// SPDX-License-Identifier: MIT
#include <hetsched/detail/core/spin_lock.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

using hetsched::detail::SpinLock;

namespace spin_lock_test {

TEST_SUITE_BEGIN("detail/spin_lock");

TEST_CASE("SpinLock: one at a time") {
  SpinLock lock;
  long count = 0; // not atomic: ThreadSanitizer would see two at a time
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20000; ++k) {
        if (k % 3 == 0) {
          while (!lock.try_lock()) {
            std::this_thread::yield();
          }
        } else {
          lock.lock();
        }
        ++count;
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(count == 80000);
}

TEST_CASE("SpinLock: try_lock refuses what is taken") {
  SpinLock lock;
  REQUIRE(lock.try_lock());
  CHECK(!lock.try_lock());
  lock.unlock();
  CHECK(lock.try_lock());
}

TEST_SUITE_END();

} // namespace spin_lock_test
