// SPDX-License-Identifier: MIT
#pragma once
// Calls a queue as schedulers do, and judges every answer.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/detail/testing/findings.hpp>
#include <hetsched/detail/testing/queue_rules.hpp>
#include <hetsched/detail/testing/subject_base.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::testing {

namespace detail {

class QueueDriver;

/// The `accept` of a poll. Queues may copy it.
class Asker {
public:
  Asker(QueueDriver& driver, unsigned classes) noexcept : driver_(&driver), classes_(classes) {}

  bool operator()(TaskId task) const;

private:
  QueueDriver* driver_;
  unsigned classes_;
};

/// A queue behind virtual functions: the rest of the kit is compiled once.
class QueueSubject : public SubjectBase {
public:
  [[nodiscard]] virtual bool can_steal() const noexcept = 0;
  [[nodiscard]] virtual bool ordered() const noexcept = 0;
  [[nodiscard]] virtual bool gives_up() const noexcept = 0;

  [[nodiscard]] virtual bool can_peek() const noexcept = 0;

  virtual void push(TaskId task, std::int32_t priority) = 0;
  virtual std::size_t peek(std::span<TaskId> next, Asker accept) = 0;
  virtual TaskId pop(Asker accept) = 0;
  virtual TaskId steal(Asker accept) = 0;
};

using MakeQueue = std::function<std::unique_ptr<QueueSubject>()>;
using QueueFindings = FindingsOf<QueueRule>;

/// The kit's knowledge of one task. The flags are relaxed, because the kit must not order memory
/// that the queue leaves unordered. `written` is for ThreadSanitizer: it is set before the push and
/// read after the poll.
struct QueuedTask {
  std::int32_t priority = 0;
  std::size_t written = 0;
  std::atomic<bool> pushed{false};
  std::atomic<bool> taken{false};
};

/// One instance of a queue and its tasks, which belong to four classes in turn. Once `start` was
/// called, push and poll may be called from several threads.
class QueueDriver {
public:
  enum class End : bool { pop, steal };
  static constexpr unsigned classes = 4;
  static constexpr unsigned all = (1U << classes) - 1;

  QueueDriver(std::string scenario,
              std::uint64_t seed,
              MakeQueue const& make,
              QueueFindings& findings)
      : where_(std::move(scenario)), seed_(seed), findings_(findings) {
    call("the constructor", [&] { return subject_ = make(), 0; }, 0);
  }

  QueueDriver(QueueDriver const&) = delete;
  QueueDriver& operator=(QueueDriver const&) = delete;
  ~QueueDriver() = default;

  /// After such a violation further answers mean nothing. The scenario ends, and no operation has
  /// an effect.
  [[nodiscard]] bool spoiled() const noexcept { return spoiled_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool can_steal() const { return subject_ && subject_->can_steal(); }

  [[nodiscard]] bool gives_up() const { return subject_ && subject_->gives_up(); }

  /// Adds a task to push. Only before `start`.
  std::size_t add(std::int32_t priority) {
    tasks_.emplace_back().priority = priority;
    return tasks_.size() - 1;
  }

  void start() noexcept { threads_ = true; }

  void push(std::size_t number) {
    auto& task = tasks_[number];
    task.written = number;
    task.pushed.store(true, std::memory_order_relaxed);
    if (!threads_) {
      foreseen_.clear();
    }
    call("push", [&] { return subject_->push(id_of(number), task.priority), 0; }, 0);
  }

  /// `accepted`: a bit for each class. Returns the number of the task, if the answer was right.
  std::optional<std::size_t> poll(End end, unsigned accepted) {
    if (end == End::pop && !threads_) {
      look(accepted);
    }
    Asker const accept(*this, accepted);
    auto const answer = call(
        end == End::pop ? "pop" : "steal",
        [&] { return end == End::pop ? subject_->pop(accept) : subject_->steal(accept); },
        no_task);
    if (spoiled()) {
      return {};
    }
    if (!answer) {
      judge_none(accepted);
      if (end == End::pop && !threads_) {
        judge_peek(answer);
      }
      return {};
    }
    return judge(answer, end, accepted);
  }

  /// Looks, as whoever may pop, while other threads use the queue: any pushed task may be the
  /// answer.
  void peek_beside(unsigned accepted) {
    if (!subject_ || !subject_->can_peek()) {
      return;
    }
    std::array<TaskId, 3> next;
    Asker const accept(*this, accepted);
    auto const count = call("peek", [&] { return subject_->peek(next, accept); }, std::size_t{0});
    for (std::size_t k = 0; k < count && !spoiled(); ++k) {
      auto const number = k < next.size() ? number_of(next[k]) : std::nullopt;
      if (!number || !tasks_[*number].pushed.load(std::memory_order_relaxed) ||
          !accepts(*number, accepted)) {
        report(QueueRule::peeked, "peek beside other threads answered no task that is accepted");
      }
    }
  }

  /// Answers a queue's question.
  bool answer(TaskId task, unsigned accepted) {
    auto const number = number_of(task);
    if (!number || !tasks_[*number].pushed.load(std::memory_order_relaxed)) {
      report(QueueRule::asked, "accept was asked about an id that was not pushed");
      return false;
    }
    if (!threads_ && tasks_[*number].taken.load(std::memory_order_relaxed)) {
      note(QueueRule::asked, "accept was asked about " + describe(*number) + ", which had left");
    }
    return accepts(*number, accepted);
  }

  /// At the end, by one thread: takes the tasks that are left, and reports those that never came.
  void finish() {
    threads_ = false;
    for (int idle = 0; idle < 3 && !spoiled(); ++idle) { // some answers may be wrong
      while (poll(End::pop, all) || (can_steal() && poll(End::steal, all))) {
        idle = 0;
      }
    }
    for (auto const number : unseen_) {
      if (tasks_[number].taken.load(std::memory_order_relaxed) && !spoiled()) {
        report(QueueRule::hidden,
               "a poll that accepts " + describe(number) +
                   " answered no_task, and a later one found it");
      }
    }
    for (std::size_t i = 0; i < tasks_.size() && !spoiled(); ++i) {
      if (tasks_[i].pushed.load(std::memory_order_relaxed) &&
          !tasks_[i].taken.load(std::memory_order_relaxed)) {
        report(QueueRule::lost, describe(i) + " never came out, though polls accepted everything");
      }
    }
  }

  /// The scenario goes on.
  void note(QueueRule rule, std::string what) {
    findings_.add(rule, where_, seed_, no_worker, std::move(what));
  }

  void report(QueueRule rule, std::string what) {
    note(rule, std::move(what));
    spoiled_.store(true, std::memory_order_relaxed);
  }

  /// "task 3 (priority 2)"
  [[nodiscard]] std::string describe(std::size_t number) const {
    return "task " + std::to_string(number) + " (priority " +
           std::to_string(tasks_[number].priority) + ")";
  }

private:
  template <class F, class R>
  R call(char const* name, F&& operation, R otherwise) {
    if (spoiled()) {
      return otherwise;
    }
    try {
      return operation();
    } catch (...) {
      report(QueueRule::threw, what_threw(name));
    }
    return otherwise;
  }

  /// Ids with as many bits as those of a runtime.
  static TaskId id_of(std::size_t number) noexcept { return {first_id + 64 * number}; }

  [[nodiscard]] std::optional<std::size_t> number_of(TaskId task) const noexcept {
    auto const offset = task.value - first_id;
    return offset % 64 == 0 && offset / 64 < tasks_.size() ? std::optional(offset / 64)
                                                           : std::nullopt;
  }

  static bool accepts(std::size_t number, unsigned accepted) noexcept {
    return ((accepted >> (number % classes)) & 1U) != 0;
  }

  [[nodiscard]] bool is_inside(std::size_t number) const noexcept {
    return tasks_[number].pushed.load(std::memory_order_relaxed) &&
           !tasks_[number].taken.load(std::memory_order_relaxed);
  }

  /// One thread: judges the answer no_task. No accepted task may be there, unless the queue may
  /// have stopped at a refused one. The end shows whether a task that is there is hidden or lost.
  void judge_none(unsigned accepted) {
    std::optional<std::size_t> accepted_one;
    bool refused_one = false;
    for (std::size_t i = first_inside(); i < tasks_.size() && !threads_; ++i) {
      if (is_inside(i)) {
        refused_one = refused_one || !accepts(i, accepted);
        accepted_one = !accepted_one && accepts(i, accepted) ? i : accepted_one;
      }
    }
    if (accepted_one && !(refused_one && subject_->gives_up())) {
      unseen_.push_back(*accepted_one);
    }
  }

  /// Asks for the next tasks, one more than before. Pops that accept the same must answer them, and
  /// if it wrote fewer than there was room for then no_task.
  void look(unsigned accepted) {
    if (!subject_ || !subject_->can_peek() ||
        (!foreseen_.empty() && foreseen_accepted_ == accepted)) {
      return;
    }
    std::vector<TaskId> next(++looked_ % 5);
    Asker const accept(*this, accepted);
    auto const count = call("peek", [&] { return subject_->peek(next, accept); }, std::size_t{0});
    if (count > next.size()) {
      report(QueueRule::peeked, "peek answered more tasks than it was asked for");
      return;
    }
    bool const all_of_them = count < next.size();
    next.resize(count);
    foreseen_.assign(next.begin(), next.end());
    if (all_of_them) {
      foreseen_.push_back(no_task);
    }
    foreseen_accepted_ = accepted;
  }

  /// One thread: what came must have been foreseen, unless there were other operations since.
  void judge_peek(TaskId answer) {
    if (foreseen_.empty()) {
      return;
    }
    if (foreseen_.front() != answer) {
      auto const name = [this](TaskId task) {
        auto const number = number_of(task);
        return !task ? "no_task" : number ? describe(*number) : "an id that was not pushed";
      };
      report(QueueRule::peeked,
             "peek foresaw " + name(foreseen_.front()) + ", but pop answered " + name(answer));
    } else {
      foreseen_.pop_front();
    }
  }

  std::optional<std::size_t> judge(TaskId answer, End end, unsigned accepted) {
    auto const hook = std::string(end == End::pop ? "pop" : "steal") + " answered ";
    auto const number = number_of(answer);
    if (!number || !tasks_[*number].pushed.load(std::memory_order_relaxed)) {
      report(QueueRule::invented, hook + "an id that was not pushed");
      return {};
    }
    if (tasks_[*number].taken.exchange(true, std::memory_order_relaxed)) {
      report(QueueRule::twice, hook + describe(*number) + " again");
    } else if (!accepts(*number, accepted)) {
      report(QueueRule::refused, hook + describe(*number) + ", which was refused");
    } else if (tasks_[*number].written != *number) {
      report(QueueRule::missed,
             hook + describe(*number) + ", but what its pusher wrote before is not visible");
    } else if (end == End::pop && !threads_ && subject_->ordered()) {
      judge_order(*number, accepted);
    }
    if (!threads_) {
      if (end == End::pop && !spoiled()) {
        judge_peek(answer);
      } else {
        foreseen_.clear();
      }
    }
    return spoiled() ? std::nullopt : number;
  }

  /// Tasks are pushed in the order of their numbers.
  void judge_order(std::size_t answered, unsigned accepted) {
    for (std::size_t i = first_inside(); i < tasks_.size(); ++i) {
      auto const priority = tasks_[i].priority;
      if (is_inside(i) && accepts(i, accepted) &&
          (priority > tasks_[answered].priority ||
           (priority == tasks_[answered].priority && i < answered))) {
        report(QueueRule::priority,
               "pop answered " + describe(answered) + " before " + describe(i));
        return;
      }
    }
  }

  /// One thread: the first task that is still there, or later.
  std::size_t first_inside() noexcept {
    while (!threads_ && first_inside_ < tasks_.size() &&
           tasks_[first_inside_].taken.load(std::memory_order_relaxed)) {
      ++first_inside_;
    }
    return first_inside_;
  }

  static constexpr std::uint64_t first_id = (std::uint64_t{1} << 47U) + 64;

  std::string where_;
  std::uint64_t seed_;
  QueueFindings& findings_;
  std::unique_ptr<QueueSubject> subject_;
  std::deque<QueuedTask> tasks_; // tasks stay where they are
  std::vector<std::size_t> unseen_;
  std::deque<TaskId> foreseen_; // answers of the last peek; one thread
  unsigned foreseen_accepted_ = 0;
  std::size_t looked_ = 0;
  std::size_t first_inside_ = 0;
  bool threads_ = false;
  std::atomic<bool> spoiled_{false};
};

inline bool Asker::operator()(TaskId task) const {
  return driver_->answer(task, classes_);
}

} // namespace detail

} // namespace hetsched::testing
