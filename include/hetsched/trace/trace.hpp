// SPDX-License-Identifier: MIT
#pragma once
// What happened in a run, as plain data: what engines record, files keep and reports show.

#include <hetsched/core/access.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/trace/task_outcome.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// A run on threads or in virtual time. All times count from the same moment, that the runtime
/// began or that recording did. Tasks go by their numbers, places in `tasks`, in the order of their
/// spawns; so do data. Thread-safe as any plain data.
struct Trace {
  static constexpr std::uint32_t none = 0xffffffff; // no task, no datum
  static constexpr Instant never{-1};               // it did not come

  struct Worker {
    std::string name; // unique, such as "core 3" or "GPU 0"
    Arch arch;
    NodeId node;
    int cores = 1; // that a body has
  };

  struct Node {
    std::string name;
    std::uint64_t bytes = 0; // what it holds; 0: without limit
  };

  /// A task type. `expected`: what it takes on each class of worker, by Arch::index, if that is
  /// known from elsewhere than this run: a platform.
  struct Type {
    std::string name;
    std::array<std::optional<Duration>, max_archs> expected = {};
  };

  struct Datum {
    std::uint64_t bytes = 0;
  };

  struct Access {
    std::uint32_t datum = none;
    AccessMode mode = AccessMode::read;
  };

  using Outcome = TaskOutcome;

  /// For a task that is done: spawned <= ready <= asked <=
  /// taken <= admitted <= begin <= end, but that a device may take it before it is ready (early
  /// activation), and then begins it later than that.
  struct Task {
    std::uint32_t type = 0;
    std::uint32_t label = 0; // in `labels`; 0: none
    std::int32_t priority = 0;
    std::uint32_t parent = none; // task whose body spawned it
    ArchMask archs{0xff};        // classes that may run it
    Outcome outcome = Outcome::unfinished;
    WorkerId worker;          // that ran it
    Instant spawned = never;  //
    Instant ready = never;    // nothing that it depends on is left
    Instant asked = never;    // the worker had ended what it did before and began to look for work
    Instant taken = never;    // the scheduler gave it to the worker
    Instant admitted = never; // memory for all its data is reserved where it runs
    Instant begin = never;    // of the body, or of the kernels; its data are there
    Instant end = never;      //
    std::size_t accesses = 0; // its first in `accesses`; they end where the next task's begin
  };

  /// An execution that was stopped or overtaken: the task ran elsewhere, or again.
  struct Attempt {
    std::uint32_t task = none;
    WorkerId worker;
    Instant begin;
    Instant end;
  };

  /// An execution of a coroutine's body up to a wait in which it left its worker. The task's
  /// moments from `ready` on are those of what came behind its last wait.
  struct Part {
    std::uint32_t task = none;
    WorkerId worker;
    Instant begin;
    Instant end;
  };

  /// A body waits for other tasks, and its worker executes nothing else meanwhile.
  struct Wait {
    std::uint32_t task = none; // whose body it is
    WorkerId worker;
    Instant begin;
    Instant end;
  };

  /// A thread of the program waits for tasks, and is this worker meanwhile. Outside of its syncs a
  /// worker that has some is nobody: the program is elsewhere. Some may have no length.
  struct Sync {
    WorkerId worker;
    Instant begin;
    Instant end;
  };

  /// A datum moves from node to node.
  struct Transfer {
    std::uint32_t datum = none;
    std::uint64_t bytes = 0;
    NodeId from;
    NodeId to;
    Instant begin;
    Instant end;
  };

  /// A datum leaves a node's memory to make room; `dirty`: it went home first.
  struct Eviction {
    std::uint32_t datum = none;
    NodeId node;
    Instant at;
    bool dirty = false;
  };

  /// A task was found by the scheduler's steal hook.
  struct Steal {
    std::uint32_t task = none;
    WorkerId thief;
    Instant at;
  };

  /// One end of a value's way between the ranks of a program (DistributedRuntime), or, in a trace
  /// of all ranks, both. The k-th that a rank sends by a number to another is the k-th that the
  /// other receives by it from there. In the order of the program.
  struct Message {
    std::uint32_t datum = none;
    std::uint64_t number = 0; // twice DistributedHandle::number, and 1 more for contributions
    std::uint32_t from = 0;   // ranks
    std::uint32_t to = 0;     //
    std::uint32_t tasks = 0;  // how many of the trace's tasks come before it
    Instant asked = never;    // the sender has the value; on the other end: its place is free
    Instant begin = never;    // it is given to the network; known to the sender
    Instant end = never;      // it is there; on the sender's end: may be overwritten
  };

  /// The part of a rank in `workers` and `nodes`: so many, behind those of the ranks before it.
  struct Rank {
    std::uint32_t workers = 0;
    std::uint32_t nodes = 0;
  };

  /// What rank 0's trace has as time when this one has `at`: `at + offset`, to `error`.
  struct Clock {
    Instant at;
    Duration offset;
    Duration error;
  };

  /// u -> v: v waits for u to end.
  struct Edge {
    std::uint32_t from = none;
    std::uint32_t to = none;
  };

  bool simulated = false;
  std::string scheduler; // as who recorded calls it; may be empty
  /// What else is known of the run, such as {"platform", "mirage"}; keys are unique.
  std::vector<std::pair<std::string, std::string>> about;
  /// Lower bounds on the makespan of what ran, such as {"area", ...}; keys are unique.
  std::vector<std::pair<std::string, Duration>> bounds;
  std::vector<Worker> workers;
  std::vector<Node> nodes; // 0 is host memory
  std::vector<Type> types;
  std::vector<std::string> labels{std::string()};
  std::vector<Datum> data;
  std::vector<Task> tasks;
  std::vector<Access> accesses; // of all tasks, in their order
  std::vector<Edge> edges;      // by `to`, then `from`
  std::vector<Attempt> attempts;
  std::vector<Part> parts;         // by begin
  std::vector<Wait> waits;         // by begin
  std::vector<Sync> syncs;         // by begin
  std::vector<Transfer> transfers; // by begin
  std::vector<Eviction> evictions; // by time
  std::vector<Steal> steals;       // by time
  std::vector<Message> messages;   // in a trace of all ranks: by begin
  /// A row for each rank if there are several. In the trace of one rank all others have none.
  std::vector<Rank> ranks;
  std::vector<Clock> clocks; // by time; of one rank
  /// Events that were not kept for want of memory: Config::trace_memory.
  std::uint64_t dropped = 0;

  [[nodiscard]] std::span<Access const> accesses_of(std::size_t task) const noexcept {
    auto const first = tasks[task].accesses;
    auto const last = task + 1 < tasks.size() ? tasks[task + 1].accesses : accesses.size();
    return std::span(accesses).subspan(first, last - first);
  }
};

/// From the first task's ready moment to the last end of a task, part or attempt: what makespan
/// means here. Both 0 if nothing ran. O(tasks).
[[nodiscard]] inline std::pair<Instant, Instant> span_of(Trace const& trace) {
  std::pair<Instant, Instant> span{Trace::never, {}};
  auto const widen = [&](Instant begin, Instant end) {
    span.first = span.first == Trace::never ? begin : std::min(span.first, begin);
    span.second = std::max(span.second, end);
  };
  for (auto const& task : trace.tasks) {
    if (task.end != Trace::never) {
      auto const begin = task.begin != Trace::never ? task.begin : task.end; // never: cancelled
      widen(task.ready != Trace::never ? std::min(task.ready, begin) : begin, task.end);
    }
  }
  for (auto const& attempt : trace.attempts) {
    widen(attempt.begin, attempt.end);
  }
  for (auto const& part : trace.parts) {
    widen(part.begin, part.end);
  }
  span.first = std::max(span.first, Instant{});
  return span;
}

/// How long each task executed: its last part and those before. 0 of one that did not end.
/// O(tasks + parts).
[[nodiscard]] inline std::vector<Duration> execution_times(Trace const& trace) {
  std::vector<Duration> times(trace.tasks.size());
  for (auto const& part : trace.parts) {
    times[part.task] += part.end - part.begin;
  }
  for (std::size_t v = 0; v < times.size(); ++v) {
    auto const& task = trace.tasks[v];
    bool const ended = task.begin != Trace::never && task.end != Trace::never;
    times[v] = ended ? times[v] + (task.end - task.begin) : Duration{};
  }
  return times;
}

} // namespace hetsched
