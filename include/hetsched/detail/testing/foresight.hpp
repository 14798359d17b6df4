// SPDX-License-Identifier: MIT
#pragma once
// What a scheduler's peek has foreseen, until something else than pops of that worker happens.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/testing/ledger.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

namespace hetsched::testing::detail {

/// What is wrong with the tasks that a peek for this worker wrote; empty: nothing can be seen. As a
/// guess they may be taken, or not be for this worker any more.
[[nodiscard]] inline std::string wrong_with_peeked(Ledger& tasks,
                                                   ScriptedContext const& context,
                                                   WorkerId worker,
                                                   std::span<TaskId const> peeked,
                                                   bool guess) {
  for (std::size_t k = 0; k < peeked.size(); ++k) {
    auto const task = peeked[k];
    auto const before = peeked.first(k);
    auto const* const known = tasks.pushed(task);
    if (known == nullptr) {
      return "an id that was not pushed";
    }
    if (guess) {
      continue;
    }
    if (known->taken.load()) {
      return tasks.describe(task) + ", which had been taken";
    }
    if (!context.can_run(task, worker)) {
      return tasks.describe(task) + ", which it cannot run";
    }
    if (std::find(before.begin(), before.end(), task) != before.end()) {
      return tasks.describe(task) + " twice";
    }
  }
  return {};
}

/// Of one worker at a time, in one thread.
class Foresight {
public:
  enum class Verdict : std::uint8_t {
    right,
    other,  // pop answered another task than the one foreseen
    unseen, // pop answered a task where none was foreseen, although there was room for one
  };

  /// A peek with so much room has written these tasks.
  void begin(WorkerId worker, std::span<TaskId const> tasks, std::size_t room) {
    worker_ = worker;
    foreseen_.assign(tasks.begin(), tasks.end());
    none_ = tasks.empty() && room > 0;
  }

  /// Something has happened.
  void end() noexcept {
    worker_ = {};
    foreseen_.clear();
    none_ = false;
  }

  /// Whether the next pop of this worker is foreseen.
  [[nodiscard]] bool is_for(WorkerId worker) const noexcept {
    return worker_ == worker && !foreseen_.empty();
  }

  /// The first that is foreseen; no_task if there is none.
  [[nodiscard]] TaskId next() const noexcept {
    return foreseen_.empty() ? no_task : foreseen_.front();
  }

  /// A pop of the worker answered this task, or no_task.
  [[nodiscard]] Verdict judge(WorkerId worker, TaskId answer) {
    if (worker != worker_) {
      end();
      return Verdict::right;
    }
    if (foreseen_.empty()) {
      bool const unseen = none_ && answer;
      end();
      return unseen ? Verdict::unseen : Verdict::right;
    }
    if (foreseen_.front() != answer) {
      return Verdict::other;
    }
    foreseen_.pop_front();
    return Verdict::right;
  }

private:
  WorkerId worker_;
  std::deque<TaskId> foreseen_;
  bool none_ = false;
};

} // namespace hetsched::testing::detail
