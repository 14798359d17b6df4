// SPDX-License-Identifier: MIT
#pragma once
// Graphs recorded by Runtime::capture.

#include <hetsched/detail/spawn/prototype.hpp>
#include <hetsched/detail/threads/replay.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// The runs of a captured graph on threads.
struct ReplayedRuns {
  Atomic<bool> busy{false}; // a replay is in progress
  bool spawned = false;     // there was a run: the others may be replays
  bool refused = false;     // they cannot
  std::unique_ptr<Replay> replay;
};

/// The graph of a capture, and those of its blocks if it has conditions.
template <class Core>
class CapturedNodes {
public:
  explicit CapturedNodes(Recording<Core> const& recording) : prototypes_(recording.prototypes) {}

  /// All tasks, those of blocks once; they read the conditions that they depend on.
  [[nodiscard]] TaskGraph all(CapturedBlock const& root) {
    std::vector<TaskGraph::Node> nodes;
    add_all(root, {}, nodes);
    return {std::move(nodes), bytes_};
  }

  /// Makes the graphs of a block and of those in it. Returns what the block accesses.
  TaskGraph::Node make_graphs(CapturedBlock& block) {
    std::vector<TaskGraph::Node> nodes;
    TaskGraph::Node whole{condition_type.name, {}, 0, ArchMask::only(ArchHost), {}, 0};
    if (block.condition.datum != nullptr) {
      add_access(whole, {number(block.condition.datum), AccessMode::read, nullptr});
    }
    for (auto& item : block.items) {
      nodes.push_back(item.inner != nullptr ? make_graphs(*item.inner) : node(item.task));
      for (auto const& access : nodes.back().accesses) {
        auto const mode = writes(access.mode) ? AccessMode::read_write : AccessMode::read;
        add_access(whole, {access.data, mode, nullptr});
      }
    }
    block.graph = TaskGraph(std::move(nodes), bytes_);
    return whole;
  }

private:
  [[nodiscard]] std::uint32_t number(DataRecord* record) {
    auto const next = static_cast<std::uint32_t>(bytes_.size());
    auto const [it, fresh] = numbers_.try_emplace(record, next);
    if (fresh) {
      bytes_.push_back(record->bytes());
    }
    return it->second;
  }

  [[nodiscard]] TaskGraph::Node node(std::size_t task) {
    return prototypes_[task]->node([this](DataRecord* record) { return number(record); });
  }

  void add_all(CapturedBlock const& block,
               std::vector<GraphAccess> conditions,
               std::vector<TaskGraph::Node>& nodes) {
    if (block.condition.datum != nullptr) {
      conditions.push_back({number(block.condition.datum), AccessMode::read, nullptr});
    }
    for (auto const& item : block.items) {
      if (item.inner != nullptr) {
        add_all(*item.inner, conditions, nodes);
        continue;
      }
      nodes.push_back(node(item.task));
      for (auto const& access : conditions) {
        add_access(nodes.back(), access);
      }
    }
  }

  std::vector<std::unique_ptr<Prototype<Core>>> const& prototypes_;
  std::map<DataRecord*, std::uint32_t> numbers_;
  std::vector<std::size_t> bytes_;
};

} // namespace detail

/// The tasks spawned in a `Runtime::capture`, to be run by that runtime any number of times. Cheap
/// to copy: copies share the tasks. Keeps its data registered, and from its second run on the
/// memory of its tasks. Only Runtime::update changes it.
class CapturedGraph {
public:
  /// Tasks, accesses and dependencies. Tasks that depend on a condition are there once, in any
  /// case, and read its datum.
  [[nodiscard]] TaskGraph const& tasks() const noexcept { return shared_->tasks; }

  /// For the runtime.
  template <class Core>
  CapturedGraph(detail::Recording<Core>& recording, Core const* core)
      : shared_(std::make_shared<Recorded<Core>>()) {
    recording.drop_incomplete();
    detail::CapturedNodes<Core> nodes(recording);
    shared_->core = core;
    shared_->tasks = nodes.all(*recording.root);
    if (recording.conditional) {
      nodes.make_graphs(*recording.root);
    }
    auto& recorded = static_cast<Recorded<Core>&>(*shared_);
    recorded.prototypes = std::move(recording.prototypes);
    recorded.root = std::move(recording.root);
    recorded.conditional = recording.conditional;
  }

  /// For the runtime: whether `core` captured it.
  [[nodiscard]] bool is_of(void const* core) const noexcept { return shared_->core == core; }

  /// For the runtime, if is_of(&core).
  template <class Core>
  [[nodiscard]] auto& recorded() const noexcept {
    return static_cast<Recorded<Core>&>(*shared_);
  }

private:
  struct Shared {
    void const* core = nullptr;
    TaskGraph tasks;
  };

  template <class Core>
  struct Recorded : Shared {
    std::vector<std::unique_ptr<detail::Prototype<Core>>> prototypes;
    std::unique_ptr<detail::CapturedBlock> root;
    bool conditional = false;
    detail::ReplayedRuns runs; // goes before what it points to
  };

  std::shared_ptr<Shared> shared_;
};

} // namespace hetsched
