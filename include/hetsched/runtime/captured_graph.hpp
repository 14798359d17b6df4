// SPDX-License-Identifier: MIT
#pragma once
// Graphs recorded by Runtime::capture.

#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// A spawn that was recorded: everything needed to make the task, any number of times. A template,
/// like all here, so that programs that capture nothing do not compile it.
template <class Core>
class Prototype {
public:
  Prototype(TaskType const& type, Attributes const& attributes, SpawnData const& data)
      : type_(&type), label_(attributes.label), attributes_(attributes),
        data_(data.records.begin(), data.records.end()),
        lengths_(data.lengths, data.lengths + type.lists) {
    if (type.value_bytes != 0 && type.copy_values == nullptr) {
      throw Error(ErrorCode::bad_call,
                  "task '" + std::string(type.name) + "'",
                  "has an argument that cannot be copied, so it cannot be captured");
    }
    for (auto* record : data_) {
      if (record == nullptr) {
        throw Error(ErrorCode::bad_data,
                    "task '" + std::string(type.name) + "'",
                    "was given an empty handle");
      }
    }
    if (type.value_bytes != 0) {
      values_ = ::operator new(type.value_bytes, std::align_val_t{type.value_align});
    }
    for (auto* record : data_) {
      record->handles.fetch_add(1, std::memory_order_relaxed);
    }
    if (attributes_.group != nullptr) {
      attributes_.group->references.fetch_add(1, std::memory_order_relaxed);
    }
  }

  Prototype(Prototype const&) = delete;
  Prototype& operator=(Prototype const&) = delete;

  ~Prototype() {
    if (complete_ && type_->destroy_values != nullptr) {
      type_->destroy_values(values_);
    }
    if (values_ != nullptr) {
      ::operator delete(values_, std::align_val_t{type_->value_align});
    }
    for (auto* record : data_) {
      release_handle(record);
    }
    if (attributes_.group != nullptr) {
      attributes_.group->release();
    }
  }

  /// Where the by-value arguments are to be constructed.
  [[nodiscard]] void* values() noexcept { return values_; }

  void commit() noexcept { complete_ = true; }

  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Throws Error(bad_call) if the task cannot be spawned any more.
  void check() const {
    if (attributes_.group != nullptr && attributes_.group->gone.load(std::memory_order_relaxed)) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "the group of task '" + std::string(type_->name) + "' of the graph is gone");
    }
  }

  void spawn(Core& core, std::int32_t graph_node, std::int32_t priority, ArchMask allowed) const {
    auto attributes = attributes_;
    attributes.archs = attributes.archs & allowed;
    attributes.label = label_;
    attributes.graph_node = graph_node;
    attributes.priority = priority;
    auto copy = [this](void* where) { type_->copy_values(where, values_); };
    auto const values = values_ != nullptr ? ValueMaker::calling(copy) : ValueMaker{};
    spawn_task(core, *type_, attributes, data(), values);
  }

  [[nodiscard]] Prospect prospect(ArchMask allowed) const noexcept {
    return {type_, attributes_.archs & allowed, label_, data(), attributes_.flops};
  }

  /// The task as a node of a graph, its data numbered by `number(record)`.
  template <class Number>
  [[nodiscard]] TaskGraph::Node node(Number&& number) const {
    TaskGraph::Node node{type_->name,
                         label_,
                         attributes_.priority,
                         type_->archs & attributes_.archs,
                         {},
                         attributes_.flops};
    for (std::size_t k = 0; k < data_.size(); ++k) {
      auto const& parameter = data().parameter_of(*type_, k);
      GraphAccess const access{number(data_[k]), parameter.mode, parameter.reduction};
      auto const known =
          std::find_if(node.accesses.begin(), node.accesses.end(), [&](GraphAccess const& other) {
            return other.data == access.data;
          });
      if (known == node.accesses.end()) {
        node.accesses.push_back(access);
      } else if (known->mode != access.mode) {
        *known = {access.data, AccessMode::read_write, nullptr};
      }
    }
    return node;
  }

private:
  [[nodiscard]] SpawnData data() const noexcept { return {data_, lengths_.data()}; }

  TaskType const* type_;
  std::string label_;
  Attributes attributes_;
  std::vector<DataRecord*> data_;      // a reference each
  std::vector<std::uint32_t> lengths_; // of its lists
  void* values_ = nullptr;
  bool complete_ = false; // its values exist
};

/// The spawns of one capture, in program order.
template <class Core>
struct Recording : CaptureSink {
  std::vector<std::unique_ptr<Prototype<Core>>> prototypes;

  Recording()
      : CaptureSink{
            [](CaptureSink& sink,
               TaskType const& type,
               Attributes const& attributes,
               SpawnData const& data) {
              auto& list = static_cast<Recording&>(sink).prototypes;
              if (!list.empty() && !list.back()->complete()) {
                list.pop_back(); // its arguments threw
              }
              list.push_back(std::make_unique<Prototype<Core>>(type, attributes, data));
              return list.back()->values();
            },
            [](CaptureSink& sink) { static_cast<Recording&>(sink).prototypes.back()->commit(); }} {}
};

} // namespace detail

/// The tasks spawned in a `Runtime::capture`, to be run by that runtime any number of times. Cheap
/// to copy; keeps its data registered. Immutable.
class CapturedGraph {
public:
  /// Tasks, accesses and dependencies.
  [[nodiscard]] TaskGraph const& tasks() const noexcept { return shared_->tasks; }

  /// For the runtime.
  template <class Core>
  CapturedGraph(detail::Recording<Core>& recording, Core const* core)
      : shared_(std::make_shared<Recorded<Core>>()) {
    auto& prototypes = recording.prototypes;
    if (!prototypes.empty() && !prototypes.back()->complete()) {
      prototypes.pop_back();
    }
    std::map<detail::DataRecord*, std::uint32_t> numbers;
    std::vector<std::size_t> bytes;
    std::vector<TaskGraph::Node> nodes;
    for (auto const& prototype : prototypes) {
      nodes.push_back(prototype->node([&](detail::DataRecord* record) {
        auto const [it, fresh] =
            numbers.try_emplace(record, static_cast<std::uint32_t>(bytes.size()));
        if (fresh) {
          bytes.push_back(record->bytes());
        }
        return it->second;
      }));
    }
    shared_->core = core;
    shared_->tasks = TaskGraph(std::move(nodes), std::move(bytes));
    static_cast<Recorded<Core>&>(*shared_).prototypes = std::move(prototypes);
  }

  /// For the runtime: whether `core` captured it.
  [[nodiscard]] bool is_of(void const* core) const noexcept { return shared_->core == core; }

  /// For the runtime, if is_of(&core).
  template <class Core>
  [[nodiscard]] auto const& prototypes() const noexcept {
    return static_cast<Recorded<Core> const&>(*shared_).prototypes;
  }

private:
  struct Shared {
    void const* core = nullptr;
    TaskGraph tasks;
  };

  template <class Core>
  struct Recorded : Shared {
    std::vector<std::unique_ptr<detail::Prototype<Core>>> prototypes;
  };

  std::shared_ptr<Shared> shared_;
};

namespace detail {

/// A graph on its way through a runtime.
template <class Engine>
struct GraphRuns {
  using Core = typename Engine::BaseCore;

  Core& core;
  DataRegistry& registry;
  Priorities priorities;
  std::span<ArchMask const> allowed; // empty: no restriction

  /// See Runtime::capture.
  template <class F>
  [[nodiscard]] static CapturedGraph capture(Core& core, F&& spawns) {
    if (core.current_task() != nullptr) {
      throw Error(ErrorCode::bad_call, "capture", "not allowed inside a task");
    }
    Recording<Core> recording;
    auto state = this_thread;
    state.capture = static_cast<CaptureSink*>(&recording);
    state.capture_core = &core;
    ThreadStateGuard const guard(state);
    std::forward<F>(spawns)();
    return CapturedGraph(recording, static_cast<Core const*>(&core));
  }

  /// Spawns what was captured, and waits by `sync()`.
  template <class Sync>
  void run(CapturedGraph const& graph, Sync const& sync) {
    if (core.current_task() != nullptr) {
      throw Error(ErrorCode::bad_call, "run", "not allowed inside a task");
    }
    if (!graph.is_of(&core)) {
      throw Error(ErrorCode::bad_call, "run", "the graph was captured by another runtime");
    }
    check_allowed(graph.tasks());
    auto const& prototypes = graph.template prototypes<Core>();
    for (auto const& prototype : prototypes) {
      prototype->check();
    }
    auto const archs = [&](std::size_t v) { return allowed.empty() ? ArchMask{0xff} : allowed[v]; };
    prepare(
        graph.tasks(),
        [&](std::size_t v) { return prototypes[v]->prospect(archs(v)); },
        [&](TaskGraph const& tasks) {
          for (std::size_t v = 0; v < prototypes.size(); ++v) {
            prototypes[v]->spawn(
                core, static_cast<std::int32_t>(v), tasks.nodes()[v].priority, archs(v));
          }
          sync(); // the scheduler may look at the graph until then
        });
  }

  /// Spawns the tasks of a graph from anywhere, and waits by `sync()`.
  template <class Graph, class Sync>
    requires(!Engine::computes && std::is_same_v<Graph, TaskGraph>)
  void run(Graph const& graph, Sync const& sync) {
    check_allowed(graph);
    typename Engine::Replay replay(graph, allowed, core.current_domain(), registry);
    prepare(
        graph,
        [&](std::size_t v) { return replay.prospect(v); },
        [&](TaskGraph const& tasks) {
          try {
            replay.spawn_all(core, tasks);
          } catch (...) {
            core.drain();
            throw;
          }
          sync(); // as above
        });
  }

private:
  void check_allowed(TaskGraph const& graph) const {
    if (!allowed.empty() && allowed.size() != graph.size()) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "was given classes of worker for " + std::to_string(allowed.size()) +
                      " tasks of a graph of " + std::to_string(graph.size()));
    }
  }

  /// Computes priorities, lets the scheduler prepare, and calls `spawn(graph)`; `prospect(v)` is
  /// task v.
  template <class Prospects, class Spawn>
  void prepare(TaskGraph const& graph, Prospects const& prospect, Spawn const& spawn) {
    auto const ranked = ranked_graph(core, graph, priorities, prospect);
    auto const& tasks = ranked ? *ranked : graph;
    auto& policies = core.policies();
    if (policies.has(hook_prepare)) {
      auto const expected = policies.expects_times() ? expected_times(core, tasks.size(), prospect)
                                                     : std::vector<ExpectedTimes>();
      policies.prepare(tasks, expected);
    }
    spawn(tasks);
  }
};

} // namespace detail

} // namespace hetsched
