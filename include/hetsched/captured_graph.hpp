// SPDX-License-Identifier: MIT
#pragma once
// Graphs recorded by Runtime::capture.

#include <hetsched/detail/ranked_graph.hpp>
#include <hetsched/detail/spawn.hpp>
#include <hetsched/task_graph.hpp>

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
  Prototype(TaskType const& type, Attributes const& attributes, std::span<DataRecord* const> data)
      : type_(&type), label_(attributes.label), attributes_(attributes),
        data_(data.begin(), data.end()) {
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
  }

  /// Where the by-value arguments are to be constructed.
  [[nodiscard]] void* values() noexcept { return values_; }

  void commit() noexcept { complete_ = true; }

  [[nodiscard]] bool complete() const noexcept { return complete_; }

  void spawn(Core& core, std::int32_t graph_node, std::int32_t priority, ArchMask allowed) const {
    auto attributes = attributes_;
    attributes.archs = attributes.archs & allowed;
    attributes.label = label_;
    attributes.graph_node = graph_node;
    attributes.priority = priority;
    auto copy = [this](void* where) { type_->copy_values(where, values_); };
    auto const values = values_ != nullptr ? ValueMaker::calling(copy) : ValueMaker{};
    spawn_task(core, *type_, attributes, data_, values);
  }

  [[nodiscard]] Prospect prospect(ArchMask allowed) const noexcept {
    return {type_, attributes_.archs & allowed, label_, data_};
  }

  /// The task as a node of a graph, its data numbered by `number(record)`.
  template <class Number>
  [[nodiscard]] TaskGraph::Node node(Number&& number) const {
    TaskGraph::Node node{
        type_->name, label_, attributes_.priority, type_->archs & attributes_.archs, {}};
    for (std::size_t k = 0; k < data_.size(); ++k) {
      GraphAccess const access{
          number(data_[k]), type_->parameters[k].mode, type_->parameters[k].reduction};
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
  TaskType const* type_;
  std::string label_;
  Attributes attributes_;
  std::vector<DataRecord*> data_; // a reference each
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
               std::span<DataRecord* const> data) {
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

} // namespace hetsched
