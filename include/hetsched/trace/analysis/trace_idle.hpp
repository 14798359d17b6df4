// SPDX-License-Identifier: MIT
#pragma once
// Why workers were idle: each nanosecond of a traced run has one cause.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/trace/analysis/time_pieces.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// Why a worker executes nothing at a moment. The first that holds counts. A worker holds a task
/// that it has taken and not begun, from the moment that the task is ready; if it holds several,
/// the one that begins first counts.
enum class IdleCause : std::uint8_t {
  elsewhere,     // a thread of the program is the worker while it waits, and it does not wait
  memory,        // it holds a task for whose data no memory is reserved yet
  transfer,      // it holds a task whose data, or launch, it waits for
  scheduler,     // it asks for what becomes a task, or a ready task that it may run is untaken
  no_ready_task, // of the tasks that it may run none is ready, and one becomes ready later
  end_of_graph   // and none does
};

inline constexpr std::size_t idle_causes = 6;

[[nodiscard]] constexpr char const* to_string(IdleCause cause) noexcept {
  constexpr char const* names[] = {
      "program elsewhere", "memory", "transfer", "scheduler", "no ready task", "end of graph"};
  return names[static_cast<int>(cause)];
}

/// What a worker did between the run's begin and end (span_of): the sum of all is that time.
struct WorkerTimes {
  Duration busy;   // at least one task executes, and does not wait
  Duration wasted; // nothing but attempts executes
  std::array<Duration, idle_causes> idle = {};

  [[nodiscard]] Duration all_idle() const noexcept {
    Duration sum;
    for (auto const part : idle) {
      sum += part;
    }
    return sum;
  }
};

namespace detail {

/// A task's moments with those filled in that are not known, so that nothing is said of them: what
/// is not known to have been waited for took no time. `never` stays what did not happen.
struct KnownMoments {
  Instant ready, asked, taken, admitted;
  Instant begin; // or what became of a task that never began

  KnownMoments(Trace::Task const& task, Instant run_end) {
    auto const first = [](auto... moments) {
      Instant found = Trace::never;
      ((found = found == Trace::never ? moments : found), ...);
      return found;
    };
    auto const last = task.outcome == Trace::Outcome::unfinished ? run_end : Trace::never;
    begin = first(task.begin, task.end, last);
    taken = first(task.taken, task.begin);
    asked = first(task.asked, taken);
    ready = first(task.ready, taken);
    admitted = first(task.admitted, task.begin != Trace::never ? taken : begin);
  }
};

/// For the tasks that may run on a class: when some are ready and untaken, and when the last one
/// becomes ready.
struct ClassReady {
  std::vector<TimePiece> untaken;
  Instant last = Trace::never;
};

/// Calls piece(task, begin, end) with the times in which each task was ready and nobody had it:
/// from `ready` until it is taken, less its attempts; by task.
template <class Piece>
void for_each_untaken(Trace const& trace, Instant run_end, Piece&& piece) {
  std::vector<std::pair<std::uint32_t, TimePiece>> attempts;
  for (auto const& attempt : trace.attempts) {
    attempts.push_back({attempt.task, {attempt.begin, attempt.end}});
  }
  std::sort(attempts.begin(), attempts.end());
  std::size_t attempt = 0;
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    KnownMoments const known(trace.tasks[v], run_end);
    auto const until = known.taken != Trace::never ? known.taken : known.begin;
    auto from = known.ready;
    for (; attempt < attempts.size() && attempts[attempt].first <= v; ++attempt) {
      auto const [begin, end] = attempts[attempt].second;
      if (attempts[attempt].first == v && from != Trace::never) {
        if (from < std::min(begin, until)) {
          piece(v, from, std::min(begin, until));
        }
        from = std::max(from, end);
      }
    }
    if (from != Trace::never && from < until) {
      piece(v, from, until);
    }
  }
}

/// The rank of each worker: 0 in a trace of one runtime.
[[nodiscard]] inline std::vector<std::uint32_t> ranks_of_workers(Trace const& trace) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < trace.ranks.size(); ++r) {
    bool const alone = trace.ranks[r].workers == trace.workers.size();
    ranks.insert(ranks.end(), trace.ranks[r].workers, alone ? 0 : r);
  }
  ranks.resize(trace.workers.size(), 0);
  return ranks;
}

/// When the number of ready tasks of some classes changes.
struct ReadyChange {
  Instant at;
  std::int32_t by;
  ArchMask archs;
};

[[nodiscard]] inline std::array<ClassReady, max_archs>
class_ready(std::vector<ReadyChange> changes) {
  using Change = ReadyChange;
  std::array<ClassReady, max_archs> classes;
  std::sort(changes.begin(), changes.end(), [](Change const& a, Change const& b) {
    return std::tuple(a.at, -a.by) < std::tuple(b.at, -b.by); // no gap between neighbours
  });
  for (std::uint8_t c = 0; c < max_archs; ++c) {
    std::int64_t count = 0;
    for (auto const& change : changes) {
      if (!change.archs.has(Arch{c})) {
        continue;
      }
      if (count == 0) {
        classes[c].untaken.emplace_back(change.at, change.at);
      }
      count += change.by;
      if (count == 0) {
        classes[c].untaken.back().second = change.at;
      }
    }
  }
  return classes;
}

/// For each rank. Where there are several, tasks that no worker ran are no rank's.
[[nodiscard]] inline std::vector<std::array<ClassReady, max_archs>> class_ready(Trace const& trace,
                                                                                Instant run_end) {
  auto const ranks_of = ranks_of_workers(trace);
  auto const ranks = ranks_of.empty() ? std::size_t{1} : std::size_t{ranks_of.back()} + 1;
  auto const rank_of = [&](Trace::Task const& task) {
    return ranks == 1    ? std::size_t{0}
           : task.worker ? std::size_t{ranks_of[task.worker.index()]}
                         : ranks;
  };
  std::vector<std::vector<ReadyChange>> changes(ranks + 1);
  for_each_untaken(trace, run_end, [&](std::uint32_t v, Instant begin, Instant end) {
    auto const& task = trace.tasks[v];
    auto& own = changes[rank_of(task)];
    own.push_back({begin, 1, task.archs});
    own.push_back({end, -1, task.archs});
  });
  std::vector<std::array<ClassReady, max_archs>> classes;
  for (std::size_t r = 0; r <= ranks; ++r) {
    classes.push_back(class_ready(std::move(changes[r])));
  }
  for (auto const& task : trace.tasks) {
    auto const ready = KnownMoments(task, run_end).ready;
    for (std::uint8_t c = 0; c < max_archs; ++c) {
      if (task.archs.has(Arch{c})) {
        auto& last = classes[rank_of(task)][c].last;
        last = std::max(last, ready);
      }
    }
  }
  return classes;
}

/// The rows of each worker, tasks or others, by number: those of w from first[w] to first[w + 1].
struct RowsByWorker {
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> rows;

  template <class Row>
  RowsByWorker(Trace const& trace, std::vector<Row> const& all)
      : first(trace.workers.size() + 1, 0) {
    auto const is_known = [&](WorkerId worker) {
      return worker && worker.index() < trace.workers.size();
    };
    for (auto const& row : all) {
      if (is_known(row.worker)) {
        ++first[row.worker.index() + 1];
      }
    }
    for (std::size_t w = 0; w < trace.workers.size(); ++w) {
      first[w + 1] += first[w];
    }
    rows.resize(first.back());
    auto next = first;
    for (std::uint32_t k = 0; k < all.size(); ++k) {
      if (is_known(all[k].worker)) {
        rows[next[all[k].worker.index()]++] = k;
      }
    }
  }

  [[nodiscard]] std::span<std::uint32_t const> of(std::size_t worker) const noexcept {
    return std::span(rows).subspan(first[worker], first[worker + 1] - first[worker]);
  }
};

/// One worker's time.
class WorkerIdle {
public:
  WorkerIdle(Trace const& trace, TimePiece run) : trace_(trace), run_(run) {}

  /// Adds what a task of the worker did.
  void add(std::uint32_t v) {
    auto const& task = trace_.tasks[v];
    KnownMoments const known(task, run_.second);
    if (task.begin != Trace::never) {
      auto const end = task.end != Trace::never ? task.end : run_.second;
      busy_.emplace_back(std::max(task.begin, run_.first), std::min(end, run_.second));
    }
    if (known.taken != Trace::never) {
      asking_.emplace_back(known.asked, known.taken);
      auto const from = std::max(known.taken, known.ready);
      if (from < known.begin) {
        held_.push_back({from, known.admitted, known.begin, v});
      }
    }
  }

  void add_part(Instant begin, Instant end) { busy_.emplace_back(begin, end); }

  void add_attempt(Instant begin, Instant end) { all_.emplace_back(begin, end); }

  void add_wait(Instant begin, Instant end) { waiting_.emplace_back(begin, end); }

  void add_sync(Instant begin, Instant end) {
    syncs_.emplace_back(begin, end);
    of_program_ = true;
  }

  /// Calls emit(begin, end, cause) for each piece of idle time, as they follow on each other.
  template <class Emit>
  WorkerTimes attribute(ClassReady const& ready, Emit&& emit) {
    WorkerTimes times;
    unite(busy_);
    unite(waiting_);
    busy_ = without(busy_, waiting_);
    all_.insert(all_.end(), busy_.begin(), busy_.end());
    unite(all_);
    unite(asking_);
    unite(syncs_);
    std::sort(held_.begin(), held_.end(), [](Held const& a, Held const& b) {
      return std::tuple(a.from, a.task) < std::tuple(b.from, b.task);
    });
    times.busy = length_of(busy_);
    times.wasted = length_of(all_) - times.busy;
    PieceCursor untaken(ready.untaken);
    PieceCursor asking(asking_);
    PieceCursor sync(syncs_);
    auto now = run_.first;
    for (std::size_t k = 0; k <= all_.size(); ++k) {
      auto const until = k < all_.size() ? all_[k].first : run_.second;
      auto begin = now;
      auto last = IdleCause::end_of_graph;
      while (now < until) {
        auto const [cause, end] = next(now, until, sync, asking, untaken, ready.last);
        times.idle[static_cast<std::size_t>(cause)] += end - now;
        if (begin != now && cause != last) {
          emit(begin, now, last);
          begin = now;
        }
        last = cause;
        now = end;
      }
      if (begin < now) {
        emit(begin, now, last);
      }
      now = k < all_.size() ? all_[k].second : now;
    }
    return times;
  }

private:
  struct Held {
    Instant from, admitted, begin;
    std::uint32_t task;
  };

  struct BeginsLater {
    bool operator()(Held const& a, Held const& b) const noexcept {
      return std::tuple(a.begin, a.task) > std::tuple(b.begin, b.task);
    }
  };

  [[nodiscard]] std::pair<IdleCause, Instant> next(Instant now,
                                                   Instant until,
                                                   PieceCursor& sync,
                                                   PieceCursor& asking,
                                                   PieceCursor& untaken,
                                                   Instant last_ready) {
    if (of_program_) {
      bool waits = false;
      std::tie(waits, until) = sync.at(now, until);
      if (!waits) {
        return {IdleCause::elsewhere, until};
      }
    }
    for (; next_held_ < held_.size() && held_[next_held_].from <= now; ++next_held_) {
      holds_.push(held_[next_held_]);
    }
    if (next_held_ < held_.size()) {
      until = std::min(until, held_[next_held_].from);
    }
    while (!holds_.empty() && holds_.top().begin <= now) {
      holds_.pop();
    }
    if (!holds_.empty()) {
      auto const& task = holds_.top();
      until = std::min(until, task.begin);
      return now < task.admitted ? std::pair(IdleCause::memory, std::min(until, task.admitted))
                                 : std::pair(IdleCause::transfer, until);
    }
    bool by_scheduler = false;
    std::tie(by_scheduler, until) = asking.at(now, until);
    if (!by_scheduler) {
      std::tie(by_scheduler, until) = untaken.at(now, until);
    }
    if (by_scheduler) {
      return {IdleCause::scheduler, until};
    }
    return now < last_ready ? std::pair(IdleCause::no_ready_task, std::min(until, last_ready))
                            : std::pair(IdleCause::end_of_graph, until);
  }

  Trace const& trace_;
  TimePiece run_;
  std::vector<TimePiece> busy_;
  std::vector<TimePiece> waiting_;
  std::vector<TimePiece> all_; // with attempts
  std::vector<TimePiece> asking_;
  std::vector<TimePiece> syncs_;
  bool of_program_ = false; // the worker has no thread of its own, and `syncs_` are known
  std::vector<Held> held_;  // by `from`
  std::size_t next_held_ = 0;
  std::priority_queue<Held, std::vector<Held>, BeginsLater> holds_;
};

} // namespace detail

/// What each worker did, and when and why it was idle: calls emit(worker, begin, end, cause) for
/// the pieces of idle time, worker by worker, by time; neighbours differ in cause. Within
/// span_of(trace); several executions at once on a worker (devices) count once, and those whose
/// bodies wait while nothing else executes count as idle. Moments that a trace does not have count
/// as not waited for. Tasks of other ranks are none that a worker may run. Cost: O(n log n) for n
/// tasks, their parts, attempts and waits, and the pieces.
template <class Emit>
std::vector<WorkerTimes> attribute_idle_time(Trace const& trace, Emit&& emit) {
  auto const run = span_of(trace);
  auto const ready = detail::class_ready(trace, run.second);
  auto const ranks = detail::ranks_of_workers(trace);
  detail::RowsByWorker const tasks(trace, trace.tasks);
  detail::RowsByWorker const parts(trace, trace.parts);
  detail::RowsByWorker const attempts(trace, trace.attempts);
  detail::RowsByWorker const waits(trace, trace.waits);
  detail::RowsByWorker const syncs(trace, trace.syncs);
  std::vector<WorkerTimes> all;
  for (std::size_t w = 0; w < trace.workers.size(); ++w) {
    detail::WorkerIdle worker(trace, run);
    WorkerId const id{static_cast<std::int32_t>(w)};
    for (auto const v : tasks.of(w)) {
      worker.add(v);
    }
    for (auto const k : parts.of(w)) {
      worker.add_part(trace.parts[k].begin, trace.parts[k].end);
    }
    for (auto const k : attempts.of(w)) {
      worker.add_attempt(trace.attempts[k].begin, trace.attempts[k].end);
    }
    for (auto const k : waits.of(w)) {
      worker.add_wait(trace.waits[k].begin, trace.waits[k].end);
    }
    for (auto const k : syncs.of(w)) {
      worker.add_sync(trace.syncs[k].begin, trace.syncs[k].end);
    }
    auto const arch = trace.workers[w].arch.index;
    all.push_back(worker.attribute(
        ready[ranks[w]].at(arch),
        [&](Instant begin, Instant end, IdleCause cause) { emit(id, begin, end, cause); }));
  }
  return all;
}

/// The sums alone.
[[nodiscard]] inline std::vector<WorkerTimes> attribute_idle_time(Trace const& trace) {
  return attribute_idle_time(trace, [](WorkerId, Instant, Instant, IdleCause) {});
}

} // namespace hetsched
