// SPDX-License-Identifier: MIT
#pragma once
// From a spawn's attributes and arguments to a registered task.

#include <hetsched/detail/check_task.hpp>
#include <hetsched/detail/dataflow.hpp>
#include <hetsched/detail/nesting.hpp>
#include <hetsched/group.hpp>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace hetsched::detail {

/// What the attributes of a spawn add up to.
struct Attributes {
  ArchMask archs{0xff};
  std::int32_t priority = 0;
  std::string_view label;
  GroupState* group = nullptr;
  std::int32_t graph_node = -1;

  template <std::uint8_t Index>
  void apply(SetArch<Index>) noexcept {
    archs = archs & ArchMask::only(Arch{Index});
  }

  void apply(PriorityAttribute attribute) noexcept { priority = attribute.value; }

  void apply(LabelAttribute attribute) noexcept { label = attribute.text; }

  void apply(GroupAttribute attribute) noexcept { group = attribute.state; }
};

template <class A>
concept attribute = requires(Attributes& all, A const& a) { all.apply(a); };

template <class T, std::uint8_t Index>
constexpr void check_arch(SetArch<Index> const*) {
  (void)sizeof(BodyForArch<T, Index>);
}

template <class T>
constexpr void check_arch(void const*) {
}

/// The data among the arguments of a spawn of T, in order.
template <class T, class... Args>
[[nodiscard]] auto data_of(Args const&... arguments) {
  using S = SignatureOf<T>;
  std::array<DataRecord*, S::data_count> data{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto put = [&]<std::size_t K>(std::integral_constant<std::size_t, K>, auto const& argument) {
      if constexpr (!S::template At<K>::is_value) {
        data[S::template data_index<K>] = argument.record();
      }
    };
    (void)put;
    (put(std::integral_constant<std::size_t, I>{}, arguments), ...);
  }(std::index_sequence_for<Args...>{});
  return data;
}

/// Constructs the by-value arguments of a spawn of T.
template <class T, class... Args>
void construct_values(void* where, Args&&... arguments) {
  using Values = typename SignatureOf<T>::Values;
  if constexpr (SignatureOf<T>::stores_values) {
    new (where) Values(typename Values::FromArguments{}, std::forward<Args>(arguments)...);
  }
}

/// A capture in progress, as a spawn sees it.
struct CaptureSink {
  /// Records a task; where its by-value arguments are to be constructed.
  void* (*add)(CaptureSink& sink,
               TaskType const& type,
               Attributes const& attributes,
               std::span<DataRecord* const> data);
  /// The arguments of the task added last exist.
  void (*commit)(CaptureSink& sink);
};

/// A task being made: allocated and filled by the constructor, given its values by the user of this
/// class, registered by `submit`. Cleans up if it comes to that; nothing was spawned then.
template <class Core>
class TaskDraft {
public:
  using Host = typename Core::Host;

  [[gnu::always_inline]] TaskDraft(Core& core,
                                   Host& host,
                                   TaskType const& type,
                                   Attributes const& attributes,
                                   std::span<DataRecord* const> data)
      : host_(host) {
    auto const archs = type.archs & attributes.archs;
    if (!core.has_worker_of(archs)) [[unlikely]] {
      refuse(type);
    }
    auto const label_offset =
        TaskRecord::values_offset(data.size(), type.value_align) + type.value_bytes;
    task_ = host.allocate(label_offset + attributes.label.size());
    auto* const parent = host.spawner();
    host.start_record(*task_, type, parent);
    task_->archs.store(archs.bits, std::memory_order_relaxed);
    task_->priority = attributes.priority;
    task_->group = attributes.group;
    task_->graph_node = attributes.graph_node;
    if (!attributes.label.empty()) {
      auto* const text = reinterpret_cast<char*>(task_) + label_offset;
      std::memcpy(text, attributes.label.data(), attributes.label.size());
      task_->label = text;
      task_->label_bytes = static_cast<std::uint32_t>(attributes.label.size());
    }
    if (!data.empty()) {
      fill_accesses(data, parent, core.current_domain());
    }
  }

  TaskDraft(TaskDraft const&) = delete;
  TaskDraft& operator=(TaskDraft const&) = delete;

  [[gnu::always_inline]] ~TaskDraft() {
    if (task_ != nullptr) [[unlikely]] {
      host_.recycle(*task_);
    }
  }

  /// Where the by-value arguments are to be constructed.
  [[nodiscard]] void* values() noexcept { return task_->values(); }

  /// Registers the task; its values exist. It may have ended when this returns.
  [[gnu::always_inline]] void submit() {
    auto& task = *task_;
    host_.count_spawn(task);
    try {
      if (task.access_count == 0) {
        task.pending.store(0, std::memory_order_relaxed);
        host_.ready(task);
      } else if (task.has_reduce) {
        submit_contribution();
      } else {
        register_accesses(host_, task);
      }
    } catch (...) {
      withdraw(task);
      throw;
    }
    task_ = nullptr;
  }

private:
  [[noreturn, gnu::cold]] static void refuse(TaskType const& type) {
    throw Error(ErrorCode::cannot_run, culprit(type), "no worker of this runtime can run it");
  }

  static std::string culprit(TaskType const& type) {
    return "task '" + std::string(type.name) + "'";
  }

  [[gnu::cold]] void withdraw(TaskRecord& task) {
    host_.uncount_spawn(task);
    if (auto* const destroy = task.type_of().destroy_values) {
      destroy(task.values());
    }
  }

  [[gnu::noinline]] void
  fill_accesses(std::span<DataRecord* const> data, TaskRecord* parent, Domain& domain) {
    auto const* const parameters = task_->type_of().parameters.data();
    auto* const accesses = task_->accesses();
    bool commutes = false;
    bool reduces = false;
    try {
      for (std::uint32_t k = 0; k < data.size(); ++k) {
        if (data[k] == nullptr) {
          throw Error(ErrorCode::bad_data, culprit(task_->type_of()), "was given an empty handle");
        }
        auto const [mode, reduction] = parameters[k];
        auto& queue = find_queue(*data[k], mode, reduction, parent, domain);
        new (accesses + k) Access{&queue, nullptr, nullptr, mode, false, k};
        commutes = commutes || mode == AccessMode::commute;
        reduces = reduces || mode == AccessMode::reduce;
      }
    } catch (...) {
      host_.recycle(*task_);
      throw;
    }
    task_->has_commute = commutes;
    task_->has_reduce = reduces;
    task_->access_count = static_cast<std::uint32_t>(data.size());
  }

  /// Once registered, the task may be gone: what is to be listed is noted before.
  void submit_contribution() {
    Array<AccessQueue*> queues;
    for (auto const& access : std::span(task_->accesses(), task_->access_count)) {
      if (access.mode == AccessMode::reduce) {
        queues.push_back(access.queue);
      }
    }
    register_accesses(host_, *task_);
    for (auto* queue : queues) {
      list_unmerged(*queue);
    }
  }

  Host& host_;
  TaskRecord* task_ = nullptr;
};

/// What constructs the by-value arguments of one spawn; null if it has none.
struct ValueMaker {
  void (*construct)(void* arguments, void* where) = nullptr;
  void* arguments = nullptr;
};

/// One spawn by the calling thread. Not a template of the task's type: a program is spared to
/// compile it for each.
template <class Core>
[[gnu::noinline]] void spawn_task(Core& core,
                                  TaskType const& type,
                                  Attributes const& attributes,
                                  std::span<DataRecord* const> data,
                                  ValueMaker values) {
  typename Core::Spawner spawner(core);
  spawner.throttle();
  TaskDraft<Core> draft(core, spawner.host(), type, attributes, data);
  if (values.construct != nullptr) {
    values.construct(values.arguments, draft.values());
  }
  draft.submit();
}

} // namespace hetsched::detail
