// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit's scenarios of real threads.

#include <hetsched/detail/testing/push_race.hpp>
#include <hetsched/detail/testing/scenarios.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace hetsched::testing::detail {

/// One thread per worker and two outside. The outside threads push roots; each root's body pushes
/// two children and waits for descendants a while, or its completion activates both.
class Stress {
public:
  Stress(Driver& driver, std::uint64_t seed, int tasks) : driver_(driver) {
    Dice dice(seed);
    auto const roots = static_cast<std::size_t>(std::max(tasks / 3, 1));
    for (std::size_t i = 0; i < 3 * roots; ++i) {
      // Root r > 0 has group 0; its children roots + 2r and roots + 2r + 1 have group r + 1.
      auto const group = i < roots ? 0 : (i - roots) / 2 + 1;
      ids_.push_back(driver.add({.priority = static_cast<std::int32_t>(dice.below(8)),
                                 .archs = draw_archs(dice, driver.workers()),
                                 .group = static_cast<std::uint32_t>(group)}));
    }
    roots_ = roots;
  }

  void run() {
    std::vector<std::thread> outside;
    std::vector<std::thread> workers;
    for (auto const& info : driver_.workers()) {
      workers.emplace_back([this, id = info.id] { work(id); });
    }
    for (std::size_t k = 0; k < 2; ++k) {
      outside.emplace_back([this, k] {
        for (auto i = k; i < roots_ && !driver_.spoiled(); i += 2) {
          driver_.push(ids_[i], no_worker);
        }
      });
    }
    for (auto& thread : outside) {
      thread.join();
    }
    all_pushed_.store(true);
    for (auto& thread : workers) {
      thread.join();
    }
    driver_.drain([this](TaskId task, WorkerId worker) { execute(task, worker); });
    driver_.judge();
    if (!driver_.spoiled() && !waits()) {
      driver_.judge_priorities();
    }
  }

private:
  /// If the scheduler promises an order, no worker waits, because the judgement does not know
  /// restrictions.
  [[nodiscard]] bool waits() const noexcept {
    return driver_.priority_scope() == PriorityScope::none;
  }

  void work(WorkerId id) {
    constexpr int patience = 100; // tasks that are then left are found by `drain`, or lost
    for (int idle = 0; idle < patience && !driver_.spoiled();) {
      if (auto const task = driver_.poll(id)) {
        execute(task, id);
        idle = 0;
      } else {
        idle += all_pushed_.load() ? 1 : 0;
        std::this_thread::yield();
      }
    }
  }

  void execute(TaskId task, WorkerId worker) {
    auto const number = *driver_.context().number(task);
    bool const spawns = number < roots_ && number % 2 == 0;
    driver_.begin_body(task, worker);
    if (spawns) {
      wait_for_children(number, worker);
    }
    driver_.end_body(task, worker);
    if (number < roots_ && !spawns) {
      driver_.activate(std::span<TaskId const>(ids_).subspan(roots_ + 2 * number, 2), worker);
    }
  }

  void wait_for_children(std::size_t root, WorkerId worker) {
    auto const outer = driver_.context().restricted_to(worker);
    if (waits()) {
      driver_.context().restrict_to(worker, static_cast<std::uint32_t>(root + 1));
    }
    driver_.push(ids_[roots_ + 2 * root], worker);
    driver_.push(ids_[roots_ + 2 * root + 1], worker);
    for (int polls = 0; waits() && polls < 3; ++polls) {
      if (auto const task = driver_.poll(worker)) {
        execute(task, worker);
      }
    }
    driver_.context().restrict_to(worker, outer);
  }

  Driver& driver_;
  std::vector<TaskId> ids_;
  std::size_t roots_ = 0;
  std::atomic<bool> all_pushed_{false};
};

/// One push races against one worker that falls asleep. The sleeper announces its sleep and polls.
/// The pusher pushes and looks for announcements. If neither sees the other, no worker gets the
/// task.
class Handover {
public:
  Handover(Driver& driver, int rounds) : driver_(driver) {
    for (int i = 0; i < rounds; ++i) {
      ids_.push_back(driver.add({}));
    }
  }

  void run() {
    race_.run(
        ids_.size(),
        [this](std::size_t round) { driver_.push(ids_[round], origin(round)); },
        [this] { return driver_.poll(sleeper); },
        [this](std::size_t round, TaskId task) { settle(round, task); });
    driver_.drain();
    driver_.judge();
  }

private:
  static constexpr WorkerId sleeper{1};

  /// The pusher: a thread outside, or worker 0, which pushes to its own queue.
  static constexpr WorkerId origin(std::size_t round) noexcept {
    return round % 2 == 0 ? no_worker : WorkerId{0};
  }

  /// The pusher is at its next meeting point, and touches nothing.
  void settle(std::size_t round, TaskId task) {
    if (task) {
      driver_.run(task, sleeper);
      return;
    }
    if (driver_.spoiled()) {
      return;
    }
    auto const wake = driver_.entry(ids_[round]).wake;
    if (auto const late = driver_.poll(sleeper)) { // it can reach the task, but did not see it
      driver_.run(late, sleeper);
      if (!race_.saw_sleeper() && (wake.is_any() || wake.target() == sleeper)) {
        driver_.report(Rule::missed_wake,
                       sleeper,
                       "the push of " + driver_.describe(late) +
                           " overlapped a poll that did not see it, and the pusher then saw nobody "
                           "asleep: publish and look in one order that all threads agree on");
      }
    } else {
      driver_.drain();
    }
  }

  Driver& driver_;
  std::vector<TaskId> ids_;
  PushRace race_;
};

} // namespace hetsched::testing::detail
