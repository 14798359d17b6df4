// SPDX-License-Identifier: MIT
#pragma once
// What a capture records: spawns, and the blocks of spawns that depend on a datum.

#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A block that depends on a datum, where it stands for one task.
inline constexpr TaskType condition_type =
    laid_out({"hetsched condition", TaskKind::external, {}, {}, nullptr, nullptr, nullptr}, false);

/// Adds an access to a node, which has at most one for each datum.
inline void add_access(TaskGraph::Node& node, GraphAccess const& access) {
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

/// A spawn that was recorded: everything needed to make the task, any number of times. A template,
/// like most here, so that programs that capture nothing do not compile it.
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

  /// Where the by-value arguments are, or are to be constructed.
  [[nodiscard]] void* const& values() const noexcept { return values_; }

  void commit() noexcept { complete_ = true; }

  [[nodiscard]] bool complete() const noexcept { return complete_; }

  [[nodiscard]] TaskType const& type() const noexcept { return *type_; }

  [[nodiscard]] SpawnData data() const noexcept { return {data_, lengths_.data()}; }

  /// As they were given; the label lives as long as this.
  [[nodiscard]] Attributes attributes() const noexcept {
    auto attributes = attributes_;
    attributes.label = label_;
    return attributes;
  }

  /// Throws Error(bad_call) if the task cannot be spawned any more.
  void check() const {
    if (attributes_.group != nullptr && attributes_.group->gone.load(std::memory_order_relaxed)) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "the group of task '" + std::string(type_->name) + "' of the graph is gone");
    }
  }

  [[nodiscard]] bool is_cancelled() const noexcept {
    return attributes_.group != nullptr &&
           attributes_.group->cancelled.load(std::memory_order_relaxed);
  }

  void spawn(Core& core, std::int32_t graph_node, std::int32_t priority, ArchMask allowed) const {
    auto its = attributes();
    its.archs = its.archs & allowed;
    its.graph_node = graph_node;
    its.priority = priority;
    auto copy = [this](void* where) { type_->copy_values(where, values_); };
    auto const values = values_ != nullptr ? ValueMaker::calling(copy) : ValueMaker{};
    spawn_task(core, *type_, its, data(), values);
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
      add_access(node, {number(data_[k]), parameter.mode, parameter.reduction});
    }
    return node;
  }

  /// Whether both are the same task, with the same data and attributes; values and label may
  /// differ.
  [[nodiscard]] bool is_like(Prototype const& other) const noexcept {
    auto const& its = other.attributes_;
    return type_ == other.type_ && data_ == other.data_ && lengths_ == other.lengths_ &&
           attributes_.archs.bits == its.archs.bits && attributes_.priority == its.priority &&
           attributes_.group == its.group;
  }

  void swap_values(Prototype& other) noexcept { std::swap(values_, other.values_); }

private:
  TaskType const* type_;
  std::string label_;
  Attributes attributes_;
  std::vector<DataRecord*> data_;      // a reference each
  std::vector<std::uint32_t> lengths_; // of its lists
  void* values_ = nullptr;
  bool complete_ = false; // its values exist
};

/// Tasks, and blocks that run if, or while, a datum says so, in program order.
struct CapturedBlock {
  struct Item {
    std::size_t task = 0; // its number among all tasks of the graph
    std::unique_ptr<CapturedBlock> inner = {};
  };

  explicit CapturedBlock(CapturedCondition on = {}) : condition(on) {
    if (condition.datum != nullptr) {
      condition.datum->handles.fetch_add(1, std::memory_order_relaxed);
    }
  }

  CapturedBlock(CapturedBlock const&) = delete;
  CapturedBlock& operator=(CapturedBlock const&) = delete;

  ~CapturedBlock() {
    if (condition.datum != nullptr) {
      release_handle(condition.datum);
    }
  }

  CapturedCondition const condition; // without a datum: this is the whole graph
  std::vector<Item> items;
  TaskGraph graph; // the items; empty in a graph without conditions
};

/// Whether both have the same form.
[[nodiscard]] inline bool are_alike(CapturedBlock const& a, CapturedBlock const& b) noexcept {
  return a.condition.datum == b.condition.datum && a.condition.repeats == b.condition.repeats &&
         std::equal(a.items.begin(),
                    a.items.end(),
                    b.items.begin(),
                    b.items.end(),
                    [](CapturedBlock::Item const& x, CapturedBlock::Item const& y) {
                      return x.inner == nullptr
                                 ? y.inner == nullptr && x.task == y.task
                                 : y.inner != nullptr && are_alike(*x.inner, *y.inner);
                    });
}

/// The spawns of one capture, in program order.
template <class Core>
class Recording : public CaptureSink {
public:
  explicit Recording(DataRegistry const& registry)
      : CaptureSink{
            [](CaptureSink& sink,
               TaskType const& type,
               Attributes const& attributes,
               SpawnData const& data) {
              return static_cast<Recording&>(sink).add_task(type, attributes, data);
            },
            [](CaptureSink& sink) { static_cast<Recording&>(sink).prototypes.back()->commit(); }},
        registry_(registry) {
    begin_block = [](CaptureSink& sink, CapturedCondition const& condition) {
      static_cast<Recording&>(sink).open(condition);
    };
    end_block = [](CaptureSink& sink) { static_cast<Recording&>(sink).close(); };
  }

  /// Drops a task whose arguments threw.
  void drop_incomplete() {
    if (!prototypes.empty() && !prototypes.back()->complete()) {
      prototypes.pop_back();
      block_->items.pop_back();
    }
  }

  std::vector<std::unique_ptr<Prototype<Core>>> prototypes;
  std::unique_ptr<CapturedBlock> root = std::make_unique<CapturedBlock>();
  bool conditional = false; // there are inner blocks

private:
  void* add_task(TaskType const& type, Attributes const& attributes, SpawnData const& data) {
    drop_incomplete();
    prototypes.push_back(std::make_unique<Prototype<Core>>(type, attributes, data));
    try {
      block_->items.push_back({prototypes.size() - 1});
    } catch (...) {
      prototypes.pop_back();
      throw;
    }
    return prototypes.back()->values();
  }

  void open(CapturedCondition const& condition) {
    drop_incomplete();
    if (condition.datum->registry != &registry_) {
      throw Error(ErrorCode::bad_data,
                  condition.datum->describe(),
                  "is of another runtime than the capture that it is a condition in");
    }
    outer_.push_back(block_);
    try {
      block_->items.push_back({0, std::make_unique<CapturedBlock>(condition)});
    } catch (...) {
      outer_.pop_back();
      throw;
    }
    block_ = block_->items.back().inner.get();
    conditional = true;
  }

  /// A block without tasks does nothing.
  void close() noexcept {
    drop_incomplete();
    auto* const outer = outer_.back();
    outer_.pop_back();
    if (block_->items.empty()) {
      outer->items.pop_back();
    }
    block_ = outer;
  }

  DataRegistry const& registry_;
  CapturedBlock* block_ = root.get();
  std::vector<CapturedBlock*> outer_;
};

} // namespace hetsched::detail
