// SPDX-License-Identifier: MIT
#pragma once
// What goes on in several steps, with waits for other ranks between them: coroutines of one thread
// at a time. No lock and no atomic: who resumes one holds the lock of all. What is awaited has a
// name: g++ 12 copies what `co_await all[k]` and `co_await a.b` wait for.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Something that happens once. At most one waits for it. Stays where it is meanwhile.
class Event {
public:
  Event() = default;
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;

  /// Who waits goes on, before this returns. It may be gone afterwards, and this, too.
  void happen() {
    happened_ = true;
    if (auto const waiter = std::exchange(waiter_, nullptr)) {
      waiter.resume();
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return happened_; }

  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }

  void await_resume() const noexcept {}

private:
  bool happened_ = false;
  std::coroutine_handle<> waiter_;
};

struct StepPromiseBase {
  std::coroutine_handle<> caller;
  std::exception_ptr error;

  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <class Promise>
    [[nodiscard]] std::coroutine_handle<>
    await_suspend(std::coroutine_handle<Promise> own) const noexcept {
      return own.promise().caller;
    }

    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  [[nodiscard]] Final final_suspend() const noexcept { return {}; }

  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct StepPromise : StepPromiseBase {
  std::optional<T> value;

  void return_value(T its_value) { value = std::move(its_value); }

  [[nodiscard]] T take() { return std::move(*value); }
};

template <>
struct StepPromise<void> : StepPromiseBase {
  void return_void() const noexcept {}

  void take() const noexcept {}
};

/// A part of a routine, with waits in it: `T x = co_await part();`. Begins when it is awaited.
template <class T = void>
class [[nodiscard]] Step {
public:
  struct promise_type : StepPromise<T> { // NOLINT: the language's name

    Step get_return_object() noexcept {
      return Step(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Step(Step&& other) noexcept : own_(std::exchange(other.own_, nullptr)) {}

  Step(Step const&) = delete;
  Step& operator=(Step const&) = delete;

  ~Step() {
    if (own_) {
      own_.destroy();
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    own_.promise().caller = caller;
    return own_;
  }

  T await_resume() {
    if (own_.promise().error) {
      std::rethrow_exception(own_.promise().error);
    }
    return own_.promise().take();
  }

private:
  explicit Step(std::coroutine_handle<promise_type> own) noexcept : own_(own) {}

  std::coroutine_handle<promise_type> own_;
};

/// Steps that go on side by side, until they have ended.
class Routines {
  struct Routine {
    struct promise_type { // NOLINT: the language's name
      Routines& all;

      promise_type(Routines& routines, Step<>&) : all(routines) { ++all.live_; }

      promise_type(promise_type const&) = delete;
      promise_type& operator=(promise_type const&) = delete;

      ~promise_type() { --all.live_; }

      Routine get_return_object() const noexcept { return {}; }

      [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }

      [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }

      void return_void() const noexcept {}

      void unhandled_exception() noexcept {
        if (!all.failure_) {
          all.failure_ = std::current_exception();
        }
      }
    };
  };

public:
  Routines() = default;
  Routines(Routines const&) = delete;
  Routines& operator=(Routines const&) = delete;

  /// Begins it, and returns when it waits.
  void start(Step<> step) { run(*this, step); }

  /// How many have not ended.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }

  /// What the first one threw that threw anything; null: none did.
  [[nodiscard]] std::exception_ptr const& failure() const noexcept { return failure_; }

  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    return std::exchange(failure_, nullptr);
  }

private:
  static Routine run(Routines& /*all*/, Step<>& step) {
    auto own = std::move(step);
    co_await own;
  }

  std::size_t live_ = 0;
  std::exception_ptr failure_;
};

/// Who waits for somebody to look again, at once or after some time.
class Looks {
  struct Waiter {
    std::int64_t due_ns; // unchanged: when something has changed
    std::uint64_t changes;
    std::coroutine_handle<> waiter;
  };

public:
  static constexpr auto never = std::numeric_limits<std::int64_t>::max();

  Looks() = default;

  /// In virtual time, which is *now. Somebody calls `note_change` and `look` whenever others may
  /// have changed what is here.
  explicit Looks(Instant const& now) noexcept : now_(&now) {}

  struct Wait {
    Looks& looks;
    std::int64_t due_ns;
    std::uint64_t changes;

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    void await_suspend(std::coroutine_handle<> waiter) const {
      looks.waiting_.push_back({due_ns, changes, waiter});
    }

    void await_resume() const noexcept {}
  };

  [[nodiscard]] Wait next() noexcept { return {*this, 0, 0}; }

  [[nodiscard]] Wait after(std::int64_t ns) noexcept { return {*this, now_ns() + ns, 0}; }

  /// How often something may have changed here so far.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  /// For who wants to see what others change here: after that time; in virtual time when something
  /// may have changed since there were so many changes. That is to be asked before one looks, as
  /// looking takes time.
  [[nodiscard]] Wait change(std::int64_t ns, std::uint64_t since) noexcept {
    return now_ == nullptr ? after(ns) : Wait{*this, unchanged, since};
  }

  void note_change() noexcept { ++changes_; }

  /// Somebody looks: who waited for long enough goes on.
  void look() {
    if (waiting_.empty()) {
      return;
    }
    auto const now = hurried_ ? never : now_ns();
    auto all = std::exchange(waiting_, {});
    for (auto const& one : all) {
      if (one.due_ns == unchanged ? one.changes != changes_ : one.due_ns <= now) {
        one.waiter.resume();
      } else {
        waiting_.push_back(one);
      }
    }
  }

  /// When the first one has waited for long enough of those that wait for some time.
  [[nodiscard]] std::int64_t next_due() const noexcept {
    auto due = never;
    for (auto const& one : waiting_) {
      due = one.due_ns > 0 ? std::min(due, one.due_ns) : due;
    }
    return due;
  }

  /// From now on nobody waits for longer than until the next look.
  void hurry(bool hurried) noexcept { hurried_ = hurried; }

private:
  static constexpr std::int64_t unchanged = -1;

  [[nodiscard]] std::int64_t now_ns() const noexcept {
    return now_ == nullptr ? monotonic_ns() : now_->ns;
  }

  Instant const* now_ = nullptr; // null: the clock's
  std::vector<Waiter> waiting_;
  std::uint64_t changes_ = 0;
  bool hurried_ = false;
};

} // namespace hetsched::detail
