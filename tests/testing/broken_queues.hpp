// SPDX-License-Identifier: MIT
#pragma once
// Deliberately broken queues, at least one for each rule that the conformance kit checks.

#include <hetsched/concepts/queue.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

namespace broken {

namespace hs = hetsched;

/// Right, and the base of the others: one list under one lock, oldest first.
class List {
public:
  void push(hs::TaskId task, std::int32_t priority) {
    std::lock_guard const guard(mutex);
    tasks.push_back({task, priority});
  }

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (accept(tasks[i].task)) {
        return take(i);
      }
    }
    return hs::no_task;
  }

protected:
  struct Entry {
    hs::TaskId task;
    std::int32_t priority;
  };

  hs::TaskId take(std::size_t i) {
    auto const task = tasks[i].task;
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(i));
    return task;
  }

  std::recursive_mutex mutex;
  std::vector<Entry> tasks;
};

/// Right, too: with thieves, who take the newest.
struct TwoEnds : List {
  template <class Accept>
  hs::TaskId steal(Accept&& accept) {
    std::lock_guard const guard(mutex);
    for (auto i = tasks.size(); i > 0; --i) {
      if (accept(tasks[i - 1].task)) {
        return take(i - 1);
      }
    }
    return hs::no_task;
  }
};

struct DropsEveryTenthTask : List {
  std::atomic<int> pushed{0};

  void push(hs::TaskId task, std::int32_t priority) {
    if (++pushed % 10 != 0) {
      List::push(task, priority);
    }
  }
};

struct KeepsWhatItGives : List {
  int popped = 0;

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    auto const task = List::pop(accept);
    if (task && ++popped % 10 == 0) {
      List::push(task, 0);
    }
    return task;
  }
};

struct GivesAnotherId : List {
  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    auto const task = List::pop(accept);
    return task ? hs::TaskId{task.value + 1} : task;
  }
};

struct IgnoresAccept : List {
  template <class Accept>
  hs::TaskId pop(Accept&&) {
    return List::pop(hs::AnyTask{});
  }
};

struct StealsWhatIsRefused : TwoEnds {
  template <class Accept>
  hs::TaskId steal(Accept&&) {
    return TwoEnds::steal(hs::AnyTask{});
  }
};

struct LooksAtOneTask : List {
  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    return tasks.empty() || !accept(tasks.front().task) ? hs::no_task : take(0);
  }
};

struct LooksAtOneTaskAndSaysSo : LooksAtOneTask {
  static constexpr bool gives_up_at_refusal = true;
};

/// Gives nothing at every other call, though it says no more than that it gives up at a refusal.
struct GivesUpWithoutReason : LooksAtOneTaskAndSaysSo {
  std::atomic<int> calls{0};

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    return ++calls % 10 == 0 ? hs::no_task : LooksAtOneTask::pop(accept);
  }
};

struct ClaimsAnOrder : List {
  static constexpr bool ordered_by_priority = true;
};

/// Highest priority first, but the newest among equals.
struct NewestOfEquals : List {
  static constexpr bool ordered_by_priority = true;

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    auto best = tasks.size();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if ((best == tasks.size() || tasks[i].priority >= tasks[best].priority) &&
          accept(tasks[i].task)) {
        best = i;
      }
    }
    return best == tasks.size() ? hs::no_task : take(best);
  }
};

/// Right in what it pops.
struct PeeksAtTheNewest : List {
  template <class Accept>
  std::size_t peek(std::span<hs::TaskId> next, Accept&& accept) {
    std::lock_guard const guard(mutex);
    std::size_t count = 0;
    for (auto it = tasks.rbegin(); it != tasks.rend() && count < next.size(); ++it) {
      if (accept(it->task)) {
        next[count++] = it->task;
      }
    }
    return count;
  }
};

struct PeeksPastTheEnd : List {
  template <class Accept>
  std::size_t peek(std::span<hs::TaskId> next, Accept&&) {
    return next.size() + 1;
  }
};

struct PeeksAtWhatIsRefused : List {
  template <class Accept>
  std::size_t peek(std::span<hs::TaskId> next, Accept&&) {
    std::lock_guard const guard(mutex);
    auto const count = std::min(next.size(), tasks.size());
    std::transform(tasks.begin(),
                   tasks.begin() + static_cast<std::ptrdiff_t>(count),
                   next.begin(),
                   [](auto const& one) { return one.task; });
    return count;
  }
};

struct PeeksAtOneOnly : List {
  template <class Accept>
  std::size_t peek(std::span<hs::TaskId> next, Accept&& accept) {
    std::lock_guard const guard(mutex);
    for (auto const& one : tasks) {
      if (!next.empty() && accept(one.task)) {
        next[0] = one.task;
        return 1;
      }
    }
    return 0;
  }
};

struct AsksAboutTheLast : List {
  hs::TaskId last;

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    if (last) {
      static_cast<void>(accept(last));
    }
    auto const task = List::pop(accept);
    last = task ? task : last;
    return task;
  }
};

/// Keeps back a task until its pusher pushes the next or polls.
struct PublishesTheOneBefore : List {
  hs::TaskId late;
  std::thread::id pusher;

  void push(hs::TaskId task, std::int32_t) {
    std::lock_guard const guard(mutex);
    publish();
    late = task;
    pusher = std::this_thread::get_id();
  }

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex);
    if (pusher == std::this_thread::get_id() || !tasks.empty()) {
      publish();
    }
    return List::pop(accept);
  }

private:
  void publish() {
    if (late) {
      List::push(late, 0);
      late = hs::no_task;
    }
  }
};

struct ThrowsAtThirty : List {
  std::atomic<int> pushed{0};

  void push(hs::TaskId task, std::int32_t priority) {
    ++pushed == 30 ? throw std::runtime_error("thirty is enough") : List::push(task, priority);
  }
};

/// Keeps a thread in the middle of a wrong step until another thread is there, too, for 5 ms at
/// most: on a loaded machine they would rarely meet by chance. The thread that made it is alone, so
/// never waits.
class Meeting {
public:
  void wait() {
    if (std::this_thread::get_id() == maker_) {
      return;
    }
    auto const arrived = arrived_.fetch_add(1) + 1;
    wait_until(arrived + 1, std::chrono::milliseconds(5));
  }

  /// Until two threads have been there, once, for a second at most.
  void let_two_come() {
    if (std::this_thread::get_id() != maker_ && !came_.exchange(true)) {
      wait_until(2, std::chrono::seconds(1));
    }
  }

private:
  void wait_until(std::uint64_t arrived, std::chrono::milliseconds most) const {
    auto const until = std::chrono::steady_clock::now() + most;
    while (arrived_.load() < arrived && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
  }

  std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<bool> came_{false};
};

/// Looks at the front and removes it in two steps, between which another thread may do the same.
/// Every access is atomic: wrong, but no data race that a sanitizer would stop at.
class RemovesInTwoSteps {
public:
  void push(hs::TaskId task, std::int32_t) {
    std::lock_guard const guard(push_);
    auto const end = end_.load();
    slots_[end % slots_.size()].store(task.value);
    end_.store(end + 1);
  }

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    auto const begin = begin_.load();
    if (begin >= end_.load()) {
      return hs::no_task;
    }
    hs::TaskId const task{slots_[begin % slots_.size()].load()};
    if (!accept(task)) {
      return hs::no_task;
    }
    meeting_.wait();
    begin_.store(begin + 1);
    return task;
  }

  static constexpr bool gives_up_at_refusal = true;

private:
  std::array<std::atomic<std::uint64_t>, 4096> slots_{};
  std::atomic<std::size_t> begin_{0};
  std::atomic<std::size_t> end_{0};
  std::mutex push_;
  Meeting meeting_;
};

/// The same for thieves: the owner's ends are right. The owner takes nothing before thieves are
/// there, and would else be done before they begin.
struct StealsInTwoSteps : TwoEnds {
  Meeting meeting;

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    meeting.let_two_come();
    return TwoEnds::pop(accept);
  }

  template <class Accept>
  hs::TaskId steal(Accept&& accept) {
    hs::TaskId task;
    {
      std::lock_guard const guard(mutex);
      if (tasks.empty() || !accept(tasks.back().task)) {
        return hs::no_task;
      }
      task = tasks.back().task;
    }
    meeting.wait();
    std::lock_guard const guard(mutex);
    std::erase_if(tasks, [=](Entry const& entry) { return entry.task == task; });
    return task;
  }

  static constexpr bool gives_up_at_refusal = true;
};

} // namespace broken
