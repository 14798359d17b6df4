// SPDX-License-Identifier: MIT
#pragma once
// A scheduler under test, and how its hooks are called.

#include <hetsched/detail/testing/ledger.hpp>
#include <hetsched/detail/testing/subject.hpp>
#include <hetsched/testing/conformance_report.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

enum class Threads : bool { one, many };

/// A scheduler, its context and its tasks, and what was found out about it. With Threads::many,
/// everything but `add` may be called from any thread.
class HookCaller {
public:
  HookCaller(Machine const& machine,
             std::string_view scenario,
             std::uint64_t seed,
             Threads threads,
             Make const& make,
             Findings& findings)
      : context_(machine.archs, seed), where_(std::string(scenario) + ", " + machine.name),
        seed_(seed), threads_(threads), findings_(findings), subject_(make(context_.workers())) {}

  [[nodiscard]] PriorityScope priority_scope() const noexcept {
    return subject_->rules().priority_scope;
  }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return context_.workers(); }

  /// After such a violation further answers mean nothing: the scenario ends.
  [[nodiscard]] bool spoiled() const noexcept { return spoiled_.load(); }

  /// Every answer so far, as numbers; one thread only.
  [[nodiscard]] std::vector<std::uint64_t> const& trace() const noexcept { return trace_; }

  TaskId add(ScriptedTask task) { return tasks_.add(std::move(task)); }

  [[nodiscard]] Entry& entry(TaskId task) { return tasks_[task]; }

  /// The first task that was pushed and has not come out.
  [[nodiscard]] TaskId first_pending() const { return tasks_.first_pending(); }

  void report(Rule rule, WorkerId worker, std::string what) {
    findings_.add(rule, where_, seed_, worker, std::move(what));
  }

  /// Of a task or a worker, for people.
  template <class Id>
  [[nodiscard]] std::string describe(Id id) const {
    return tasks_.describe(id);
  }

protected:
  /// Runs a hook as the engine does; an exception gives `otherwise`.
  template <class F, class R>
  R call(char const* name, F&& hook, R otherwise) {
    try {
      std::unique_lock<std::mutex> guard(mutex_, std::defer_lock);
      if (subject_->rules().threading == Threading::serialized) {
        guard.lock();
      }
      return hook();
    } catch (...) {
      report(Rule::threw, no_worker, what_threw(name));
    }
    spoiled_.store(true);
    return otherwise;
  }

  /// Relaxed unless it matters: the kit is to order no memory that the scheduler leaves unordered.
  [[nodiscard]] std::uint64_t stamp() noexcept {
    return 1 + (priority_scope() == PriorityScope::none
                    ? clock_.fetch_add(1, std::memory_order_relaxed)
                    : clock_.fetch_add(1, std::memory_order_seq_cst));
  }

  void note(std::uint64_t who, std::uint64_t what) {
    if (threads_ == Threads::one) {
      trace_.push_back(who);
      trace_.push_back(what);
    }
  }

  ScriptedContext context_;
  std::string where_;
  std::uint64_t seed_;
  Threads threads_;
  Findings& findings_;
  std::unique_ptr<Subject> subject_;
  Ledger tasks_{context_};
  std::mutex mutex_; // the engine's lock around the hooks of a serialized scheduler
  std::atomic<bool> spoiled_{false};
  std::atomic<std::uint64_t> clock_{0};
  std::vector<std::uint64_t> trace_;
};

} // namespace hetsched::testing::detail
