// SPDX-License-Identifier: MIT
#include <hetsched/detail/threads/parking.hpp>

#include "../../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using hetsched::WorkerId;
using hetsched::detail::Parking;
using hetsched::detail::WakeReason;

namespace parking_test {

WorkerId worker(int number) {
  return WorkerId{number};
}

std::vector<int> asleep(Parking const& parking) {
  std::vector<int> found;
  parking.find_asleep([&](WorkerId w) {
    found.push_back(w.value);
    return false;
  });
  return found;
}

/// Sleepers take tokens that wakers make, by the protocol of the engine.
class Exchange {
public:
  Exchange(int sleepers, int tokens) : parking_(sleepers), left_(tokens) {}

  void sleep_and_take(WorkerId self) {
    while (left_.load() > 0) {
      if (take()) {
        continue;
      }
      parking_.announce(self);
      if (take() || left_.load() <= 0) {
        if (!parking_.retract(self)) {
          wake_one(); // claimed for a token that somebody else must now take
        }
        continue;
      }
      parking_.park(self);
    }
    wake_all();
  }

  void make(int tokens) {
    for (int k = 0; k < tokens; ++k) {
      tokens_.fetch_add(1, std::memory_order_seq_cst);
      wake_one();
      if (k % 64 == 0) {
        std::this_thread::yield(); // lets them fall asleep now and then
      }
    }
  }

  [[nodiscard]] bool finished() const { return left_.load() <= 0; }

  void give_up() {
    left_ = 0;
    wake_all();
  }

private:
  bool take() {
    auto tokens = tokens_.load(std::memory_order_seq_cst);
    while (tokens > 0) {
      if (tokens_.compare_exchange_weak(tokens, tokens - 1, std::memory_order_seq_cst)) {
        --left_;
        return true;
      }
    }
    return false;
  }

  void wake_one() {
    parking_.find_asleep([&](WorkerId w) { return parking_.unpark(w, WakeReason::task); });
  }

  void wake_all() {
    parking_.find_asleep([&](WorkerId w) {
      parking_.unpark(w, WakeReason::condition);
      return false;
    });
  }

  Parking parking_;
  std::atomic<int> tokens_{0};
  std::atomic<int> left_;
};

TEST_SUITE_BEGIN("detail/parking");

TEST_CASE("Parking: who has announced sleep is found, lowest number first, in any word") {
  Parking parking(130);
  CHECK(asleep(parking).empty());
  for (int const w : {129, 3, 64}) {
    parking.announce(worker(w));
  }
  CHECK(asleep(parking) == std::vector<int>{3, 64, 129});
  CHECK(parking.count_asleep() == 3);
  CHECK(parking.is_asleep(worker(64)));
  CHECK(!parking.is_asleep(worker(65)));

  CHECK(parking.unpark(worker(64), WakeReason::task));
  CHECK(!parking.unpark(worker(64), WakeReason::task)); // once only
  CHECK(!parking.unpark(worker(65), WakeReason::task));
  CHECK(parking.retract(worker(3)));
  CHECK(!parking.retract(worker(3)));
  CHECK(!parking.retract(worker(64))); // claimed before
  CHECK(asleep(parking) == std::vector<int>{129});
}

TEST_CASE("Parking: who was claimed before it parks does not sleep, and learns why") {
  Parking parking(1);
  for (auto const reason : {WakeReason::task, WakeReason::condition}) {
    parking.announce(worker(0));
    CHECK(parking.unpark(worker(0), reason));
    CHECK(parking.park(worker(0)) == reason);
    CHECK(!parking.is_asleep(worker(0)));
  }
}

TEST_CASE("Parking: a sleeper wakes when claimed") {
  Parking parking(1);
  std::atomic<bool> woken{false};
  std::thread sleeper([&] {
    parking.announce(worker(0));
    while (parking.park(worker(0)) == WakeReason::none) {
      parking.announce(worker(0));
    }
    woken = true;
  });
  CHECK(support::eventually([&] { return parking.unpark(worker(0), WakeReason::task); }));
  sleeper.join();
  CHECK(woken);
}

TEST_CASE("Parking: no wake-up is lost, whoever is faster") {
  constexpr int wakers = 2;
  constexpr int tokens_each = 20000;
  for (int const sleepers : {1, 2, 5}) {
    CAPTURE(sleepers);
    Exchange exchange(sleepers, wakers * tokens_each);
    std::vector<std::thread> threads;
    for (int s = 0; s < sleepers; ++s) {
      threads.emplace_back([&exchange, s] { exchange.sleep_and_take(worker(s)); });
    }
    for (int w = 0; w < wakers; ++w) {
      threads.emplace_back([&exchange] { exchange.make(tokens_each); });
    }
    bool const finished = support::eventually([&] { return exchange.finished(); });
    exchange.give_up();
    for (auto& thread : threads) {
      thread.join();
    }
    CHECK(finished);
  }
}

TEST_CASE("Parking: a single token at a time, taken by whoever was asleep") {
  constexpr int rounds = 3000;
  Exchange exchange(2, rounds);
  std::thread one([&] { exchange.sleep_and_take(worker(0)); });
  std::thread two([&] { exchange.sleep_and_take(worker(1)); });
  for (int round = 0; round < rounds; ++round) {
    exchange.make(1);
    if (round % 4 == 0) {
      std::this_thread::yield();
    }
  }
  bool const finished = support::eventually([&] { return exchange.finished(); });
  exchange.give_up();
  one.join();
  two.join();
  CHECK(finished);
}

TEST_SUITE_END();

} // namespace parking_test
