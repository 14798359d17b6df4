// SPDX-License-Identifier: MIT
#pragma once
// One rank's part while the tasks of a collection are run, whatever runs them.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/collections/shared_tasks.hpp>
#include <hetsched/detail/collections/task_exchange.hpp>
#include <hetsched/detail/collections/task_node.hpp>
#include <hetsched/detail/collections/task_runs.hpp>
#include <hetsched/detail/collections/wave.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstdint>
#include <exception>
#include <optional>

namespace hetsched::detail {

/// What cannot be.
[[nodiscard]] inline std::optional<Error> mistake_in(CollectionOptions const& options) {
  if (options.shared_tasks == 0 || options.shared_tasks > BatchState::most_tasks ||
      options.inbox_tasks == 0) {
    return Error(ErrorCode::bad_config,
                 "TaskCollection",
                 text("shared_tasks is %zu and inbox_tasks %zu: must be 1 to %zu, and at least 1",
                      options.shared_tasks,
                      options.inbox_tasks,
                      BatchState::most_tasks));
  }
  return std::nullopt;
}

/// For one thread at a time.
class RankRun {
public:
  /// Collective.
  RankRun(RankContext& context, RankQueue& queue, TaskNode& node, Waves& waves)
      : context_(context), queue_(queue), waves_(waves), exchange_(context, queue),
        runs_(context, queue, node) {}

  /// Collective. No operation is under way on any rank.
  void free() { exchange_.free(); }

  /// `adds`: tasks may come for other ranks.
  void begin(bool adds) {
    context_.ended = running_ = false;
    runs_.begin();
    context_.routines.start(supervise(adds));
  }

  /// All that can go on now does, once. Returns whether anything did.
  bool look() {
    bool happened = context_.rma.poll();
    happened = runs_.go_on() || happened;
    queue_.take_added();
    context_.looks.look();
    if (running_ && !context_.ended) {
      happened = runs_.admit() || happened;
    }
    return happened;
  }

  /// Nothing of it goes on any more.
  [[nodiscard]] bool is_over() const noexcept {
    return context_.routines.live() == 0 && context_.rma.is_idle();
  }

  /// It was over on all ranks. Others may change the arrays.
  void end() { runs_.end(); }

  /// What the first task here threw that threw anything, once; else null.
  [[nodiscard]] std::exception_ptr take_failure() noexcept { return runs_.take_failure(); }

  /// Of all ranks, at the end.
  [[nodiscard]] WaveCounts const& all() const noexcept { return all_; }

private:
  Step<> supervise(bool adds) {
    waves_.begin();
    co_await waves_.wave(counts(), false); // nobody touches an array before all are here
    running_ = true;
    exchange_.start(adds);
    for (Waves::Verdict verdict; !verdict.over;) {
      while (!is_idle()) {
        co_await context_.looks.next();
      }
      verdict = co_await waves_.wave(counts(), true);
      all_ = verdict.all;
      ++context_.stats.waves;
    }
    context_.ended = true;
  }

  [[nodiscard]] WaveCounts counts() {
    queue_.take_added();
    return {.created = static_cast<std::int64_t>(context_.stats.added),
            .completed = static_cast<std::int64_t>(context_.stats.completed),
            .failed = runs_.failed(),
            .first_failed = runs_.failed() != 0 ? context_.rank() + 1 : 0};
  }

  [[nodiscard]] bool is_idle() {
    queue_.take_added();
    return (queue_.local().empty() && queue_.outgoing() == 0 && runs_.idle()) ||
           context_.rma.broken();
  }

  RankContext& context_;
  RankQueue& queue_;
  Waves& waves_;
  TaskExchange exchange_;
  TaskRuns runs_;
  bool running_ = false;
  WaveCounts all_;
};

} // namespace hetsched::detail
