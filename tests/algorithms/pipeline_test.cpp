// SPDX-License-Identifier: MIT
#include <hetsched/algorithms.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::error_of;
using support::eventually;
using support::on_cpus;

namespace pipeline_test {

TEST_SUITE_BEGIN("algorithms/pipeline");

/// The numbers from 0 to n - 1.
inline auto numbers(long n) {
  return [k = 0L, n]() mutable { return k == n ? std::optional<long>() : std::optional(k++); };
}

/// Some take longer than others, so that items overtake each other.
inline void delay(long number) {
  if (number % 64 == 5) {
    auto const until = hs::detail::monotonic_ns() + 20000;
    while (hs::detail::monotonic_ns() < until) {
    }
  }
}

/// An item that may not be copied, and counts how many there are.
class Counted {
public:
  struct Count {
    std::atomic<long> now{0};
    std::atomic<long> most{0};
  };

  Counted(Count& count, long number) : value(number), count_(&count) {
    auto const now = ++count.now;
    auto most = count.most.load();
    while (now > most && !count.most.compare_exchange_weak(most, now)) {
    }
  }

  Counted(Counted&& other) noexcept
      : value(other.value), count_(std::exchange(other.count_, nullptr)) {}

  Counted& operator=(Counted&&) = delete;

  ~Counted() {
    if (count_ != nullptr) {
      --count_->now;
    }
  }

  long value;

private:
  Count* count_;
};

template <class Rt>
void check_all(Rt& rt, std::size_t in_flight, long n) {
  CAPTURE(in_flight);
  CAPTURE(n);
  Counted::Count count;
  long next_first = 0, next_last = 0, sum = 0;
  bool first_ordered = true, last_ordered = true;
  hs::pipeline(
      rt,
      in_flight,
      [&count, give = numbers(n)]() mutable -> std::optional<Counted> {
        if (auto const number = give()) {
          return Counted(count, *number);
        }
        return {};
      },
      hs::in_order([&](Counted item) {
        first_ordered = first_ordered && item.value == next_first++;
        return item;
      }),
      hs::parallel([](Counted&& item) {
        delay(item.value);
        return std::pair(std::move(item), std::to_string(item.value)); // NOLINT: the number stays
      }),
      hs::parallel([](std::pair<Counted, std::string> item) {
        delay(item.first.value + 7);
        return std::make_unique<std::pair<Counted, std::string>>(std::move(item));
      }),
      hs::in_order([&](std::unique_ptr<std::pair<Counted, std::string>> const& item) {
        last_ordered = last_ordered && item->first.value == next_last++;
        sum += std::stol(item->second);
      }));
  CHECK(first_ordered);
  CHECK(last_ordered);
  CHECK(next_first == n);
  CHECK(next_last == n);
  CHECK(sum == n * (n - 1) / 2);
  CHECK(count.now.load() == 0);
  CHECK(count.most.load() <= static_cast<long>(in_flight));

  // Without any order: each item passes once.
  std::vector<std::atomic<int>> passes(static_cast<std::size_t>(n));
  hs::pipeline(rt, in_flight, numbers(n), hs::parallel([&](long number) {
                 delay(number);
                 ++passes[static_cast<std::size_t>(number)];
               }));
  CHECK(std::all_of(passes.begin(), passes.end(), [](auto const& p) { return p.load() == 1; }));
}

TEST_CASE_TEMPLATE("pipeline: each item passes all stages, in order where that is asked for",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 3, 8}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    for (std::size_t const in_flight : {1, 2, 3, 16}) {
      for (long const n : {0, 1, 2, 7, 500}) {
        check_all(rt, in_flight, n);
      }
    }
    rt.sync();
    CHECK(rt.failures().empty());
  }
}

TEST_CASE("pipeline: a million items") {
  constexpr long n = support::seeds(1000000, 50000);
  for (int const workers : {1, 2, 8}) {
    hs::Runtime<> rt(on_cpus(workers));
    long next = 0;
    bool ordered = true;
    hs::pipeline(rt,
                 8,
                 numbers(n),
                 hs::parallel([](long number) { return number; }),
                 hs::in_order([&](long number) { ordered = ordered && number == next++; }));
    CHECK(ordered);
    CHECK(next == n);
  }
}

TEST_CASE("pipeline: stages in order go on at the same time, and parallel ones with many items") {
  hs::Runtime<> rt(on_cpus(3));
  std::atomic<long> given{0};
  std::atomic<int> inside{0};
  bool met = true;
  std::atomic<bool> met_inside{true};
  hs::pipeline(
      rt,
      4,
      [&]() -> std::optional<long> {
        auto const number = given.load();
        return number == 20 ? std::optional<long>() : std::optional(given++);
      },
      hs::parallel([&](long number) {
        ++inside;
        if (number % 2 == 0) { // the next one comes while this one is here
          met_inside = met_inside && eventually([&] { return inside.load() > number + 1; });
        }
        return number;
      }),
      hs::in_order([&](long number) { // the source and the stage before go on
        met = met && eventually([&] { return given.load() > std::min(number + 2, 19L); });
      }));
  CHECK(met);
  CHECK(met_inside.load());
}

TEST_CASE("pipeline: a slow item in a last stage without order keeps no other") {
  hs::Runtime<> rt(on_cpus(2));
  std::atomic<int> ended{0};
  std::atomic<bool> others_ended{false};
  hs::pipeline(rt, 3, numbers(100), hs::parallel([&](long number) {
                 if (number == 0) {
                   others_ended = eventually([&] { return ended.load() == 99; });
                 }
                 ++ended;
               }));
  CHECK(others_ended.load());
}

TEST_CASE("pipeline: a worker without work is free for other tasks, and comes back") {
  hs::Runtime<> rt(on_cpus(3));
  bool ran = true, ended = true;
  long most_live = 0;
  auto const live = [&] { return std::stol(rt.dump().substr(10)); }; // "hetsched: 3 tasks live"
  hs::pipeline(
      rt,
      8,
      [&, give = numbers(60)]() mutable {
        // Nothing else is under way soon: at most this thread and the caller stay in the pipeline.
        std::atomic<bool> done{false};
        rt.spawn()([&done] { done = true; });
        ran = ran && eventually([&] { return done.load(); });
        most_live = std::max(most_live, live());
        auto const number = give();
        if (number && *number % 10 == 9) {
          ended = ended && eventually([&] { return live() <= 1; }); // this thread may be a helper
        }
        return number;
      },
      hs::parallel([](long number) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        return number;
      }),
      hs::in_order([](long) {}));
  CHECK(ran);
  CHECK(ended);
  CHECK(rt.stats().spawned > 60 + 4); // helpers that have come back
  CHECK(most_live <= 6);              // and those before them have left nothing behind
}

TEST_CASE_TEMPLATE("pipeline: inside bodies, nested and beside other tasks",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const workers : {1, 2, 4}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    std::array<long, 8> sums{};
    for (std::size_t t = 0; t < sums.size(); ++t) {
      rt.spawn()(
          [&sums](hs::Runtime<Scheduler>& inner, std::size_t task) {
            hs::pipeline(inner,
                         3,
                         numbers(20),
                         hs::parallel([&](long number) {
                           long sum = 0;
                           hs::pipeline(inner,
                                        2,
                                        numbers(number),
                                        hs::parallel([](long x) { return 2 * x; }),
                                        hs::in_order([&](long x) { sum += x; }));
                           std::atomic<long> more{0};
                           hs::parallel_for(inner, 0L, number, [&](long x) { more += x; });
                           return sum + more.load();
                         }),
                         hs::in_order([&](long sum) { sums[task] += sum; }));
          },
          t);
    }
    rt.sync();
    CHECK(std::all_of(sums.begin(), sums.end(), [](long sum) { return sum == 3 * 1140; }));
  }
}

TEST_CASE("pipeline: many at a time, from several threads") {
  hs::Runtime<> rt(on_cpus(8));
  std::atomic<long> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        long next = 0;
        bool ordered = true;
        hs::pipeline(rt,
                     static_cast<std::size_t>(1 + round % 9),
                     numbers(round),
                     hs::parallel([](long number) { return number; }),
                     hs::in_order([](long number) { return number; }),
                     hs::parallel([](long number) { return number; }),
                     hs::in_order([&](long number) { ordered = ordered && number == next++; }));
        right += ordered && next == round ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  rt.sync();
  CHECK(right.load() == 800);
}

TEST_CASE("pipeline: the first exception is rethrown, and no item is left") {
  for (int const workers : {1, 2, 8}) {
    hs::Runtime<> rt(on_cpus(workers));
    for (int failing = 0; failing < 4; ++failing) {
      for (long const at : {0, 1, 50}) {
        CAPTURE(failing);
        CAPTURE(at);
        Counted::Count count;
        auto const fail = [failing, at](int stage, long number) {
          if (stage == failing && number == at) {
            throw std::runtime_error("no more");
          }
          delay(number);
        };
        long next = 0;
        bool ordered = true;
        auto const run = [&] {
          hs::pipeline(
              rt,
              6,
              [&, give = numbers(200)]() mutable -> std::optional<Counted> {
                auto const number = give();
                if (!number) {
                  return {};
                }
                fail(0, *number);
                return Counted(count, *number);
              },
              hs::parallel([&](Counted item) {
                fail(1, item.value);
                return item;
              }),
              hs::in_order([&](Counted item) {
                ordered = ordered && item.value == next++;
                fail(2, item.value);
                return item;
              }),
              hs::parallel([&](Counted const& item) { fail(3, item.value); }));
        };
        CHECK_THROWS_WITH(run(), "no more");
        CHECK(ordered);
        CHECK(count.now.load() == 0);
      }
    }
    rt.sync(); // helpers have no failure of their own
    CHECK(rt.failures().empty());
  }
}

TEST_CASE("pipeline: refuses what it cannot do") {
  hs::Runtime<> rt(on_cpus(2));
  auto const run = [&](std::size_t in_flight) {
    hs::pipeline(rt, in_flight, numbers(3), hs::in_order([](long) {}));
  };
  auto const none = error_of([&] { run(0); });
  REQUIRE(none);
  CHECK(none->code() == hs::ErrorCode::bad_config);
  CHECK(std::string(none->what()) ==
        "hetsched: pipeline: 0 items in flight: must be from 1 to 1073741824");
  CHECK(error_of([&] { run(static_cast<std::size_t>(-1)); }));
  (void)rt.capture([&] {
    auto const error = error_of([&] { run(1); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_call);
    CHECK(std::string(error->what()) == "hetsched: pipeline: not allowed inside capture");
  });
}

TEST_SUITE_END();

} // namespace pipeline_test
