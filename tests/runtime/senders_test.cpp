// SPDX-License-Identifier: MIT
// Runtimes and futures for std::execution, with the tests' own library of senders.

#include "../support/senders.hpp"

#define HETSCHED_SENDERS draft

#include <hetsched/capture.hpp>
#include <hetsched/execution.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::contains;
using support::message_of;
using support::on_cpus;
using support::seeds;

namespace senders_test {

using Scheduler = decltype(hs::scheduler_of(std::declval<hs::Runtime<>&>()));
using Scheduled = decltype(draft::schedule(std::declval<Scheduler>()));
using OfInt = decltype(hs::as_sender(std::declval<hs::Runtime<>&>(), hs::Future<int>()));
using OfVoid = decltype(hs::as_sender(std::declval<hs::Runtime<>&>(), hs::Future<void>()));

static_assert(draft::scheduler<Scheduler>);
static_assert(draft::sender_in<Scheduled, draft::empty_env>);
static_assert(draft::sender_in<OfInt, draft::empty_env>);
static_assert(std::is_same_v<draft::value_types_of_t<OfInt>, std::variant<std::tuple<int const&>>>);
static_assert(std::is_same_v<draft::value_types_of_t<OfVoid>, std::variant<std::tuple<>>>);

/// A receiver that says how its operation completed, and can be stopped.
struct Outcome {
  std::atomic<int> values{0};
  std::atomic<int> errors{0};
  std::atomic<int> stops{0};
  std::string message;
  std::stop_source stop;

  [[nodiscard]] int all() const { return values + errors + stops; }
};

struct Environment {
  Outcome* outcome;

  [[nodiscard]] std::stop_token query(draft::get_stop_token_t /*query*/) const noexcept {
    return outcome->stop.get_token();
  }
};

struct Receiver {
  using receiver_concept = draft::receiver_tag;
  Outcome* outcome;

  void set_value(auto const&... /*values*/) && noexcept { ++outcome->values; }

  void set_error(std::exception_ptr error) && noexcept {
    outcome->message = message_of([&] { std::rethrow_exception(error); });
    ++outcome->errors;
  }

  void set_stopped() && noexcept { ++outcome->stops; }

  [[nodiscard]] Environment get_env() const noexcept { return {outcome}; }
};

static_assert(draft::sender_to<Scheduled, Receiver>);
static_assert(draft::sender_to<OfInt, Receiver>);

/// Completes on a thread of its own, as `how` says.
template <class R>
struct ElsewhereOperation {
  using operation_state_concept = draft::operation_state_tag;
  R receiver;
  int how;
  std::vector<std::thread>* threads;

  void start() & noexcept {
    threads->emplace_back([this] {
      switch (how) {
      case 0:
        draft::set_value(std::move(receiver), 7);
        break;
      case 1:
        draft::set_error(std::move(receiver), std::make_error_code(std::errc::timed_out));
        break;
      default:
        draft::set_stopped(std::move(receiver));
      }
    });
  }
};

struct Elsewhere {
  using sender_concept = draft::sender_tag;
  using completion_signatures = draft::completion_signatures<draft::set_value_t(int),
                                                             draft::set_error_t(std::error_code),
                                                             draft::set_stopped_t()>;
  int how;
  std::vector<std::thread>* threads;

  template <class R>
  [[nodiscard]] ElsewhereOperation<R> connect(R receiver) const {
    return {std::move(receiver), how, threads};
  }
};

/// Sends the scheduler of its receiver's environment.
template <class R>
struct AskingOperation {
  using operation_state_concept = draft::operation_state_tag;
  R receiver;

  void start() & noexcept {
    auto const scheduler = draft::get_scheduler(draft::get_env(receiver));
    draft::set_value(std::move(receiver), scheduler);
  }
};

struct Asks {
  using sender_concept = draft::sender_tag;
  using completion_signatures = draft::completion_signatures<draft::set_value_t(Scheduler)>;

  template <class R>
  [[nodiscard]] AskingOperation<R> connect(R receiver) const {
    return {std::move(receiver)};
  }
};

/// Operations that somebody else completes.
struct Kept {
  std::atomic<int> waiting{0};
  std::vector<std::function<void()>> completions;
  std::mutex mutex;
};

template <class R>
struct LaterOperation {
  using operation_state_concept = draft::operation_state_tag;
  R receiver;
  Kept* kept;

  void start() & noexcept {
    std::lock_guard const guard(kept->mutex);
    kept->completions.emplace_back([this] { draft::set_value(std::move(receiver), 1); });
    ++kept->waiting;
  }
};

struct Later {
  using sender_concept = draft::sender_tag;
  using completion_signatures = draft::completion_signatures<draft::set_value_t(int)>;
  Kept* kept;

  template <class R>
  [[nodiscard]] LaterOperation<R> connect(R receiver) const {
    return {std::move(receiver), kept};
  }
};

struct Joined {
  std::vector<std::thread> threads;

  ~Joined() {
    for (auto& thread : threads) {
      thread.join();
    }
  }
};

TEST_SUITE_BEGIN("senders");

TEST_CASE("senders: a runtime is a scheduler") {
  hs::Runtime<> a(on_cpus(1));
  hs::Runtime<> b(on_cpus(1));
  CHECK(hs::scheduler_of(a) == hs::scheduler_of(a));
  CHECK(hs::scheduler_of(a) != hs::scheduler_of(b));
  auto const job = draft::schedule(hs::scheduler_of(b));
  CHECK(draft::get_completion_scheduler<draft::set_value_t>(draft::get_env(job)) ==
        hs::scheduler_of(b));
  CHECK(draft::get_completion_scheduler<draft::set_stopped_t>(draft::get_env(job)) ==
        hs::scheduler_of(b));
}

TEST_CASE("senders: work runs in tasks, whatever waits") {
  for (int const cpus : {1, 2, 4}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const job = draft::schedule(hs::scheduler_of(rt)) |
                     draft::then([&rt] { return rt.stats().spawned; }) |
                     draft::then([](auto spawned) { return std::make_tuple(spawned, 'a'); });
    auto const [made] = hs::sync_wait(rt, job).value();
    CHECK(std::get<0>(made) == 1);
    CHECK(std::get<1>(made) == 'a');
    rt.sync();
    CHECK(rt.stats().executed == 1);
    if (cpus > 1) { // a thread that blocks does not work
      auto const text = draft::sync_wait<std::string>(draft::schedule(hs::scheduler_of(rt)) |
                                                      draft::then([] { return std::string("b"); }));
      CHECK(std::get<0>(text.value()) == "b");
    }
  }
}

TEST_CASE_TEMPLATE("senders: schedulers, many operations from tasks and threads",
                   Policy,
                   hs::policies::WorkStealing<>,
                   hs::policies::Eager<>,
                   hs::policies::Heft,
                   hs::policies::DualHP) {
  int const count = static_cast<int>(seeds(2000, 300));
  for (int const cpus : {1, 3, 8}) {
    hs::Runtime<Policy> rt(on_cpus(cpus));
    std::atomic<int> sum{0};
    auto const add = [&] {
      auto const one = hs::sync_wait(
          rt, draft::schedule(hs::scheduler_of(rt)) | draft::then([&sum] { return ++sum; }));
      CHECK(one.has_value());
    };
    for (int k = 0; k < count; ++k) {
      rt.spawn()(add);
    }
    {
      std::jthread const other([&] {
        for (int k = 0; k < count; ++k) {
          add();
        }
      });
      rt.sync();
    }
    CHECK(sum == 2 * count);
  }
}

TEST_CASE("senders: what is sent arrives") {
  hs::Runtime<> rt(on_cpus(2));
  auto const moved = hs::sync_wait(
      rt, draft::just(1) | draft::then([](int x) { return std::make_unique<int>(x + 1); }));
  CHECK(*std::get<0>(moved.value()) == 2);
  CHECK(hs::sync_wait(rt, draft::just(1, 'b', 2.5)).value() == std::make_tuple(1, 'b', 2.5));
  CHECK(hs::sync_wait(rt, draft::just()).value() == std::tuple<>());
  auto const bad = draft::schedule(hs::scheduler_of(rt)) |
                   draft::then([]() -> int { throw std::runtime_error("bad"); });
  CHECK(message_of([&] { (void)hs::sync_wait(rt, bad); }) == "bad");
  rt.sync(); // the task did not fail: who waited has been told
  CHECK(rt.failures().empty());
}

TEST_CASE("senders: values of futures") {
  for (int const cpus : {1, 2, 4}) {
    hs::Runtime<> rt(on_cpus(cpus));
    auto const text = rt.async([] { return std::string("a"); });
    auto const longer = rt.async([](std::string const& it) { return it + "b"; }, text);
    auto const nothing = rt.async([] {});
    auto const size =
        hs::as_sender(rt, longer) | draft::then([](std::string const& it) { return it.size(); });
    CHECK(hs::sync_wait(rt, size).value() == std::make_tuple(std::size_t{2}));
    CHECK(hs::sync_wait(rt, size).value() == std::make_tuple(std::size_t{2})); // once more
    CHECK(hs::sync_wait(rt, hs::as_sender(rt, nothing)).has_value());
    CHECK(std::get<0>(hs::sync_wait(rt, hs::as_sender(rt, text)).value()) == "a");

    auto const bad = rt.async([]() -> int { throw std::runtime_error("bad"); });
    auto const behind = rt.async([](int x) { return x; }, bad);
    CHECK(message_of([&] { (void)hs::sync_wait(rt, hs::as_sender(rt, bad)); }) == "bad");
    CHECK(message_of([&] { (void)hs::sync_wait(rt, hs::as_sender(rt, behind)); }) != "");
    try {
      rt.sync();
    } catch (std::exception const&) { // `behind`, if it is not told
    }
    rt.sync();
  }
}

TEST_CASE("senders: a future alone with its sender lives until its receiver has returned") {
  hs::Runtime<> rt(on_cpus(2));
  auto const chars = hs::as_sender(rt, rt.async([] { return std::vector<int>(1000, 3); })) |
                     draft::then([](std::vector<int> const& all) {
                       return std::accumulate(all.begin(), all.end(), 0);
                     });
  CHECK(std::get<0>(hs::sync_wait(rt, chars).value()) == 3000);
}

TEST_CASE("senders: stopped operations say so") {
  hs::Runtime<> rt(on_cpus(1));
  auto const value = rt.async([] { return 1; });
  for (bool const stops : {false, true}) {
    Outcome scheduled;
    Outcome of_future;
    if (stops) {
      scheduled.stop.request_stop();
      of_future.stop.request_stop();
    }
    auto a = draft::connect(draft::schedule(hs::scheduler_of(rt)), Receiver{&scheduled});
    auto b = draft::connect(hs::as_sender(rt, value), Receiver{&of_future});
    draft::start(a);
    draft::start(b);
    rt.sync();
    CHECK(scheduled.all() == 1);
    CHECK(of_future.all() == 1);
    CHECK(scheduled.stops == (stops ? 1 : 0));
    CHECK(of_future.stops == (stops ? 1 : 0));
  }
}

TEST_CASE("senders: others may complete what is waited for") {
  for (int const cpus : {1, 2}) {
    Joined joined;
    hs::Runtime<> rt(on_cpus(cpus));
    auto* const threads = &joined.threads;
    CHECK(hs::sync_wait(rt, Elsewhere{0, threads}).value() == std::make_tuple(7));
    CHECK_THROWS_AS((void)hs::sync_wait(rt, Elsewhere{1, threads}), std::system_error);
    CHECK(!hs::sync_wait(rt, Elsewhere{2, threads}).has_value());
    auto const inside =
        rt.async([&] { return hs::sync_wait(rt, Elsewhere{0, threads}).has_value(); });
    CHECK(inside.get());
  }
}

TEST_CASE("senders: the runtime may end as soon as the wait is over") {
  Joined joined;
  for (std::uint64_t k = 0; k < seeds(500, 100); ++k) {
    hs::Runtime<> rt(on_cpus(1 + static_cast<int>(k % 2)));
    CHECK(hs::sync_wait(rt, Elsewhere{0, &joined.threads}).has_value());
    if (joined.threads.size() > 20) {
      for (auto& thread : std::exchange(joined.threads, {})) {
        thread.join();
      }
    }
  }
}

TEST_CASE("senders: the environment of a wait has the runtime") {
  hs::Runtime<> rt(on_cpus(1));
  CHECK(std::get<0>(hs::sync_wait(rt, Asks()).value()) == hs::scheduler_of(rt));
}

TEST_CASE("senders: coroutines wait for them") {
  for (int const cpus : {1, 2, 4}) {
    Joined joined;
    hs::Runtime<> rt(on_cpus(cpus));
    auto const job = draft::schedule(hs::scheduler_of(rt));
    auto const all = rt.async([&]() -> hs::Coroutine<std::string> {
      co_await job;
      auto const x = co_await (job | draft::then([] { return 42; }));
      static_assert(std::is_same_v<decltype(x), int const>);
      auto const [a, b] = co_await draft::just(1, 'b');
      auto const y = co_await Elsewhere{0, &joined.threads};
      std::string caught;
      try {
        (void)co_await Elsewhere{1, &joined.threads};
      } catch (std::system_error const&) {
        caught += "timed out";
      }
      try {
        (void)co_await Elsewhere{2, &joined.threads};
      } catch (hs::Error const& error) {
        caught += error.code() == hs::ErrorCode::cancelled ? ", stopped" : "";
      }
      co_return std::to_string(x + a + y) + b + caught;
    });
    CHECK(all.get() == "50btimed out, stopped");
  }
}

TEST_CASE("senders: many coroutines wait, and keep no worker") {
  int const count = static_cast<int>(seeds(1000, 100));
  hs::Runtime<> rt(on_cpus(2));

  Kept kept;
  std::vector<hs::Future<int>> all;
  for (int k = 0; k < count; ++k) {
    all.push_back(rt.async([&kept]() -> hs::Coroutine<int> { co_return co_await Later{&kept}; }));
  }
  std::jthread const completes([&] {
    CHECK(
        support::eventually([&] { return kept.waiting == count; })); // more than there are workers
    for (auto const& completion : kept.completions) {
      completion();
    }
  });
  int sum = 0;
  for (auto const& one : all) {
    sum += one.get();
  }
  CHECK(sum == count);
}

TEST_CASE("senders: what cannot be started says so") {
  hs::Runtime<> rt(on_cpus(2));
  Outcome outcome;
  auto const job = draft::schedule(hs::scheduler_of(rt));
  auto operation = draft::connect(job, Receiver{&outcome});
  (void)rt.capture([&] {
    rt.spawn()([] {});
    draft::start(operation);
    CHECK(contains(message_of([&] { (void)hs::sync_wait(rt, job); }), "capture"));
  });
  CHECK(outcome.errors == 1);
  CHECK(contains(outcome.message, "not allowed inside capture"));

  auto const forks = rt.async([&]() -> hs::Coroutine<int> {
    auto const wait = [&]() -> hs::Coroutine<hs::ErrorCode> {
      try {
        co_await job;
      } catch (hs::Error const& error) {
        co_return error.code();
      }
      co_return hs::ErrorCode::cancelled;
    };
    auto const [a, b] = co_await hs::when_all(wait(), wait());
    co_return (a == hs::ErrorCode::bad_call ? 1 : 0) + (b == hs::ErrorCode::bad_call ? 1 : 0);
  });
  CHECK(forks.get() == 2);
}

TEST_SUITE_END();

} // namespace senders_test
