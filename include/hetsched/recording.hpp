// SPDX-License-Identifier: MIT
#pragma once
// Recording of runs, for a program that has this header in one of its files: Config::trace,
// HETSCHED_TRACE and Runtime::trace work there (docs/traces.md).

#include <hetsched/core/version.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/detail/files/path_with_part.hpp>
#include <hetsched/detail/recording/described_run.hpp>
#include <hetsched/detail/recording/event_file.hpp>
#include <hetsched/detail/recording/recorded_events.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/recording/trace_builder.hpp>
#include <hetsched/trace/formats/write_trace.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace hetsched::detail {

/// The Recorder that there is. Each worker writes to a lane of its own, without locks.
class EventRecorder : public Recorder {
public:
  EventRecorder(RecorderSetup const& setup, std::size_t workers)
      : path_(own_path(setup.path)), file_(path_),
        events_(workers + 1, setup.memory, path_.empty() ? nullptr : &file_), outside_(workers) {}

  void begin(RunDescription const& run) override {
    if (!path_.empty()) {
      Trace nothing;
      nothing.simulated = run.simulated;
      describe_run(nothing, run);
      file_.begin(events_.lanes(), RecordedEvents::chunk_bytes, trace_text(nothing));
    }
  }

  void spawned(WorkerId by, TaskRecord const& task, Instant at) override {
    write_by(by, [&](std::size_t lane) { events_.spawned(lane, task, at); });
  }

  void ready(WorkerId by, TaskId task, Instant at) override {
    write_by(by, [&](std::size_t lane) {
      events_.add(lane, EventKind::ready, 0, by, task.value, at.ns);
    });
  }

  void divided(WorkerId by,
               bool joined,
               TaskRecord const* parent,
               DataRecord const& whole,
               std::span<DataRecord* const> parts,
               Instant at) override {
    write_by(by,
             [&](std::size_t lane) { events_.divided(lane, joined, parent, at, whole, parts); });
  }

  void taken(WorkerId by, WorkerId on, TaskId task, Taking const& how) override {
    write_by(by, [&](std::size_t lane) {
      events_.add(
          lane, EventKind::taken, how.stolen ? 1 : 0, on, task.value, how.asked.ns, how.at.ns);
    });
  }

  void admitted(TaskId task, Instant at) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane, EventKind::admitted, 0, no_worker, task.value, at.ns);
    });
  }

  void ran(WorkerId by,
           WorkerId on,
           TaskId task,
           Taking const& taking,
           Instant begin,
           Instant end,
           TaskOutcome how) override {
    write_by(by, [&](std::size_t lane) {
      add_execution(lane, EventKind::ran, how, on, task, taking, begin, end);
    });
  }

  void left(WorkerId on, TaskId task, Taking const& taking, Instant begin, Instant end) override {
    add_execution(on.index(), EventKind::left, TaskOutcome::done, on, task, taking, begin, end);
  }

  void aborted(WorkerId by, WorkerId on, TaskId task, Instant begin, Instant end) override {
    write_by(by, [&](std::size_t lane) {
      events_.add(lane, EventKind::aborted, 0, on, task.value, begin.ns, end.ns);
    });
  }

  void waited(WorkerId on, TaskId task, Instant begin, Instant end) override {
    events_.add(on.index(), EventKind::waited, 0, on, task.value, begin.ns, end.ns);
  }

  void seated(bool sits, Instant at) override {
    events_.add(0, EventKind::seated, sits ? 1 : 0, WorkerId{0}, at.ns);
  }

  void moved(Replicas const& datum, NodeId from, NodeId to, Instant begin, Instant end) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane,
                  EventKind::moved,
                  0,
                  no_worker,
                  key_of(datum),
                  begin.ns,
                  end.ns,
                  std::int64_t{from.value} << 32 | to.value,
                  static_cast<std::int64_t>(datum.bytes()));
    });
  }

  void evicted(Replicas const& datum, NodeId at, Instant when, bool dirty) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane,
                  EventKind::evicted,
                  0,
                  no_worker,
                  key_of(datum),
                  when.ns,
                  std::int64_t{at.value},
                  std::int64_t{dirty},
                  static_cast<std::int64_t>(datum.bytes()));
    });
  }

  void of_rank(std::uint32_t rank, std::uint32_t ranks, Instant at) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane, EventKind::of_rank, 0, no_worker, at.ns, std::int64_t{rank} << 32 | ranks);
    });
  }

  void message(TaskRecord const& task, MessageRoute const& route, Instant at) override {
    auto const& datum = *task.accesses()[0].queue->data;
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane,
                  EventKind::message,
                  0,
                  no_worker,
                  task.id().value,
                  at.ns,
                  reinterpret_cast<std::uintptr_t>(&datum),
                  datum.bytes(),
                  route.number,
                  std::uint64_t{route.from} << 32U | route.to);
    });
  }

  void passed(TaskId task, Instant asked, Instant begin, Instant end) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane, EventKind::passed, 0, no_worker, task.value, asked.ns, begin.ns, end.ns);
    });
  }

  void compared_clocks(Instant at, Duration offset, Duration error) override {
    write_by(no_worker, [&](std::size_t lane) {
      events_.add(lane, EventKind::clocks, 0, no_worker, at.ns, offset.ns, error.ns);
    });
  }

  void forget(Instant before) override {
    since_.store(before.ns, std::memory_order_relaxed);
    file_.forget(before.ns);
  }

  [[nodiscard]] Trace trace(RunDescription const& run) const override {
    auto trace = TraceBuilder(events_, since_.load(std::memory_order_relaxed)).build(run.simulated);
    describe_run(trace, run);
    return trace;
  }

  [[nodiscard]] bool saves() const noexcept override { return !path_.empty(); }

  void save(RunDescription const& run) const noexcept override {
    try {
      write_trace(trace(run), path_);
      file_.remove();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }

private:
  /// "run.json", and for later runtimes "run.2.json" and so on. Throws Error(bad_config).
  static std::string own_path(std::string const& path) {
    static Mutex mutex;
    static std::map<std::string, int> used;
    if (path.empty()) {
      return path;
    }
    std::lock_guard const guard(mutex);
    auto const number = ++used[path];
    auto const own_path = number == 1 ? path : path_with_part(path, std::to_string(number));
    NewFile const trial(own_path, "HETSCHED_TRACE"); // whether it can be written
    return own_path;
  }

  static std::uint64_t key_of(Replicas const& datum) noexcept {
    return reinterpret_cast<std::uintptr_t>(datum.contribution ? &datum : datum.identity);
  }

  void add_execution(std::size_t lane,
                     EventKind kind,
                     TaskOutcome how,
                     WorkerId on,
                     TaskId task,
                     Taking const& taking,
                     Instant begin,
                     Instant end) {
    auto const detail = static_cast<std::uint8_t>(static_cast<unsigned>(how) |
                                                  (taking.stolen ? RecordedEvents::stole : 0U));
    auto const add = [&](auto... more) {
      events_.add(lane, kind, detail, on, task.value, begin.ns, end.ns, more...);
    };
    if (taking.at.ns == 0) {
      add();
    } else if (taking.at == begin) {
      add(taking.asked.ns);
    } else {
      add(taking.asked.ns, taking.at.ns);
    }
  }

  template <class F>
  void write_by(WorkerId by, F const& write) {
    if (by) {
      write(by.index());
      return;
    }
    std::lock_guard const guard(lock_);
    write(outside_);
  }

  std::string const path_; // empty: none
  EventFile file_;
  RecordedEvents events_;
  std::size_t const outside_; // lane of all threads that are no worker's
  SpinLock lock_;             // of that lane
  Atomic<std::int64_t> since_{0};
};

inline bool const recording_is_there = [] {
  recorder_factory = [](RecorderSetup const& setup, std::size_t workers) -> Recorder* {
    return new EventRecorder(setup, workers);
  };
  return true;
}();

} // namespace hetsched::detail
