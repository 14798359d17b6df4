// SPDX-License-Identifier: MIT
#pragma once
// What Runtime::capture, update and run do.

#include <hetsched/detail/spawn/prototype.hpp>
#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/detail/threads/replay.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/runtime/captured_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

template <class Core>
void check_outside_tasks(Core& core, char const* operation) {
  if (core.current_task() != nullptr) {
    throw Error(ErrorCode::bad_call, operation, "not allowed inside a task");
  }
}

template <class Core>
void check_captured(Core& core, CapturedGraph const& graph, char const* operation) {
  if (!graph.is_of(&core)) {
    throw Error(ErrorCode::bad_call, operation, "the graph was captured by another runtime");
  }
}

/// A graph on its way through a runtime. `Waits`: its sync() and await(record).
template <class Engine, class Waits>
class GraphRuns {
public:
  using Core = typename Engine::BaseCore;

  GraphRuns(Core& core,
            DataRegistry& registry,
            Priorities priorities,
            std::span<ArchMask const> allowed, // empty: no restriction
            Waits& waits)
      : core_(core), registry_(registry), priorities_(priorities), allowed_(allowed),
        waits_(waits) {}

  /// Spawns what was captured, and waits.
  void run(CapturedGraph const& graph) {
    check_outside_tasks(core_, "run");
    check_captured(core_, graph, "run");
    check_allowed(graph.tasks());
    auto const& recorded = graph.template recorded<Core>();
    for (auto const& prototype : recorded.prototypes) {
      prototype->check();
    }
    if (recorded.conditional && !Engine::computes) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "the graph has conditions, and a simulated runtime computes no values");
    }
    if (recorded.conditional && core_.policies().has(hook_prepare)) {
      run_parts(graph, *recorded.root);
      return;
    }
    prepare(
        graph.tasks(),
        [&](std::size_t v) { return recorded.prototypes[v]->prospect(archs(v)); },
        [&](TaskGraph const& tasks) {
          if constexpr (std::is_same_v<Core, ThreadCore>) {
            if (replay(graph, tasks)) {
              return;
            }
          }
          spawn_and_wait([&] { spawn_block(graph, *recorded.root, tasks); });
        });
  }

  /// Spawns the tasks of a graph from anywhere, and waits.
  template <class Graph>
    requires(!Engine::computes && std::is_same_v<Graph, TaskGraph>)
  void run(Graph const& graph) {
    check_allowed(graph);
    typename Engine::Replay replay(graph, allowed_, core_.current_domain(), registry_);
    prepare(
        graph,
        [&](std::size_t v) { return replay.prospect(v); },
        [&](TaskGraph const& tasks) {
          try {
            replay.spawn_all(core_, tasks);
          } catch (...) {
            core_.drain();
            throw;
          }
          waits_.sync(); // the scheduler may look at the graph until then
        });
  }

private:
  [[nodiscard]] ArchMask archs(std::size_t task) const noexcept {
    return allowed_.empty() ? ArchMask{0xff} : allowed_[task];
  }

  void check_allowed(TaskGraph const& graph) const {
    if (!allowed_.empty() && allowed_.size() != graph.size()) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "was given classes of worker for " + std::to_string(allowed_.size()) +
                      " tasks of a graph of " + std::to_string(graph.size()));
    }
  }

  /// Computes priorities, lets the scheduler prepare, and calls `spawn(graph)`; `prospect(v)` is
  /// task v.
  template <class Prospects, class Spawn>
  void prepare(TaskGraph const& graph, Prospects const& prospect, Spawn const& spawn) {
    auto const ranked = ranked_graph(core_, graph, priorities_, prospect);
    auto const& tasks = ranked ? *ranked : graph;
    auto& policies = core_.policies();
    if (policies.has(hook_prepare)) {
      auto const expected = policies.expects_times() ? expected_times(core_, tasks.size(), prospect)
                                                     : std::vector<ExpectedTimes>();
      policies.prepare(tasks, expected);
    }
    spawn(tasks);
  }

  /// Runs what was captured without spawns. Returns false, and nothing was done, where that cannot
  /// be, and in the first run, so that a graph that runs once costs no more than its spawns.
  [[nodiscard]] bool replay(CapturedGraph const& graph, TaskGraph const& tasks) {
    auto& recorded = graph.template recorded<Core>();
    auto& runs = recorded.runs;
    if (!allowed_.empty() || !Replay::possible(core_) ||
        runs.busy.exchange(true, std::memory_order_acquire)) {
      return false;
    }

    struct Guard {
      Atomic<bool>& busy;

      ~Guard() { busy.store(false, std::memory_order_release); }
    } const guard{runs.busy};

    if (!std::exchange(runs.spawned, true) || runs.refused) {
      return false;
    }
    if (!runs.replay) {
      auto const& prototypes = recorded.prototypes;
      runs.refused = !std::all_of(prototypes.begin(), prototypes.end(), [](auto const& task) {
        return Replay::fits(task->type());
      });
      if (runs.refused) {
        return false;
      }
      runs.replay = std::make_unique<Replay>(
          core_, registry_, graph.tasks(), *recorded.root, [&](std::size_t v) {
            auto const& task = *prototypes[v];
            return Replay::Source{&task.type(), task.attributes(), task.data(), &task.values()};
          });
    }
    if (!runs.replay->start(&tasks == &graph.tasks() ? nullptr : &tasks)) {
      return false;
    }
    waits_.sync();
    return true;
  }

  /// Calls `spawn`, and waits for everything. What `spawn` throws comes first: where a condition's
  /// datum is lost with a task, both throw the same.
  template <class Spawn>
  void spawn_and_wait(Spawn const& spawn) {
    try {
      spawn();
    } catch (...) {
      try {
        waits_.sync();
      } catch (...) { // Stats and failures() know it
      }
      throw;
    }
    waits_.sync(); // the scheduler may look at the graph until then
  }

  /// Spawns the items of a block from `first` to `last`, waiting for the data of conditions.
  void spawn_block(CapturedGraph const& graph, CapturedBlock const& block, TaskGraph const& tasks) {
    for (auto const& item : block.items) {
      if (item.inner == nullptr) {
        auto const v = item.task;
        graph.template recorded<Core>().prototypes[v]->spawn(
            core_, static_cast<std::int32_t>(v), tasks.nodes()[v].priority, archs(v));
      } else {
        repeat(graph, *item.inner, [&] { spawn_block(graph, *item.inner, tasks); });
      }
    }
  }

  /// Calls `once` as often as the condition of the block asks for.
  template <class Once>
  void repeat(CapturedGraph const& graph, CapturedBlock const& block, Once const& once) {
    auto const& condition = block.condition;
    do {
      waits_.await(*condition.datum);
      if (!condition.holds(condition.datum->home.base)) {
        return;
      }
      once();
    } while (condition.repeats && !has_cancelled(graph, block));
  }

  [[nodiscard]] bool has_cancelled(CapturedGraph const& graph, CapturedBlock const& block) const {
    auto const& prototypes = graph.template recorded<Core>().prototypes;
    return std::any_of(block.items.begin(), block.items.end(), [&](auto const& item) {
      return item.inner != nullptr ? has_cancelled(graph, *item.inner)
                                   : prototypes[item.task]->is_cancelled();
    });
  }

  /// Each sequence of tasks between two conditions as a graph of its own, of which the scheduler
  /// knows that all its tasks run, once.
  void run_parts(CapturedGraph const& graph, CapturedBlock const& block) {
    auto const end = block.items.end();
    for (auto item = block.items.begin(); item != end;) {
      if (item->inner != nullptr) {
        repeat(graph, *item->inner, [&] { run_parts(graph, *item->inner); });
        ++item;
        continue;
      }
      auto const next = std::find_if(item, end, [](auto const& it) { return it.inner != nullptr; });
      run_part(graph, item->task, static_cast<std::size_t>(next - item));
      item = next;
    }
  }

  void run_part(CapturedGraph const& graph, std::size_t first, std::size_t count) {
    auto const& prototypes = graph.template recorded<Core>().prototypes;
    auto const nodes = graph.tasks().nodes().subspan(first, count);
    auto const bytes = graph.tasks().data_bytes();
    TaskGraph const part(std::vector(nodes.begin(), nodes.end()),
                         std::vector(bytes.begin(), bytes.end()));
    prepare(
        part,
        [&](std::size_t v) { return prototypes[first + v]->prospect(archs(first + v)); },
        [&](TaskGraph const& tasks) {
          spawn_and_wait([&] {
            for (std::size_t v = 0; v < count; ++v) {
              prototypes[first + v]->spawn(
                  core_, static_cast<std::int32_t>(v), tasks.nodes()[v].priority, archs(first + v));
            }
          });
        });
  }

  Core& core_;
  DataRegistry& registry_;
  Priorities const priorities_;
  std::span<ArchMask const> const allowed_;
  Waits& waits_;
};

/// Captures and updates, for programs that include capture.hpp.
template <class Engine>
struct Captures {
  using Core = typename Engine::BaseCore;

  /// See Runtime::capture.
  template <class F>
  [[nodiscard]] static CapturedGraph capture(Core& core, DataRegistry& registry, F&& spawns) {
    Recording<Core> recording(registry);
    record(core, recording, "capture", spawns);
    return CapturedGraph(recording, static_cast<Core const*>(&core));
  }

  /// See Runtime::update.
  template <class F>
  static void update(Core& core, DataRegistry& registry, CapturedGraph const& graph, F&& spawns) {
    check_captured(core, graph, "update");
    Recording<Core> recording(registry);
    record(core, recording, "update", spawns);
    recording.drop_incomplete();
    auto& old = graph.template recorded<Core>();
    auto const& fresh = recording.prototypes;
    auto const most = std::min(old.prototypes.size(), fresh.size());
    for (std::size_t v = 0; v < most; ++v) {
      if (!old.prototypes[v]->is_like(*fresh[v])) {
        refuse("task " + std::to_string(v) + " was '" +
               std::string(old.prototypes[v]->type().name) + "', and is '" +
               std::string(fresh[v]->type().name) + "', or has other data or attributes");
      }
    }
    if (old.prototypes.size() != fresh.size()) {
      refuse("was given " + std::to_string(fresh.size()) + " tasks for a graph of " +
             std::to_string(old.prototypes.size()));
    }
    if (!are_alike(*old.root, *recording.root)) {
      refuse("has other conditions than the graph");
    }
    for (std::size_t v = 0; v < most; ++v) {
      old.prototypes[v]->swap_values(*fresh[v]);
    }
  }

  /// Runs a graph; `waits`: see GraphRuns.
  template <class Graph, class Waits>
  static void run(Core& core,
                  DataRegistry& registry,
                  Priorities priorities,
                  std::span<ArchMask const> allowed,
                  Graph const& graph,
                  Waits& waits) {
    GraphRuns<Engine, Waits>(core, registry, priorities, allowed, waits).run(graph);
  }

private:
  template <class F>
  static void record(Core& core, Recording<Core>& recording, char const* operation, F& spawns) {
    check_outside_tasks(core, operation);
    auto state = this_thread;
    state.capture = static_cast<CaptureSink*>(&recording);
    state.capture_core = &core;
    ThreadStateGuard const guard(state);
    spawns();
  }

  [[noreturn]] static void refuse(std::string const& why) {
    throw Error(ErrorCode::bad_call, "update", why);
  }
};

} // namespace detail

} // namespace hetsched
