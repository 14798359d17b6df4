// SPDX-License-Identifier: MIT
#pragma once
// Why a traced run took as long as it did, in one sentence.

#include <hetsched/core/explanation.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// What a run lost most of its time to.
enum class Slowness : std::uint8_t {
  nothing,     // workers execute nearly all the time
  small_tasks, // what a task costs is more than what it does
  program,     // tasks are not spawned in time
  chain,       // tasks that depend on each other take nearly all of the run
  transfers,   // workers wait for data, or for memory to put them in
  imbalance,   // some workers have nothing left while others work
  few_tasks,   // no task is ready, and no single chain is the reason
  scheduler    // ready tasks wait while workers that may run them are idle
};

[[nodiscard]] constexpr char const* to_string(Slowness what) noexcept {
  constexpr char const* names[] = {"nothing to gain",
                                   "tasks too small",
                                   "spawn-bound",
                                   "chain-bound",
                                   "transfers",
                                   "imbalance",
                                   "no ready tasks",
                                   "scheduler"};
  return names[static_cast<int>(what)];
}

struct Verdict {
  Slowness why = Slowness::nothing;
  double share = 0; // what the sentence names first: of the workers' time, or of the makespan
  std::string text; // for people; empty if nothing ran
};

namespace detail {

/// Tasks that depend on each other, first to last, with the longest sum of executions. O(tasks +
/// edges).
[[nodiscard]] inline std::pair<Duration, std::vector<std::uint32_t>>
longest_chain(Trace const& trace) {
  auto const lengths = execution_times(trace);
  std::vector<Duration> until(trace.tasks.size());
  std::vector<std::uint32_t> before(trace.tasks.size(), Trace::none);
  std::uint32_t last = Trace::none;
  auto edge = trace.edges.begin();
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    for (; edge != trace.edges.end() && edge->to == v; ++edge) {
      if (before[v] == Trace::none || until[edge->from] > until[before[v]]) {
        before[v] = edge->from;
      }
    }
    until[v] = lengths[v] + (before[v] != Trace::none ? until[before[v]] : Duration{});
    last = last == Trace::none || until[v] > until[last] ? v : last;
  }
  if (last == Trace::none) {
    return {};
  }
  std::vector<std::uint32_t> chain;
  for (auto v = last; v != Trace::none; v = before[v]) {
    chain.push_back(v);
  }
  std::reverse(chain.begin(), chain.end());
  return {until[last], std::move(chain)};
}

/// Judges one run.
class Judge {
public:
  Judge(Trace const& trace, std::span<WorkerTimes const> times, std::span<PathStep const> path)
      : trace_(trace), path_(path), span_(span_of(trace)), times_(execution_times(trace)) {
    ArchMask useful{0};
    for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
      auto const& task = trace.tasks[v];
      useful = useful | task.archs;
      if (task.begin != Trace::never && task.end != Trace::never) {
        ++ran_;
        executed_ += static_cast<double>(times_[v].ns);
      }
    }
    for (std::size_t w = 0; w < times.size(); ++w) {
      if (useful.has(trace.workers[w].arch)) {
        add(times[w]);
      }
    }
  }

  [[nodiscard]] Verdict verdict() const {
    auto const makespan = static_cast<double>((span_.second - span_.first).ns);
    if (ran_ == 0 || all_ <= 0 || makespan <= 0) {
      return {};
    }
    auto const busy = busy_ / all_;
    if (busy >= 0.9) {
      return {Slowness::nothing,
              busy,
              text("Workers execute tasks for %.0f %% of their time: another schedule of these "
                   "tasks has little to gain.",
                   100 * busy)};
    }
    auto const each = makespan / static_cast<double>(ran_); // from task to task
    auto const mean = executed_ / static_cast<double>(ran_);
    if (each < 20e3 && mean < each / 2) {
      return {Slowness::small_tasks,
              busy,
              text("Workers execute tasks for %.0f %% of their time, because tasks are too small: "
                   "%zu of %s on average, one in %s. Larger tasks would cost less.",
                   100 * busy,
                   ran_,
                   to_text(rounded(mean)).c_str(),
                   to_text(rounded(each)).c_str())};
    }
    auto const by_program = program_on_path() / makespan;
    if (by_program >= 0.4) {
      return {Slowness::program,
              by_program,
              text("For %.0f %% of the run, the tasks that the others waited for had not been "
                   "spawned yet: the program does something else, or spawns one after the other.",
                   100 * by_program)};
    }
    auto const [length, chain] = longest_chain(trace_);
    auto const of_chain = static_cast<double>(length.ns) / makespan;
    if (of_chain >= 0.8 && chain.size() >= 3) { // else it is one long task
      return {Slowness::chain,
              of_chain,
              text("A chain of %zu tasks that depend on each other takes %.0f %% of the run, so no "
                   "schedule is much shorter: %s.",
                   chain.size(),
                   100 * of_chain,
                   names_of(chain).c_str())};
    }
    return largest_loss();
  }

private:
  [[nodiscard]] static Duration rounded(double ns) { return {static_cast<std::int64_t>(ns + 0.5)}; }

  void add(WorkerTimes const& worker) {
    auto const ns = [](Duration time) { return static_cast<double>(time.ns); };
    all_ += ns(worker.busy + worker.wasted + worker.all_idle());
    busy_ += ns(worker.busy);
    for (std::size_t c = 0; c < idle_causes; ++c) {
      idle_[c] += ns(worker.idle[c]);
    }
  }

  [[nodiscard]] double lost_to(IdleCause cause) const {
    return idle_[static_cast<std::size_t>(cause)] / all_;
  }

  /// Time on the run's critical path before the program spawned a task.
  [[nodiscard]] double program_on_path() const {
    double sum = 0;
    auto before = span_.first;
    for (auto const& step : path_) {
      sum += step.waited == WaitedFor::program ? static_cast<double>((step.since - before).ns) : 0;
      before = trace_.tasks[step.task].end;
    }
    return sum;
  }

  /// The types on a chain by the time that they take there, at most four.
  [[nodiscard]] std::string names_of(std::vector<std::uint32_t> const& chain) const {
    std::map<std::uint32_t, std::pair<std::int64_t, std::size_t>> types;
    for (auto const v : chain) {
      auto& [time, count] = types[trace_.tasks[v].type];
      time += times_[v].ns;
      ++count;
    }
    std::vector<std::pair<std::pair<std::int64_t, std::size_t>, std::uint32_t>> sorted;
    for (auto const& [type, sums] : types) {
      sorted.emplace_back(sums, type);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::string names;
    for (std::size_t k = 0; k < std::min<std::size_t>(sorted.size(), 4); ++k) {
      auto const& [sums, type] = sorted[k];
      names += text("%s%zu x %s (%s)",
                    k == 0 ? "" : ", ",
                    sums.second,
                    trace_.types[type].name.c_str(),
                    to_text(Duration{sums.first}).c_str());
    }
    return names;
  }

  [[nodiscard]] Verdict largest_loss() const {
    auto const moving = lost_to(IdleCause::transfer) + lost_to(IdleCause::memory);
    std::array<std::pair<double, Slowness>, 5> const losses{
        {{lost_to(IdleCause::elsewhere), Slowness::program},
         {moving, Slowness::transfers},
         {lost_to(IdleCause::end_of_graph), Slowness::imbalance},
         {lost_to(IdleCause::no_ready_task), Slowness::few_tasks},
         {lost_to(IdleCause::scheduler), Slowness::scheduler}}};
    auto const [share, why] =
        *std::max_element(losses.begin(), losses.end(), [](auto const& a, auto const& b) {
          return a.first < b.first;
        });
    auto const percent = 100 * share;
    switch (why) {
    case Slowness::program:
      return {why,
              share,
              text("%.0f %% of the workers' time is lost because the program does not wait in a "
                   "sync, where its thread would work, too.",
                   percent)};
    case Slowness::transfers:
      return {
          why,
          share,
          text("Workers wait for data for %.0f %% of their time, of which %.0f %% for memory to "
               "put them in.",
               percent,
               100 * lost_to(IdleCause::memory) / share)};
    case Slowness::imbalance:
      return {why, share, text("%s %s", imbalance(percent).c_str(), last_task().c_str())};
    case Slowness::few_tasks:
      return {why,
              share,
              text("For %.0f %% of the workers' time no task that they may run is ready, and some "
                   "become ready later: the graph is too narrow, or the program waits between its "
                   "parts.",
                   percent)};
    default:
      return {why,
              share,
              text("For %.0f %% of the workers' time a task that they may run is ready and nobody "
                   "takes it: the scheduler keeps it for another worker, or decides slowly.",
                   percent)};
    }
  }

  [[nodiscard]] static std::string imbalance(double percent) {
    return text("Work ends unevenly: %.0f %% of the workers' time comes after the last task that "
                "becomes ready for them.",
                percent);
  }

  [[nodiscard]] std::string last_task() const {
    Trace::Task const* last = nullptr;
    for (auto const& task : trace_.tasks) {
      if (task.begin != Trace::never && task.end == span_.second && task.worker) {
        last = &task;
      }
    }
    return last == nullptr ? std::string("An attempt ends last.")
                           : text("The last to end, %s, took %s on %s.",
                                  trace_.types[last->type].name.c_str(),
                                  to_text(last->end - last->begin).c_str(),
                                  trace_.workers[last->worker.index()].name.c_str());
  }

  Trace const& trace_;
  std::span<PathStep const> path_;
  std::pair<Instant, Instant> span_;
  std::vector<Duration> times_; // of each task
  double all_ = 0;              // worker times, ns; of classes that may run a task
  double busy_ = 0;
  std::array<double, idle_causes> idle_{};
  std::size_t ran_ = 0; // tasks
  double executed_ = 0; // their time
};

} // namespace detail

/// Says why the run took as long as it did. The first that holds counts: workers execute tasks for
/// 90 % of their time; a task begins in less than 20 us after the one before, and takes less than
/// half of that; on the run's critical path (run_critical_path), the program was waited for during
/// 40 % of the makespan; a chain of three or more dependent tasks executes for 80 % of it;
/// otherwise the cause of most idle time (IdleCause). Workers of a class that may run no task are
/// left out. O(n log n).
/// `times`: of attribute_idle_time. `path`: of run_critical_path.
[[nodiscard]] inline Verdict
verdict_of(Trace const& trace, std::span<WorkerTimes const> times, std::span<PathStep const> path) {
  return detail::Judge(trace, times, path).verdict();
}

[[nodiscard]] inline Verdict verdict_of(Trace const& trace) {
  return verdict_of(trace, attribute_idle_time(trace), run_critical_path(trace));
}

} // namespace hetsched
