// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit's scenarios of sleeping workers, in one thread: a Wake must reach a worker.

#include <hetsched/detail/testing/scenarios.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

[[nodiscard]] inline std::string describe(Wake wake) {
  return wake.is_none()  ? "Wake::none()"
         : wake.is_any() ? "Wake::any()"
                         : "Wake::worker(" + std::to_string(wake.target().value) + ")";
}

/// All workers sleep, except a worker that pushes: it polls when its body has ended. Only one of
/// the sleepers that the Wake allows gets up. Every choice is tried in turn.
class OnePush {
public:
  explicit OnePush(Driver& driver) : driver_(driver) {}

  void run() {
    std::vector<ArchMask> masks{{}};
    for (auto const& info : driver_.workers()) {
      masks[0] = masks[0] | ArchMask::only(info.arch);
      masks.push_back(ArchMask::only(info.arch));
    }
    for (auto const archs : masks) {
      for (auto const& choice : driver_.workers()) {
        if (archs.has(choice.arch)) {
          push(archs, no_worker, choice.id);
          for (auto const& from : driver_.workers()) {
            push(archs, from.id, choice.id);
            activate(archs, from.id, choice.id);
          }
        }
      }
    }
    driver_.judge();
  }

private:
  /// `choice`: the worker that the engine wakes for Wake::any().
  void push(ArchMask archs, WorkerId from, WorkerId choice) {
    auto const task = driver_.add({.archs = archs});
    auto const wake = driver_.push(task, from);
    poll(wake.is_any() ? choice : wake.target());
    if (from) {
      poll(from);
    }
    check(task, wake, choice);
  }

  /// The finishing worker counts as the one that Wake::any() wakes, for one of the tasks that it
  /// can run.
  void activate(ArchMask archs, WorkerId from, WorkerId choice) {
    std::vector const batch{driver_.add({.archs = archs}), driver_.add({.archs = archs})};
    auto const wakes = driver_.activate(batch, from);
    bool owed = !archs.has(driver_.workers()[from.index()].arch);
    for (auto const wake : wakes) {
      if (!wake.is_any()) {
        poll(wake.target());
      } else if (std::exchange(owed, true)) {
        poll(choice);
      }
    }
    poll(from);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      check(batch[i], wakes[i], choice);
    }
  }

  /// Polls until it finds no task.
  void poll(WorkerId worker) {
    while (worker && !driver_.spoiled()) {
      auto const task = driver_.poll(worker);
      if (!task) {
        return;
      }
      driver_.run(task, worker);
    }
  }

  void check(TaskId task, Wake wake, WorkerId choice) {
    if (driver_.spoiled() || driver_.entry(task).taken.load()) {
      return;
    }
    driver_.drain();
    if (driver_.entry(task).taken.load()) { // else it is lost, and judged at the end
      driver_.report(Rule::missed_wake,
                     wake.is_any() ? choice : wake.target(),
                     driver_.describe(task) + " was answered " + describe(wake) +
                         (wake.is_none() ? ", which wakes nobody,"
                          : wake.is_any()
                              ? "; " + driver_.describe(choice) + ", woken for it, did not find it"
                              : "; that worker did not find it") +
                         " and all others sleep");
    }
  }

  Driver& driver_;
};

/// Workers run tasks of some length and fall asleep when a poll gives no task. They are woken as in
/// the engine of threads. At the end no worker may sleep while there is a task that it can run.
class Sleepers {
public:
  Sleepers(Driver& driver, std::uint64_t seed, int tasks)
      : driver_(driver), dice_(seed), left_(tasks), workers_(driver.workers().size()) {}

  void run() {
    while (!driver_.spoiled() && (left_ > 0 || awake() > 0)) {
      auto const id = draw_worker(dice_, workers_.size());
      auto& worker = workers_[id.index()];
      if (left_ > 0 && dice_.chance(15)) {
        push(no_worker);
      } else if (worker.asleep) {
        continue;
      } else if (worker.task) {
        work(id);
      } else if ((worker.task = driver_.poll(id))) {
        worker.owed = false;
        driver_.begin_body(worker.task, id);
      } else {
        worker.asleep = true;
      }
    }
    check();
    driver_.drain();
    driver_.judge();
  }

private:
  struct Worker {
    TaskId task;
    bool asleep = true;
    bool owed = false; // it left out one wake-up, because it takes a task itself
  };

  [[nodiscard]] std::size_t awake() const noexcept {
    std::size_t count = 0;
    for (auto const& worker : workers_) {
      count += worker.asleep ? 0 : 1;
    }
    return count;
  }

  TaskId make() {
    --left_;
    return driver_.add({.priority = static_cast<std::int32_t>(dice_.below(4)),
                        .archs = draw_archs(dice_, driver_.workers())});
  }

  void push(WorkerId from) {
    auto const task = make();
    apply(driver_.push(task, from), task);
  }

  /// One step of a body: a push, or the end.
  void work(WorkerId id) {
    auto& worker = workers_[id.index()];
    if (dice_.chance(60)) {
      if (left_ > 0 && dice_.chance(30)) {
        push(id);
      }
      return;
    }
    driver_.end_body(std::exchange(worker.task, no_task), id);
    std::vector<TaskId> batch;
    for (auto count = dice_.below(3); count > 0 && left_ > 0; --count) {
      batch.push_back(make());
    }
    if (batch.empty()) {
      return;
    }
    auto const wakes = driver_.activate(batch, id);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (wakes[i].is_any() && !worker.owed && driver_.context().can_run(batch[i], id)) {
        worker.owed = true;
      } else {
        apply(wakes[i], batch[i]);
      }
    }
  }

  void apply(Wake wake, TaskId task) {
    if (auto const target = wake.target()) {
      if (!driver_.spoiled()) {
        workers_[target.index()].asleep = false;
      }
      return;
    }
    auto const first = dice_.below(workers_.size());
    for (std::size_t i = 0; wake.is_any() && i < workers_.size(); ++i) {
      auto const k = (first + i) % workers_.size();
      if (workers_[k].asleep && driver_.context().can_run(task, driver_.workers()[k].id)) {
        workers_[k].asleep = false;
        return;
      }
    }
  }

  void check() {
    auto const task = driver_.first_pending();
    if (!task || driver_.spoiled()) {
      return;
    }
    driver_.drain();
    if (driver_.entry(task).taken.load()) { // else it is lost, and judged at the end
      driver_.report(Rule::missed_wake,
                     no_worker,
                     "all workers sleep, and " + driver_.describe(task) + ", answered " +
                         describe(driver_.entry(task).wake) + ", is still there");
    }
  }

  Driver& driver_;
  Dice dice_;
  int left_;
  std::vector<Worker> workers_;
};

} // namespace hetsched::testing::detail
