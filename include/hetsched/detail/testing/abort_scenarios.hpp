// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit's scenario of tasks that take time and may be stopped half way.

#include <hetsched/detail/testing/driver.hpp>
#include <hetsched/detail/testing/scenarios.hpp>

#include <cstdint>
#include <deque>

namespace hetsched::testing::detail {

/// Each worker runs one task at a time. Pushes and ends come at random times. Idle workers call
/// `reconsider` before they look for work. Does nothing for a scheduler without such hooks.
class Aborts {
public:
  Aborts(Driver& driver, std::uint64_t seed, int tasks)
      : driver_(driver), dice_(seed), left_(tasks) {}

  void run() {
    if (!driver_.aborts()) {
      return;
    }
    auto const count = driver_.workers().size();
    while (left_ > 0 && !driver_.spoiled()) {
      now_.ns += static_cast<std::int64_t>(dice_.below(20));
      driver_.context().set_now(now_);
      if (dice_.chance(40)) {
        --left_;
        push(draw_origin(dice_, count));
      } else {
        auto const worker = draw_worker(dice_, count);
        if (running(worker)) {
          end(worker);
        }
      }
      offer_work();
    }
    for (auto const& info : driver_.workers()) {
      if (running(info.id) && !driver_.spoiled()) {
        end(info.id);
      }
    }
    driver_.drain();
    driver_.judge();
  }

private:
  [[nodiscard]] TaskId running(WorkerId worker) { return driver_.context().running(worker); }

  void push(WorkerId from) {
    auto const task = driver_.add({.priority = static_cast<std::int32_t>(dice_.below(4)),
                                   .archs = draw_archs(dice_, driver_.workers()),
                                   .abortable = !dice_.chance(20)});
    draw_times(driver_, dice_, task);
    driver_.push(task, from);
    pushed_.push_back(task);
  }

  /// Calls the hooks as an engine does, but stops at some point if the policy never stops aborting.
  void offer_work() {
    int aborts = 0;
    for (bool found = true; found && !driver_.spoiled();) {
      found = false;
      for (auto const& info : driver_.workers()) {
        if (running(info.id)) {
          continue;
        }
        auto task = aborts < most_aborts ? driver_.reconsider(info.id) : no_task;
        aborts += task ? 1 : 0;
        task = task || driver_.spoiled() ? task : driver_.poll(info.id);
        if (task && !driver_.spoiled()) {
          begin(task, info.id);
          found = true;
        }
      }
      while (!found && !pushed_.empty() && !driver_.spoiled()) {
        auto const task = pushed_.front();
        pushed_.pop_front();
        if (aborts < most_aborts && waits(task) && driver_.preempt(task)) {
          ++aborts;
          found = true;
        }
      }
    }
  }

  /// The task is ready, and no worker that can run it is idle.
  [[nodiscard]] bool waits(TaskId task) {
    if (driver_.entry(task).taken.load()) {
      return false;
    }
    for (auto const& info : driver_.workers()) {
      if (!running(info.id) && driver_.context().can_run(task, info.id)) {
        return false;
      }
    }
    return true;
  }

  void begin(TaskId task, WorkerId worker) {
    driver_.begin_body(task, worker);
    driver_.context().set_busy_until(worker,
                                     now_ + driver_.context().predicted(task, worker)->mean);
  }

  void end(WorkerId worker) { driver_.end_body(running(worker), worker); }

  static constexpr int most_aborts = 100; // at one time

  Driver& driver_;
  Dice dice_;
  int left_;
  Instant now_;
  std::deque<TaskId> pushed_;
};

} // namespace hetsched::testing::detail
