// SPDX-License-Identifier: MIT
#pragma once
// One rank's part in a collection of tasks.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/collection_context.hpp>
#include <hetsched/detail/collections/collection_queue.hpp>
#include <hetsched/detail/collections/rank_run.hpp>
#include <hetsched/detail/collections/thread_task_node.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

/// The part of TaskCollection that is no template.
///
/// Threading: the program's thread calls `process`; bodies call `add`. Workers of the runtime do
/// the rest while they look at it, one at a time, under the lock.
class CollectionState {
public:
  CollectionState(ArraySpace& space,
                  BaseRuntime<ThreadEngine>& runtime,
                  void* typed_runtime,
                  std::span<CollectionType const* const> types,
                  StealRule const& rule,
                  CollectionOptions const& options)
      : context_{space, runtime, typed_runtime, types, rule, options}, core_(runtime.engine()),
        queue_(checked(context_)), node_(context_, TaskAdder(*this)),
        run_(context_, queue_, node_, space.waves), look_{*this} {}

  CollectionState(CollectionState const&) = delete;
  CollectionState& operator=(CollectionState const&) = delete;

  /// As that of ArraySpace.
  ~CollectionState() {
    if (rma().broken() || std::uncaught_exceptions() != exceptions_) {
      return;
    }
    try {
      context_.space.sync();
      run_.free();
    } catch (std::exception const&) { // a rank is gone
    }
  }

  [[nodiscard]] std::size_t task_bytes() const noexcept { return context_.task_bytes; }

  [[nodiscard]] ArraySpace& space() const noexcept { return context_.space; }

  /// See there.
  [[nodiscard]] CollectionQueue& queue() noexcept { return queue_; }

  /// `distribution`: what places the tasks that were added for any rank; null: there are none.
  void process(void (*distribution)(std::span<TaskToPlace>, int)) {
    context_.space.check_free("process");
    if (distribution != nullptr) {
      queue_.place(distribution);
    }
    context_.space.set_busy(true);
    over_.store(false, std::memory_order_relaxed);
    {
      std::lock_guard const guard(mutex_);
      run_.begin(true);
    }
    auto const over = [this] { return over_.load(std::memory_order_acquire); };
    ExternalTasks::begin_to_look(core_, look_);
    ExternalTasks::await(core_, Condition::that(over));
    ExternalTasks::end_looking(core_);
    run_.end();
    context_.space.looks.hurry(false);
    context_.space.set_busy(false);
    tell_failures();
  }

  [[nodiscard]] CollectionStats stats() const {
    std::lock_guard const guard(mutex_);
    return context_.stats;
  }

private:
  static constexpr std::int64_t look_every_ns = 10'000; // between looks of a busy worker

  struct Look : OutsideLook {
    CollectionState& collection;

    explicit Look(CollectionState& its_collection)
        : OutsideLook{[](OutsideLook& self) { return static_cast<Look&>(self).collection.look(); },
                      look_every_ns},
          collection(its_collection) {}
  };

  [[nodiscard]] RmaOperations& rma() const noexcept { return context_.space.rma; }

  /// What is wrong with the collection on this rank.
  [[nodiscard]] static std::optional<Error> mistake(CollectionContext const& context) {
    if (auto error = mistake_in(context.options)) {
      return error;
    }
    for (auto const* type : context.types) {
      bool const runs = ((type->archs & PackedHead::cpu) != 0 && context.workers.cpu != 0) ||
                        ((type->archs & PackedHead::gpu) != 0 && context.workers.gpu != 0);
      if (!runs) {
        return Error(ErrorCode::cannot_run,
                     text("task '%s'", std::string(type->name).c_str()),
                     text("no worker of rank %d can run it, and tasks of a collection may go to "
                          "any rank",
                          context.space.rank()));
      }
    }
    return std::nullopt;
  }

  /// All ranks together find out whether each can take part. Throws on all if one cannot.
  static CollectionContext& checked(CollectionContext& context) {
    auto const error = mistake(context);
    WaveCounts own;
    if (error) {
      own.failed = 1;
      own.first_failed = context.space.rank() + 1;
    }
    auto const all = context.space.sum(own);
    if (error) {
      throw Error(*error);
    }
    if (all.failed != 0) {
      throw Error(ErrorCode::cannot_run,
                  text("rank %d", static_cast<int>(all.first_failed - 1)),
                  "refuses the collection");
    }
    return context;
  }

  // ---- looking: by any worker, one at a time ----

  bool look() {
    bool happened = false;
    {
      std::unique_lock const guard(mutex_, std::try_to_lock);
      if (!guard.owns_lock() || over_.load(std::memory_order_relaxed)) {
        return false;
      }
      ExternalTasks::Outside const outside;
      happened = run_.look();
      give_up_if_broken();
      if (!run_.is_over()) {
        return happened;
      }
      over_.store(true, std::memory_order_release);
    }
    ExternalTasks::wake_waiters(core_);
    return true;
  }

  /// When a rank is gone, or this one cannot go on, all steps end.
  void give_up_if_broken() {
    if (!rma().broken() && context_.routines.failure()) {
      auto const line = text("hetsched: rank %d: cannot go on", context_.space.rank());
      aborts_ = true;
      rma().break_off(
          Error(ErrorCode::rank_failed, text("rank %d", context_.space.rank()), "cannot go on"));
      context_.space.port().abort(line);
    }
    if (rma().broken()) {
      context_.ended = true;
      context_.space.looks.hurry(true);
    }
  }

  /// Nothing goes on any more. Throws why, if the tasks did not all end well.
  void tell_failures() {
    auto const failure = context_.routines.take_failure();
    if (aborts_ && failure) {
      std::rethrow_exception(failure);
    }
    rma().check_unbroken();
    if (auto const own = run_.take_failure()) {
      std::rethrow_exception(own);
    }
    if (auto const& all = run_.all(); all.failed != 0) {
      throw Error(ErrorCode::cancelled,
                  text("rank %d", static_cast<int>(all.first_failed - 1)),
                  text("a task failed there (%lld of the collection's on all ranks)",
                       static_cast<long long>(all.failed)));
    }
  }

  int exceptions_ = std::uncaught_exceptions();
  CollectionContext context_; // and all below under the lock, which is that of the space, too
  ThreadCore& core_;
  CollectionQueue queue_;
  ThreadTaskNode node_;
  RankRun run_;
  Look look_;
  bool aborts_ = false;
  mutable Mutex mutex_;
  Atomic<bool> over_{false}; // release and acquire: who sees it sees what was done
};

} // namespace hetsched::detail
