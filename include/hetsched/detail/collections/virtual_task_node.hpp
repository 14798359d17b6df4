// SPDX-License-Identifier: MIT
#pragma once
// Tasks of a collection on a runtime in virtual time.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/collections/collection_type.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/task_node.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/spawn/ranked_graph.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/virtual_time/replay_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The tasks of a graph as those of a collection. The arguments of a packed task are the number of
/// the graph's and its patches.
class GraphCollection {
public:
  using Node = BaseRuntime<VirtualEngine>;
  using Estimate = std::function<EstimatedTimes(std::size_t)>;

  /// `homes`: the rank of each datum. `node`: one of the ranks', which are alike; it says what
  /// tasks are expected to take, unless `estimate` does. Throws Error: bad_call (what no collection
  /// can have), cannot_run.
  GraphCollection(TaskGraph const& graph,
                  std::span<std::int32_t const> homes,
                  Node& node,
                  Estimate const& estimate)
      : graph_(graph), homes_(homes) {
    check_writers();
    std::vector<Handle<VectorView<std::byte>>> data; // only to be looked at
    auto address = std::uintptr_t{1} << 46U;
    for (auto const bytes : graph.data_bytes()) {
      data.push_back(node.data(reinterpret_cast<std::byte*>(address), bytes));
      address += bytes / 64 * 64 + 64;
    }
    auto& core = node.engine();
    std::vector<DataRecord*> records;
    expected_ = expected_times(core, graph.size(), [&](std::size_t v) {
      auto const& of = graph.nodes()[v];
      records.clear();
      for (auto const& access : of.accesses) {
        records.push_back(data[access.data].record());
      }
      return Prospect{&own_type_of(of), Attributes{}.archs, of.label, records, of.flops};
    });
    for (std::size_t v = 0; v < graph.size(); ++v) {
      if (estimate) {
        replace_expected(v, estimate(v));
      }
      numbers_.push_back(number_of(v));
    }
  }

  GraphCollection(GraphCollection const&) = delete;
  GraphCollection& operator=(GraphCollection const&) = delete;

  [[nodiscard]] TaskGraph const& graph() const noexcept { return graph_; }

  [[nodiscard]] std::span<CollectionType const* const> types() const noexcept { return types_; }

  [[nodiscard]] std::shared_ptr<void const> kept() const { return engine_types_.kept(); }

  [[nodiscard]] std::int32_t home(std::size_t datum) const noexcept { return homes_[datum]; }

  [[nodiscard]] Duration expected(std::size_t v, Arch arch) const noexcept {
    return expected_[v].on[arch.index].value_or(Duration{});
  }

  /// The home of the first datum that the task writes; `none` if it writes none.
  [[nodiscard]] std::int32_t output_of(std::size_t v, std::int32_t none) const noexcept {
    for (auto const& access : graph_.nodes()[v].accesses) {
      if (access.mode != AccessMode::read) {
        return homes_[access.data];
      }
    }
    return none;
  }

  [[nodiscard]] PackedTask packed(std::size_t v, std::size_t task_bytes) const {
    PackedTask task(task_bytes);
    auto* to = task.arguments();
    auto const number = static_cast<std::uint64_t>(v);
    std::memcpy(to, &number, sizeof number);
    to += sizeof number;
    BytesByRank bytes;
    for (auto const& access : graph_.nodes()[v].accesses) {
      auto const patch = patch_of(access.data);
      std::memcpy(to, &patch, sizeof patch);
      to += sizeof patch;
      bytes.add(homes_[access.data], patch.bytes());
    }
    auto const type = numbers_[v];
    task.set_head({.type = type,
                   .archs = types_[type]->archs,
                   .cpu_ns = static_cast<float>(expected(v, ArchHost).ns),
                   .gpu_ns = static_cast<float>(expected(v, ArchCUDA).ns),
                   .near = bytes.most(0)});
    return task;
  }

  [[nodiscard]] static std::size_t number_in(PackedTask const& task) noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, task.arguments(), sizeof number);
    return static_cast<std::size_t>(number);
  }

  /// As a rank spawns it: it writes contributions into memory of its own.
  [[nodiscard]] TaskType const& own_type_of(TaskGraph::Node const& node) {
    as_spawned_.type = node.type;
    as_spawned_.accesses = node.accesses;
    for (auto& access : as_spawned_.accesses) {
      if (access.mode == AccessMode::reduce) {
        access.mode = AccessMode::write;
        access.reduction = nullptr;
      }
    }
    return engine_types_.of(as_spawned_);
  }

private:
  /// A type of the collection, with what it refers to.
  struct Type {
    std::string name;
    std::vector<PatchParameter> patches;
    CollectionType type;
  };

  /// One writer for what is overwritten, and none for what is read.
  void check_writers() const {
    enum : unsigned char { read = 1, written = 2, added_to = 4 };

    std::vector<unsigned char> uses(graph_.data_bytes().size());
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      for (auto const& access : graph_.nodes()[v].accesses) {
        auto const use = access.mode == AccessMode::read     ? read
                         : access.mode == AccessMode::write  ? written
                         : access.mode == AccessMode::reduce ? added_to
                                                             : 0;
        auto& others = uses[access.data];
        if (use == 0 || (others | use) != use || (others == written && use == written)) {
          throw Error(ErrorCode::bad_call,
                      text("task %zu", v),
                      text("tasks of a collection are independent: they read a datum, add to it "
                           "(CW), or one of them overwrites it (W); datum %u",
                           access.data));
        }
        others = static_cast<unsigned char>(others | use);
      }
    }
  }

  void replace_expected(std::size_t v, EstimatedTimes const& times) {
    for (auto const& [arch, time] :
         {std::pair(ArchHost.value, times.cpu), {ArchCUDA.value, times.gpu}}) {
      if (expected_[v].archs.has(arch)) {
        expected_[v].on[arch.index] = time;
      }
    }
  }

  [[nodiscard]] PatchOf patch_of(std::uint32_t datum) const noexcept {
    auto const bytes = graph_.data_bytes()[datum];
    PatchOf patch{.columns = 1, .array = datum, .element_bytes = 1};
    while (bytes / patch.element_bytes > std::uint32_t(-1)) {
      patch.element_bytes *= 2;
    }
    patch.rows =
        static_cast<std::uint32_t>((bytes + patch.element_bytes - 1) / patch.element_bytes);
    return patch;
  }

  std::uint16_t number_of(std::size_t v) {
    auto const& node = graph_.nodes()[v];
    auto const by = expected_[v].archs;
    auto const archs = static_cast<std::uint16_t>((by.has(ArchHost) ? PackedHead::cpu : 0) |
                                                  (by.has(ArchCUDA) ? PackedHead::gpu : 0));
    auto const [found, fresh] =
        by_key_.try_emplace({&own_type_of(node), archs}, static_cast<std::uint16_t>(types_.size()));
    if (fresh) {
      auto& type = kept_types_.emplace_back();
      type.name = node.type;
      auto offset = sizeof(std::uint64_t);
      for (auto const& access : node.accesses) {
        type.patches.push_back({access.mode == AccessMode::read     ? PatchUse::get
                                : access.mode == AccessMode::reduce ? PatchUse::accumulate
                                                                    : PatchUse::put,
                                offset});
        offset += sizeof(PatchOf);
      }
      type.type = {&type, type.name, archs, offset, type.patches, nullptr};
      types_.push_back(&type.type);
    }
    return found->second;
  }

  TaskGraph const& graph_;
  std::span<std::int32_t const> homes_;
  GraphTypes engine_types_;
  TaskGraph::Node as_spawned_;
  std::vector<ExpectedTimes> expected_;
  std::map<std::pair<TaskType const*, std::uint16_t>, std::uint16_t> by_key_;
  std::deque<Type> kept_types_;
  std::vector<CollectionType const*> types_;
  std::vector<std::uint16_t> numbers_; // of the types of the graph's tasks
};

/// Data have addresses, and no memory.
class VirtualTaskNode final : public TaskNode {
public:
  using Node = BaseRuntime<VirtualEngine>;

  /// `values`: the window of all ranks' arrays.
  VirtualTaskNode(Node& node, GraphCollection& tasks, RmaOperations& rma, Window values)
      : node_(node), core_(node.engine()), tasks_(tasks), rma_(rma), values_(values) {}

  [[nodiscard]] WindowElement element_of(PatchOf const& /*patch*/) const override {
    return WindowElement::byte;
  }

  void attach(PatchBuffer& buffer) override {
    auto const bytes = buffer.patch.bytes();
    auto* const first = reinterpret_cast<std::byte*>(next_address_);
    next_address_ += bytes / 64 * 64 + 64;
    buffer.handle = handle_of<AnyData>(*node_.data(first, bytes).record());
  }

  [[nodiscard]] std::unique_ptr<TaskGroup> make_group() override {
    return std::make_unique<TaskGroup>(node_);
  }

  void spawn(PackedTask const& task,
             TaskGroup& group,
             ArchMask archs,
             DataRecord* const* records) override {
    auto const v = GraphCollection::number_in(task);
    auto const& node = tasks_.graph().nodes()[v];
    auto attributes = attributes_of_node(tasks_.graph(), v);
    attributes.group = &group.state();
    attributes.archs = attributes.archs & archs;
    std::vector<DataRecord*> const data(records, records + node.accesses.size());
    spawn_task(core_, tasks_.own_type_of(node), attributes, data, {});
  }

  void spawn_use(DataRecord& record, AccessMode mode, ExternalUse& use) override {
    spawn_uncounted(core_, external_type, record, mode, {.external = &use});
  }

  [[nodiscard]] bool is_home(TaskRecord& use) override { return core_.holds_at_home(use); }

  void end_use(TaskRecord& use, bool /*failed*/) override { core_.end_external(use); }

  [[nodiscard]] Step<> transfer(PatchUse how, PatchBuffer& buffer) override {
    WindowPatch const patch{.rank = tasks_.home(buffer.patch.array),
                            .columns = buffer.patch.bytes()};
    RmaResult result;
    rma_.transfer(how, values_, patch, nullptr, 0, result);
    co_await result;
    result.value();
  }

private:
  Node& node_;
  VirtualCore& core_;
  GraphCollection& tasks_;
  RmaOperations& rma_;
  Window values_;
  std::uintptr_t next_address_ = std::uintptr_t{1} << 44U;
};

} // namespace hetsched::detail
