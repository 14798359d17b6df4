// SPDX-License-Identifier: MIT
// Threads and coroutines that wait for senders, which other threads complete.

#include "../support/senders.hpp"

#define HETSCHED_SENDERS draft

#include <hetsched/execution.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "beside.hpp"
#include "programs.hpp"

#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace interleavings {

namespace hs = hetsched;
using hs::testing::expect;

namespace {

using Other = std::optional<Beside<std::function<void()>>>;

/// Completes on a thread of its own, which `other` keeps.
template <class R>
struct BesideOperation {
  using operation_state_concept = draft::operation_state_tag;
  R receiver;
  Other* other;

  void start() & noexcept {
    other->emplace([this] { draft::set_value(std::move(receiver), 7); });
  }
};

struct OfOther {
  using sender_concept = draft::sender_tag;
  using completion_signatures = draft::completion_signatures<draft::set_value_t(int)>;
  Other* other;

  template <class R>
  [[nodiscard]] BesideOperation<R> connect(R receiver) const {
    return {std::move(receiver), other};
  }
};

template <class Rt, int cpus = 2>
struct Senders {
  static void scheduled() {
    Rt rt(on_cores(cpus));
    auto const job = draft::schedule(hs::scheduler_of(rt)) | draft::then([] { return 3; });
    auto const inside = rt.async([&] { return std::get<0>(hs::sync_wait(rt, job).value()); });
    expect(std::get<0>(hs::sync_wait(rt, job).value()) + inside.get() == 6, "3 + 3");
  }

  static void thread_waits() {
    Other other; // its thread may end after the runtime
    Rt rt(on_cores(cpus));
    expect(std::get<0>(hs::sync_wait(rt, OfOther{&other}).value()) == 7, "7");
  }

  static void coroutine_waits() {
    Other other;
    Rt rt(on_cores(cpus));
    auto const seen = rt.async([&]() -> hs::Coroutine<int> { co_return co_await OfOther{&other}; });
    expect(seen.get() == 7, "7");
  }

  static void coroutine_waits_for_task() {
    Rt rt(on_cores(cpus));
    auto const job = draft::schedule(hs::scheduler_of(rt)) | draft::then([] { return 3; });
    auto const seen = rt.async([&]() -> hs::Coroutine<int> {
      auto const first = co_await job;
      co_return first + co_await job;
    });
    expect(seen.get() == 6, "3 + 3");
  }

  static void value_of_future() {
    Rt rt(on_cores(cpus));
    auto const double_it = hs::as_sender(rt, rt.async([] { return 3; })) |
                           draft::then([](int const& value) { return 2 * value; });
    expect(std::get<0>(hs::sync_wait(rt, double_it).value()) == 6, "2 * 3");
  }
};

using Stealing = Senders<hs::Runtime<>>;
using OfOne = Senders<hs::Runtime<>, 1>;
using Central = Senders<hs::Runtime<hs::policies::Eager<>>>;

constexpr Program all[] = {
    {"senders: scheduled", Stealing::scheduled},
    {"senders: a thread waits", Stealing::thread_waits},
    {"senders: a thread waits, of one", OfOne::thread_waits},
    {"senders: a coroutine waits", Stealing::coroutine_waits},
    {"senders: a coroutine waits, of one", OfOne::coroutine_waits},
    {"senders: a coroutine waits, oldest first", Central::coroutine_waits},
    {"senders: a coroutine waits for a task", Stealing::coroutine_waits_for_task},
    {"senders: value of a future", Stealing::value_of_future},
};

} // namespace

std::span<Program const> sender_programs() {
  return all;
}

} // namespace interleavings
