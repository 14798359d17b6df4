// SPDX-License-Identifier: MIT
#pragma once
// Runs a graph that is plain data as tasks of a runtime in virtual time.

#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The task types of graphs that are plain data.
class GraphTypes {
public:
  /// The same for all tasks that have these parameters.
  TaskType const& of(TaskGraph::Node const& node) {
    Key key{node.type, {}};
    for (auto const& access : node.accesses) {
      key.second.emplace_back(access.mode, access.reduction);
    }
    auto const [known, fresh] = types_->try_emplace(std::move(key));
    auto& type = known->second;
    if (fresh) {
      for (auto const& access : node.accesses) {
        auto const reduces = access.mode == AccessMode::reduce;
        type.parameters.push_back({access.mode, reduces ? &operators_[access.reduction] : nullptr});
      }
      type.table = laid_out(
          {node.type, TaskKind::user, {}, type.parameters, nullptr, nullptr, nullptr}, false);
    }
    return type.table;
  }

  /// For cores that may keep tasks longer than this lives.
  [[nodiscard]] std::shared_ptr<void const> kept() const { return types_; }

private:
  /// A task type with its parameters.
  struct Type {
    std::vector<ParameterInfo> parameters;
    TaskType table;
  };

  using Key = std::pair<std::string_view, std::vector<std::pair<AccessMode, void const*>>>;

  std::shared_ptr<std::map<Key, Type>> const types_ = std::make_shared<std::map<Key, Type>>();
  std::map<void const*, ReductionOps> operators_; // they differ, and are never called
};

/// What the spawn of a graph's task v says, but for its data.
[[nodiscard]] inline Attributes attributes_of_node(TaskGraph const& graph, std::size_t v) {
  auto const& node = graph.nodes()[v];
  Attributes attributes;
  attributes.priority = node.priority;
  attributes.label = node.label;
  attributes.flops = node.flops;
  attributes.graph_node = static_cast<std::int32_t>(v);
  return attributes;
}

/// The task types and the data of a graph's tasks. The data have addresses, and no memory.
class GraphReplay {
public:
  /// `allowed`: classes of worker for each task; empty: all.
  GraphReplay(TaskGraph const& graph,
              std::span<ArchMask const> allowed,
              Domain& domain,
              DataRegistry& registry)
      : graph_(graph), allowed_(allowed) {
    auto address = first_address;
    for (auto const bytes : graph.data_bytes()) {
      auto* const first = reinterpret_cast<std::byte*>(address);
      data_.push_back(register_region(first, {bytes, 1, bytes}, 1, false, domain, registry));
      address += (bytes + 63) / 64 * 64;
    }
  }

  GraphReplay(GraphReplay const&) = delete;
  GraphReplay& operator=(GraphReplay const&) = delete;

  ~GraphReplay() {
    for (auto* record : data_) {
      release_handle(record);
    }
  }

  /// Task v, valid until the next call. The classes that its node allows are ignored: a class of
  /// worker can run the task if the platform has a time for it.
  [[nodiscard]] Prospect prospect(std::size_t v) {
    auto const& node = graph_.nodes()[v];
    of_one_.clear();
    for (auto const& access : node.accesses) {
      of_one_.push_back(data_[access.data]);
    }
    auto const archs = allowed_.empty() ? Attributes{}.archs : allowed_[v];
    return {&types_.of(node), archs, node.label, of_one_, node.flops};
  }

  /// Spawns all tasks, in order, with the priorities of `ranked`, the same graph.
  template <class Core>
  void spawn_all(Core& core, TaskGraph const& ranked) {
    core.keep(types_.kept());
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      auto const task = prospect(v);
      auto attributes = attributes_of_node(ranked, v);
      attributes.archs = task.archs;
      spawn_task(core, *task.type, attributes, task.data, {});
    }
  }

private:
  static constexpr std::uintptr_t first_address = std::uintptr_t{1} << 44U;

  TaskGraph const& graph_;
  std::span<ArchMask const> const allowed_;
  std::vector<DataRecord*> data_;
  std::vector<DataRecord*> of_one_; // of the task that was asked for last
  GraphTypes types_;
};

} // namespace hetsched::detail
