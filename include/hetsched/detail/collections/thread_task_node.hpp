// SPDX-License-Identifier: MIT
#pragma once
// Tasks of a collection on a runtime on threads.

#include <hetsched/collections/task_adder.hpp>
#include <hetsched/detail/collections/collection_context.hpp>
#include <hetsched/detail/collections/task_node.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hetsched::detail {

class ThreadTaskNode final : public TaskNode {
public:
  ThreadTaskNode(CollectionContext& context, TaskAdder const& adder)
      : context_(context), core_(context.runtime.engine()), adder_(adder) {}

  [[nodiscard]] WindowElement element_of(PatchOf const& patch) const override {
    return context_.space.layout(patch.array).element;
  }

  void attach(PatchBuffer& buffer) override {
    buffer.memory.reset(new std::byte[buffer.patch.bytes()]); // NOLINT: aligned for all elements
    buffer.handle = buffer.element == WindowElement::f32   ? register_as<float>(buffer)
                    : buffer.element == WindowElement::f64 ? register_as<double>(buffer)
                                                           : register_as<std::int64_t>(buffer);
  }

  [[nodiscard]] std::unique_ptr<TaskGroup> make_group() override {
    return std::make_unique<TaskGroup>(context_.runtime);
  }

  void spawn(PackedTask const& task,
             TaskGroup& group,
             ArchMask archs,
             DataRecord* const* records) override {
    auto const& type = *context_.types[task.head().type];
    type.spawn(context_.typed_runtime, group, adder_, archs, task.arguments(), records);
  }

  void spawn_use(DataRecord& record, AccessMode mode, ExternalUse& use) override {
    spawn_uncounted(core_, external_type, record, mode, {.external = &use});
  }

  [[nodiscard]] bool is_home(TaskRecord& use) override {
    ExternalTasks::bring_home(use);
    return true;
  }

  void end_use(TaskRecord& use, bool failed) override { ExternalTasks::end(core_, use, failed); }

  [[nodiscard]] Step<> transfer(PatchUse kind, PatchBuffer& buffer) override {
    return context_.space.transfer(kind, buffer.patch, buffer.memory.get(), buffer.patch.rows);
  }

private:
  template <class T>
  [[nodiscard]] Handle<AnyData> register_as(PatchBuffer& buffer) {
    auto* const elements = reinterpret_cast<T*>(buffer.memory.get());
    auto const& patch = buffer.patch;
    auto const handle = context_.runtime.data(elements, patch.rows, patch.columns, patch.rows);
    return handle_of<AnyData>(*handle.record());
  }

  CollectionContext& context_;
  ThreadCore& core_;
  TaskAdder adder_;
};

} // namespace hetsched::detail
