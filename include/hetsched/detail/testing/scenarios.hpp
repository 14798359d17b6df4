// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit's scenarios of one thread. Those of sleeping workers are in
// sleep_scenarios.hpp.

#include <hetsched/detail/testing/driver.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstdint>
#include <vector>

namespace hetsched::testing::detail {

/// Draws a worker or an outside thread, all equally often.
[[nodiscard]] inline WorkerId draw_origin(Dice& dice, std::size_t workers) noexcept {
  return WorkerId{static_cast<std::int32_t>(dice.below(workers + 1)) - 1};
}

[[nodiscard]] inline WorkerId draw_worker(Dice& dice, std::size_t workers) noexcept {
  return WorkerId{static_cast<std::int32_t>(dice.below(workers))};
}

/// The classes of one to three workers, so that a worker can run the task.
[[nodiscard]] inline ArchMask draw_archs(Dice& dice, std::span<WorkerInfo const> workers) {
  ArchMask archs;
  for (auto count = dice.below(3) + 1; count > 0; --count) {
    archs = archs | ArchMask::only(workers[dice.below(workers.size())].arch);
  }
  return archs;
}

/// From now on the times of the task are known on every class that can run it.
inline void draw_times(Driver& driver, Dice& dice, TaskId task) {
  for (auto const& info : driver.workers()) {
    if (driver.entry(task).task.archs.has(info.arch)) {
      driver.context().predict(task, info.arch, {static_cast<std::int64_t>(dice.below(100)) + 1});
    }
  }
}

/// Pushes and polls of random workers. Workers other than cores may take several tasks before the
/// first begins, as those of devices do. Now and then a nested wait restricts a worker.
class RandomMix {
public:
  RandomMix(Driver& driver, std::uint64_t seed, int tasks)
      : driver_(driver), dice_(seed), left_(tasks) {}

  void run() {
    auto const count = driver_.workers().size();
    while (left_ > 0 && !driver_.spoiled()) {
      now_.ns += static_cast<std::int64_t>(dice_.below(20));
      driver_.context().set_now(now_);
      switch (dice_.below(9)) {
      case 0:
      case 1:
      case 2:
        push(draw_origin(dice_, count));
        break;
      case 3:
        turn_wait(draw_worker(dice_, count));
        break;
      default:
        poll(draw_worker(dice_, count));
      }
    }
    driver_.drain([this](TaskId task, WorkerId worker) { execute(task, worker); });
    driver_.judge();
  }

private:
  /// Tasks that a waiting worker pushes descend from the task that waits.
  TaskId make(WorkerId from) {
    --left_;
    auto const task = driver_.add({.priority = static_cast<std::int32_t>(dice_.below(4)),
                                   .archs = draw_archs(dice_, driver_.workers()),
                                   .group = from ? driver_.context().restricted_to(from) : 0});
    if (dice_.chance(70)) {
      draw_times(driver_, dice_, task);
    }
    return task;
  }

  void push(WorkerId from) {
    if (left_ > 0) {
      driver_.push(make(from), from);
    }
  }

  void poll(WorkerId worker) {
    bool const core = driver_.workers()[worker.index()].arch == ArchHost;
    std::vector<TaskId> taken;
    for (auto most = core ? 1 : dice_.below(4) + 1; taken.size() < most;) {
      auto const task = driver_.poll(worker);
      if (!task) {
        break;
      }
      taken.push_back(task);
    }
    for (auto const task : taken) {
      execute(task, worker);
    }
  }

  void turn_wait(WorkerId worker) {
    bool const waits = driver_.context().restricted_to(worker) != 0;
    driver_.context().restrict_to(worker, waits ? 0 : ++last_group_);
  }

  void execute(TaskId task, WorkerId worker) {
    driver_.begin_body(task, worker);
    if (dice_.chance(20)) {
      push(worker);
    }
    driver_.end_body(task, worker);
    if (dice_.chance(30)) {
      std::vector<TaskId> batch;
      for (auto count = dice_.below(4); count > 0 && left_ > 0; --count) {
        batch.push_back(make(worker));
      }
      if (!batch.empty()) {
        driver_.activate(batch, worker);
      }
    }
  }

  Driver& driver_;
  Dice dice_;
  int left_;
  Instant now_;
  std::uint32_t last_group_ = 0;
};

/// Each worker in turn waits in a nested sync. The queues have older tasks and children, all of a
/// class that only this worker has. It must find the children although no other worker polls.
inline void nested_wait(Driver& driver) {
  constexpr std::uint32_t group = 7;
  for (auto const& info : driver.workers()) {
    auto const archs = ArchMask::only(info.arch);
    for (auto const from : {no_worker, info.id, no_worker, info.id}) {
      driver.push(driver.add({.archs = archs}), from);
    }
    driver.context().restrict_to(info.id, group);
    std::vector<TaskId> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(driver.add({.priority = i - 1, .archs = archs, .group = group}));
      driver.push(children.back(), info.id);
    }
    for (std::size_t polls = 0; polls < children.size(); ++polls) {
      if (auto const task = driver.poll(info.id)) {
        driver.run(task, info.id);
      }
    }
    for (auto const child : children) {
      if (!driver.entry(child).taken.load() && !driver.spoiled()) {
        driver.report(Rule::hidden,
                      info.id,
                      driver.describe(info.id) + " waits for its children and did not find " +
                          driver.describe(child));
      }
    }
    driver.drain();
  }
  driver.judge();
}

/// A graph of random dependencies, drawn from the seed: node v writes datum v.
[[nodiscard]] inline TaskGraph
draw_graph(Dice& dice, std::span<WorkerInfo const> workers, std::uint32_t size) {
  std::vector<TaskGraph::Node> nodes(size);
  for (std::uint32_t v = 0; v < size; ++v) {
    nodes[v].type = "scripted";
    nodes[v].priority = static_cast<std::int32_t>(dice.below(4));
    nodes[v].archs = draw_archs(dice, workers);
    nodes[v].accesses.push_back({v, AccessMode::write, nullptr});
    for (std::uint32_t k = 0; k < 2 && v > 0; ++k) {
      auto const u = static_cast<std::uint32_t>(dice.below(v + 1));
      if (u < v && (k == 0 || nodes[v].accesses.back().data != u)) {
        nodes[v].accesses.push_back({u, AccessMode::read, nullptr});
      }
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(size, 8)};
}

/// Runs a captured graph twice: prepare, the nodes without predecessors from outside in program
/// order, then each completion activates what it makes ready.
inline void captured_graph(Driver& driver, std::uint64_t seed, int tasks) {
  Dice dice(seed);
  auto const graph = draw_graph(dice, driver.workers(), static_cast<std::uint32_t>(tasks / 2 + 1));
  for (int round = 0; round < 2 && !driver.spoiled(); ++round) {
    driver.prepare(graph);
    std::vector<TaskId> ids;
    std::vector<std::uint32_t> waits_for;
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto const& node = graph.nodes()[v];
      ids.push_back(driver.add({.priority = node.priority,
                                .archs = node.archs,
                                .graph_node = static_cast<std::int32_t>(v)}));
      waits_for.push_back(graph.predecessor_count(v));
    }
    for (std::size_t v = 0; v < graph.size(); ++v) {
      if (waits_for[v] == 0) {
        driver.push(ids[v], no_worker);
      }
    }
    driver.drain([&](TaskId task, WorkerId worker) {
      driver.run(task, worker);
      std::vector<TaskId> ready;
      auto const node = static_cast<std::size_t>(driver.entry(task).task.graph_node);
      for (auto const next : graph.successors(node)) {
        if (--waits_for[next] == 0) {
          ready.push_back(ids[next]);
        }
      }
      if (!ready.empty()) {
        driver.activate(ready, worker);
      }
    });
  }
  driver.judge();
}

} // namespace hetsched::testing::detail
