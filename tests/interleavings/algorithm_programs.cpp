// SPDX-License-Identifier: MIT
// Algorithms that a calling thread and helpers share: pipelines and a loop.

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "beside.hpp"
#include "programs.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace interleavings {

namespace hs = hetsched;
using hs::testing::expect;

namespace {

/// The numbers from 0 to n - 1.
auto numbers(long n) {
  return [k = 0L, n]() mutable { return k == n ? std::optional<long>() : std::optional(k++); };
}

constexpr auto same = [](long number) { return number; };

/// Items come to two stages in order, `inner` and the last one, by a parallel one each.
template <class Rt>
void pass_two_gates(Rt& rt, std::size_t in_flight, long n) {
  std::vector<long> inner, last;
  hs::pipeline(rt,
               in_flight,
               numbers(n),
               hs::parallel([](long number) { return std::make_unique<long>(number); }),
               hs::in_order([&](std::unique_ptr<long> number) {
                 inner.push_back(*number);
                 return *number;
               }),
               hs::parallel(same),
               hs::in_order([&](long number) { last.push_back(number); }));
  std::vector<long> expected;
  for (long k = 0; k < n; ++k) {
    expected.push_back(k);
  }
  expect(inner == expected && last == expected, "in order at both gates");
}

template <class Rt, int cpus = 3>
struct Algorithms {
  static void two_gates() {
    Rt rt(on_cores(cpus));
    pass_two_gates(rt, 3, 4);
  }

  static void two_in_flight() {
    Rt rt(on_cores(cpus));
    pass_two_gates(rt, 2, 3);
  }

  static void one_gate() {
    Rt rt(on_cores(cpus));
    long next = 0;
    hs::pipeline(rt, 2, numbers(3), hs::parallel(same), hs::in_order([&](long number) {
                   expect(number == next++, "in order");
                 }));
    expect(next == 3, "each item passes");
  }

  /// The first item does not end before the second one has come.
  static void items_meet() {
    Rt rt(on_cores(cpus));
    hs::detail::Atomic<int> come{0};
    hs::pipeline(rt, 2, numbers(2), hs::parallel([&](long number) {
                   if (number == 1) {
                     come.store(1);
                     come.notify_all();
                   }
                   come.wait(0);
                 }));
  }

  /// The last stage of the first item does not end before the source has been asked again.
  static void source_meets_the_last_stage() {
    Rt rt(on_cores(cpus));
    hs::detail::Atomic<int> asked{0};
    hs::pipeline(
        rt,
        2,
        [&, give = numbers(2)]() mutable {
          asked.fetch_add(1);
          asked.notify_all();
          return give();
        },
        hs::in_order([&](long) { asked.wait(1); }));
  }

  /// The same for more items, and the source takes as long as a helper looks for work: if that one
  /// ends just then it must see that the source is free, or another one must be called.
  static void slow_source_meets_each_item() {
    Rt rt(on_cores(cpus));
    hs::detail::Atomic<long> asked{0};
    hs::pipeline(
        rt,
        2,
        [&, give = numbers(3)]() mutable {
          asked.fetch_add(1);
          asked.notify_all();
          for (int k = 0; k < 3 * hs::detail::idle_polls; ++k) {
            hs::detail::cpu_relax();
          }
          return give();
        },
        hs::parallel([&](long number) {
          for (auto now = asked.load(); now < number + 2; now = asked.load()) {
            asked.wait(now);
          }
        }));
  }

  static void failing() {
    Rt rt(on_cores(cpus));
    bool caught = false;
    try {
      hs::pipeline(rt,
                   3,
                   numbers(4),
                   hs::parallel([](long number) {
                     if (number == 1) {
                       throw std::runtime_error("no more");
                     }
                     return std::make_unique<long>(number);
                   }),
                   hs::in_order([](std::unique_ptr<long> const& number) {
                     expect(*number == 0, "nothing behind the failure");
                   }));
    } catch (std::exception const& error) {
      caught = std::string(error.what()) == "no more";
    }
    expect(caught, "the failure is rethrown");
    rt.sync();
  }

  static void in_a_body() {
    Rt rt(on_cores(cpus));
    rt.spawn()([](Rt& inner) { pass_two_gates(inner, 2, 2); });
    rt.spawn()([](Rt& inner) { pass_two_gates(inner, 2, 2); });
    rt.sync();
  }

  static void side_by_side() {
    Rt rt(on_cores(cpus));
    Beside const other([&] { pass_two_gates(rt, 2, 2); });
    pass_two_gates(rt, 2, 2);
  }

  static void loop() {
    Rt rt(on_cores(cpus));
    std::vector<long> x{1, 2, 3, 4};
    expect(hs::reduce(rt, x.begin(), x.end(), 0L, std::plus<>(), {.grain = 1}) == 10, "10");
  }
};

using Stealing = Algorithms<hs::Runtime<>>;
using OfTwo = Algorithms<hs::Runtime<>, 2>;
using Central = Algorithms<hs::Runtime<hs::policies::Eager<>>>;

constexpr Program all[] = {
    {"pipeline: two gates", Stealing::two_gates},
    {"pipeline: two in flight", Stealing::two_in_flight},
    {"pipeline: one gate", Stealing::one_gate},
    {"pipeline: items meet", Stealing::items_meet},
    {"pipeline: source meets the last stage", Stealing::source_meets_the_last_stage},
    {"pipeline: slow source", Stealing::slow_source_meets_each_item},
    {"pipeline: failing", Stealing::failing},
    {"pipeline: in a body", Stealing::in_a_body},
    {"pipeline: side by side", Stealing::side_by_side},
    {"pipeline: two gates, by two", OfTwo::two_gates},
    {"pipeline: one gate, by two", OfTwo::one_gate},
    {"pipeline: items meet, by two", OfTwo::items_meet},
    {"pipeline: source meets the last stage, by two", OfTwo::source_meets_the_last_stage},
    {"pipeline: two gates, oldest first", Central::two_gates},
    {"loop", Stealing::loop},
    {"loop by two", OfTwo::loop},
};

} // namespace

std::span<Program const> algorithm_programs() {
  return all;
}

} // namespace interleavings
