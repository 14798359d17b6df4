// SPDX-License-Identifier: MIT
#pragma once
// Schedules worked out beforehand, as plain data. docs/static_schedules.md tells what they are for.

#include <hetsched/core/error.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/fnv_hash.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// Which worker runs which task of a graph, and in which order (Kumar 2017, sec. 3.5). Plain data:
/// read_plan (static_plan_json.hpp) reads one from a file, PlanRecorder makes one of a simulated
/// run, heft_plan (heft_plan.hpp) computes one; policies::StaticSchedule follows it.
struct StaticPlan {
  struct Step {
    std::uint32_t task = 0; // its place in program order
    WorkerId worker;

    friend bool operator==(Step, Step) = default;
  };

  std::string name = "schedule"; // what errors call it: the file that it is from
  std::string platform;          // that it was made for; empty: not known
  std::vector<Arch> workers;     // the class of each
  std::size_t tasks = 0;         // of the graph
  std::uint64_t graph = 0;       // graph_digest of the graph; 0: not known
  Duration makespan;             // that is expected; 0: not known
  std::vector<Step> steps;       // all tasks, each behind those that it depends on; a worker's
                                 // tasks are in its order, those of all in that of the begins
  friend bool operator==(StaticPlan const&, StaticPlan const&) = default;
};

/// Of the task types and dependencies of a graph: equal for a graph and its like on other tiles,
/// whatever the priorities, labels and sizes of data. Never 0. O(tasks + edges).
[[nodiscard]] inline std::uint64_t graph_digest(TaskGraph const& graph) noexcept {
  detail::FnvHash hash;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    hash.add(graph.nodes()[v].type);
    for (auto const successor : graph.successors(v)) {
      hash.add(successor + std::uint64_t{256});
    }
    hash.add(std::numeric_limits<std::uint64_t>::max());
  }
  return std::max<std::uint64_t>(hash.value(), 1);
}

/// The class of each worker that virtual time has for a platform, in their order.
[[nodiscard]] inline std::vector<Arch> workers_of(Platform const& platform) {
  std::vector<Arch> workers;
  for (auto const& worker_class : platform.classes) {
    workers.insert(workers.end(),
                   static_cast<std::size_t>(std::max(0, worker_class.workers)),
                   worker_class.arch);
  }
  return workers;
}

namespace detail {

/// A step, and what its place in a plan is by.
struct TimedStep {
  std::int64_t begin;
  std::uint64_t order; // among those that begin at one time
  StaticPlan::Step step;

  friend bool operator<(TimedStep const& a, TimedStep const& b) noexcept {
    return std::tie(a.begin, a.order) < std::tie(b.begin, b.order);
  }
};

[[nodiscard]] inline TimedStep
timed_step(std::int64_t begin, std::size_t task, std::size_t worker) {
  return {
      begin, task, {static_cast<std::uint32_t>(task), WorkerId{static_cast<std::int32_t>(worker)}}};
}

[[nodiscard]] inline std::vector<StaticPlan::Step> steps_by_begin(std::vector<TimedStep> timed) {
  std::sort(timed.begin(), timed.end());
  std::vector<StaticPlan::Step> steps;
  for (auto const& one : timed) {
    steps.push_back(one.step);
  }
  return steps;
}

/// What is wrong with a plan, by its name.
class PlanCheck {
public:
  PlanCheck(StaticPlan const& plan, TaskGraph const& graph) : plan_(plan), graph_(graph) {}

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, plan_.name, why);
  }

  void workers(std::span<Arch const> there) const {
    if (!std::equal(plan_.workers.begin(), plan_.workers.end(), there.begin(), there.end())) {
      refuse("is for " + counted(plan_.workers) + ", and there are " + counted(there));
    }
  }

  void graph() const {
    if (plan_.tasks != graph_.size()) {
      refuse("is for a graph of " + std::to_string(plan_.tasks) + " tasks, and this one has " +
             std::to_string(graph_.size()));
    }
    if (plan_.steps.size() != plan_.tasks) {
      refuse("has " + std::to_string(plan_.steps.size()) + " steps for " +
             std::to_string(plan_.tasks) + " tasks");
    }
    if (plan_.graph != 0 && plan_.graph != graph_digest(graph_)) {
      refuse("is for another graph of " + std::to_string(graph_.size()) +
             " tasks, of other types or dependencies");
    }
  }

  /// Each task once, on a worker, behind what it depends on.
  void steps() const {
    std::vector<std::size_t> turns(graph_.size(), none);
    for (std::size_t k = 0; k < plan_.steps.size(); ++k) {
      auto const [task, worker] = plan_.steps[k];
      if (task >= graph_.size()) {
        refuse("names task " + std::to_string(task) + ", and there are " +
               std::to_string(graph_.size()));
      }
      if (!worker || worker.index() >= plan_.workers.size()) {
        refuse("gives " + text(task) + " to worker " + std::to_string(worker.value) +
               ", and there are " + std::to_string(plan_.workers.size()));
      }
      if (std::exchange(turns[task], k) != none) {
        refuse("has " + text(task) + " twice"); // and so another is missing
      }
    }
    for (std::size_t u = 0; u < graph_.size(); ++u) {
      for (auto const v : graph_.successors(u)) {
        if (turns[v] < turns[u]) {
          refuse("has " + text(v) + " before " + text(u) + ", which it depends on");
        }
      }
    }
  }

  [[nodiscard]] std::string text(std::size_t task) const {
    return "task " + std::to_string(task) + " (" + std::string(graph_.nodes()[task].type) + ")";
  }

private:
  static constexpr auto none = std::numeric_limits<std::size_t>::max();

  /// "9 workers of class 0 and 3 of class 1"
  [[nodiscard]] static std::string counted(std::span<Arch const> workers) {
    std::string text;
    for (std::uint8_t a = 0; a < max_archs; ++a) {
      if (auto const count = std::count(workers.begin(), workers.end(), Arch{a}); count != 0) {
        text += (text.empty() ? "" : " and ") + std::to_string(count) +
                (text.empty() ? " workers" : "") + " of class " + std::to_string(a);
      }
    }
    return text.empty() ? "no workers" : text;
  }

  StaticPlan const& plan_;
  TaskGraph const& graph_;
};

} // namespace detail

/// Throws Error(bad_input), one line that names the plan and what is wrong with it, unless it is
/// for these workers and this graph, has each task once and each behind those that it depends on:
/// whoever follows it then comes to its end. O(tasks + edges).
inline void
check_plan(StaticPlan const& plan, TaskGraph const& graph, std::span<Arch const> workers) {
  detail::PlanCheck const check(plan, graph);
  check.workers(workers);
  check.graph();
  check.steps();
}

/// Throws Error(bad_input) if the plan says for which platform it is, and that is another.
inline void check_plan_platform(StaticPlan const& plan, Platform const& platform) {
  if (!plan.platform.empty() && plan.platform != platform.name) {
    throw Error(ErrorCode::bad_input,
                plan.name,
                "is for platform '" + plan.platform + "', not '" + platform.name + "'");
  }
}

/// Writes down a simulated run: `Simulation::on_task` calls it, by reference. Of a task that was
/// aborted the last execution counts.
class PlanRecorder {
public:
  void operator()(SimulatedTask const& task) {
    if (!task.aborted && task.node >= 0) {
      begun_.push_back(
          {task.begin.ns, task.number, {static_cast<std::uint32_t>(task.node), task.worker}});
      end_ = std::max(end_, task.end);
    }
  }

  /// What `run` of that graph did, one run that began at 0.
  [[nodiscard]] StaticPlan plan(TaskGraph const& graph, Platform const& platform) const {
    return {.platform = platform.name,
            .workers = workers_of(platform),
            .tasks = graph.size(),
            .graph = graph_digest(graph),
            .makespan = end_ - Instant{},
            .steps = detail::steps_by_begin(begun_)};
  }

private:
  std::vector<detail::TimedStep> begun_;
  Instant end_;
};

} // namespace hetsched
