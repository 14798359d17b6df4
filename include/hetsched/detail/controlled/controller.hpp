// SPDX-License-Identifier: MIT
#pragma once
// Runs a program whose threads are fibers, one step at a time.

#include <hetsched/detail/controlled/controlled_atomic.hpp>
#include <hetsched/detail/controlled/fiber.hpp>
#include <hetsched/detail/controlled/strategies.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace hetsched::detail::controlled {

/// One step of a run, for the report of a failure.
struct TraceEntry {
  std::int8_t fiber;
  Step step;
  void const* caller; // in the program's code
};

/// Runs one program after the other. During a run the controller takes no memory, so that the
/// program's memory can be its own. One thread may use it; while it runs, no other thread may use
/// atomic variables of the engine.
class Controller final : public Control {
public:
  static constexpr int most_fibers = 32;
  static constexpr std::uint64_t most_points = 200000; // of a run; more: it is said to be endless
  static constexpr std::size_t trace_length = 256;

  Controller() = default;

  enum class End : std::uint8_t { right, wrong, deadlock, endless };

  /// Runs the program once. What is not right is in `message()`. A run that does not end is left as
  /// it is, with what belongs to it.
  template <class Program>
  End run(Program& program, Strategy& strategy, bool points_before) {
    strategy_ = &strategy;
    before = points_before;
    now_ns = 1000000000;
    points_ = 0;
    count_ = 0;
    message_[0] = '\0';
    end_ = End::right;
    call_ = [](void* of) { (*static_cast<Program*>(of))(); };
    program_ = &program;
    at_start_.take();
    control = this;
    start(
        [](void* controller) -> void* {
          static_cast<Controller*>(controller)->run_program();
          return nullptr;
        },
        this);
    current_ = 0;
    home_.give_way_to(*fibers_[0].stack);
    control = nullptr;
    return end_;
  }

  [[nodiscard]] char const* message() const noexcept { return message_; }

  [[nodiscard]] std::uint64_t points() const noexcept { return points_; }

  [[nodiscard]] int fibers() const noexcept { return count_; }

  /// Notes that the run is wrong. The first note counts.
  void note(char const* what) noexcept {
    if (end_ == End::right) {
      end_ = End::wrong;
      std::snprintf(message_, sizeof message_, "%s", what);
    }
  }

  /// Calls f(entry) for the last steps, oldest first.
  template <class F>
  void for_each_step(F&& f) const {
    auto const held = std::min<std::uint64_t>(steps_, trace_length);
    for (auto i = steps_ - held; i < steps_; ++i) {
      f(trace_[i % trace_length]);
    }
  }

  /// Calls f(number, step, caller) for each fiber that has not ended: what it does or waits for.
  template <class F>
  void for_each_waiting(F&& f) const {
    for (int i = 0; i < count_; ++i) {
      if (fibers_[i].state != State::ended) {
        f(i, fibers_[i].step, fibers_[i].caller);
      }
    }
  }

  // ---- what programs call, by Atomic, Mutex and Thread ----

  void point(Step step, void const* caller) noexcept override {
    note_step(step, caller);
    choose(true);
  }

  void sleep(Step step, void const* address, void const* caller) noexcept override {
    note_step(step, caller);
    fibers_[current_].state = State::sleeps;
    fibers_[current_].sleeps_at = address;
    choose(false);
  }

  void wake(void const* address, bool all) noexcept override {
    for (int i = 0; i < count_; ++i) {
      auto& fiber = fibers_[i];
      if (fiber.state == State::sleeps && fiber.sleeps_at == address) {
        fiber.state = State::ready;
        if (!all) {
          break;
        }
      }
    }
  }

  void yield(std::int64_t ns, void const* caller) noexcept override {
    note_step(Step::yield, caller);
    now_ns += ns;
    strategy_->yielded(current_);
    fibers_[current_].state = State::yields;
    choose(false);
  }

  int start(void* (*function)(void*), void* argument) override {
    if (count_ == most_fibers) {
      fail(End::wrong, "more threads than a controlled run may have");
    }
    auto const number = count_++;
    auto& fiber = fibers_[number];
    fiber.function = function;
    fiber.argument = argument;
    fiber.state = State::ready;
    fiber.step = Step::start;
    fiber.caller = nullptr;
    fiber.stack->prepare(&enter, at_start_);
    strategy_->started(number);
    if (number != 0) {
      point(Step::start, __builtin_return_address(0));
    }
    return number;
  }

  void join(int number) noexcept override {
    while (fibers_[number].state != State::ended) {
      sleep(Step::join, &fibers_[number], __builtin_return_address(0));
    }
  }

private:
  enum class State : std::uint8_t { ready, yields, sleeps, ended };

  struct Thread {
    std::unique_ptr<Fiber> stack = std::make_unique<Fiber>(std::size_t{256} << 10);
    void* (*function)(void*) = nullptr;
    void* argument = nullptr;
    void const* sleeps_at = nullptr;
    void const* caller = nullptr; // of the last step
    State state = State::ended;
    Step step = Step::start;
  };

  static void enter() {
    auto& self = static_cast<Controller&>(*control);
    auto& fiber = self.fibers_[self.current_];
    fiber.stack->arrive();
    fiber.function(fiber.argument);
    self.end_fiber();
  }

  void run_program() noexcept {
    try {
      call_(program_);
    } catch (std::exception const& error) {
      note(error.what());
    } catch (...) {
      note("an exception that is no std::exception");
    }
    for (int i = 1; i < count_; ++i) {
      if (fibers_[i].state != State::ended) {
        note("the program ends before one of its threads");
      }
    }
    go_home();
  }

  void end_fiber() noexcept {
    fibers_[current_].state = State::ended;
    wake(&fibers_[current_], true);
    choose(false);
  }

  void go_home() noexcept { fibers_[current_].stack->give_way_to(home_); }

  void fail(End how, char const* what) noexcept {
    end_ = how;
    std::snprintf(message_, sizeof message_, "%s", what);
    go_home();
  }

  void note_step(Step step, void const* caller) noexcept {
    ++now_ns;
    ++points_;
    fibers_[current_].step = step;
    fibers_[current_].caller = caller;
    trace_[steps_++ % trace_length] = {static_cast<std::int8_t>(current_), step, caller};
    if (points_ > most_points) {
      fail(End::endless, "the run does not end");
    }
  }

  /// `may_go_on`: the current fiber may, too.
  void choose(bool may_go_on) noexcept {
    int others[most_fibers];
    int count = 0;
    for (int k = 1; k < count_; ++k) { // those behind the current one first: all have their turn
      if (int const i = (current_ + k) % count_; fibers_[i].state == State::ready) {
        others[count++] = i;
      }
    }
    if (count == 0 && !may_go_on) { // only those are left that yield
      for (int i = 0; i < count_; ++i) {
        if (fibers_[i].state == State::yields) {
          others[count++] = i;
          fibers_[i].state = State::ready;
        }
      }
      now_ns += 1000;
      if (count == 0) {
        fail(End::deadlock, "all threads sleep");
      }
    }
    if (count == 0) {
      return; // the current one alone can go on
    }
    int const next = strategy_->choose({others, count, may_go_on ? current_ : -1});
    // Something happens now: those that yielded may look again.
    for (int i = 0; i < count_; ++i) {
      if (i != current_ && fibers_[i].state == State::yields) {
        fibers_[i].state = State::ready;
      }
    }
    if (next != current_) {
      auto& from = fibers_[std::exchange(current_, next)];
      from.stack->give_way_to(*fibers_[next].stack);
    } else {
      fibers_[next].state = State::ready;
    }
  }

  Fiber home_;
  OwnVariables at_start_;
  Thread fibers_[most_fibers];
  int count_ = 0;
  int current_ = 0;
  Strategy* strategy_ = nullptr;
  void (*call_)(void*) = nullptr;
  void* program_ = nullptr;
  std::uint64_t points_ = 0;
  End end_ = End::right;
  char message_[512] = "";
  std::uint64_t steps_ = 0;
  TraceEntry trace_[trace_length] = {};
};

} // namespace hetsched::detail::controlled
