// SPDX-License-Identifier: MIT
#pragma once
// From a spawn's attributes and arguments to a registered task.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/spawn/check_task.hpp>
#include <hetsched/detail/spawn/spawn_data.hpp>
#include <hetsched/handles/group.hpp>

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

template <class A>
concept attribute = requires(Attributes& all, A const& a) { all.apply(a); };

inline constexpr Attributes no_attributes;

/// Stands for them without a copy that each spawn would write down.
struct NoAttributes {
  operator Attributes const&() const noexcept { return no_attributes; }
};

template <class... A>
[[nodiscard]] auto attributes_of(A const&... attributes) noexcept {
  if constexpr ((std::is_same_v<A, NoAttribute> && ...)) {
    return NoAttributes{};
  } else {
    Attributes all;
    (all.apply(attributes), ...);
    return all;
  }
}

template <class T, std::uint8_t Index>
constexpr void check_arch(SetArch<Index> const*) {
  (void)sizeof(BodyForArch<T, Index>);
}

template <class T>
constexpr void check_arch(void const*) {
}

/// Constructs the by-value arguments of a spawn of T.
template <class T, class... Args>
void construct_values(void* where, Args&&... arguments) {
  using Values = typename SignatureOf<T>::Values;
  if constexpr (SignatureOf<T>::stores_values) {
    new (where) Values(typename Values::FromArguments{}, std::forward<Args>(arguments)...);
  }
}

/// What the tasks of a block depend on beside their data.
struct CapturedCondition {
  DataRecord* datum = nullptr;
  bool (*holds)(void const* value) = nullptr; // of the datum, in host memory
  bool repeats = false;                       // the block runs while that holds
};

/// A capture in progress, as a spawn sees it.
struct CaptureSink {
  /// Records a task; where its by-value arguments are to be constructed.
  void* (*add)(CaptureSink& sink,
               TaskType const& type,
               Attributes const& attributes,
               SpawnData const& data);
  /// The arguments of the task added last exist.
  void (*commit)(CaptureSink& sink);
  char const* place = "capture"; // for messages
  /// Tasks up to the end of the block depend on the condition. Null: there are no blocks.
  void (*begin_block)(CaptureSink& sink, CapturedCondition const& condition) = nullptr;
  void (*end_block)(CaptureSink& sink) = nullptr;
};

/// What is captured there is no such operation.
[[noreturn, gnu::cold]] inline void refuse_inside(CaptureSink const& sink, char const* operation) {
  throw Error(ErrorCode::bad_call, operation, text("not allowed inside %s", sink.place));
}

/// A block of a capture.
class CaptureBlock {
public:
  CaptureBlock(CaptureSink& sink, char const* operation, CapturedCondition const& condition)
      : sink_(sink) {
    if (sink.begin_block == nullptr) {
      refuse_inside(sink, operation);
    }
    sink.begin_block(sink, condition);
  }

  CaptureBlock(CaptureBlock const&) = delete;
  CaptureBlock& operator=(CaptureBlock const&) = delete;

  ~CaptureBlock() { sink_.end_block(sink_); }

private:
  CaptureSink& sink_;
};

/// Refuses whatever a body that may not spawn asks of the runtime.
class BodySink : public CaptureSink {
public:
  /// `body`: its kind, for messages.
  constexpr explicit BodySink(char const* body)
      : CaptureSink{
            [](CaptureSink& sink, TaskType const&, Attributes const&, SpawnData const&) -> void* {
              refuse_inside(sink, "spawn");
            },
            [](CaptureSink&) {},
            body} {}
};

/// Copies a label into the block of a task, so many bytes into it.
inline void put_label(TaskRecord& task, std::size_t at, std::string_view label) noexcept {
  std::memcpy(reinterpret_cast<char*>(&task) + at, label.data(), label.size());
  task.label_at = static_cast<std::uint32_t>(at);
  task.label_bytes = static_cast<std::uint32_t>(label.size());
}

/// A task that was counted turned out to be in error: it was never spawned.
template <class Host>
[[gnu::cold]] void withdraw(Host& host, TaskRecord& task) {
  host.uncount_spawn(task);
  if (auto* const destroy = task.type_of().destroy_values) {
    destroy(task.values());
  }
}

/// A task being made: allocated and filled by the constructor, given its values by the user of this
/// class, registered by `submit`. Cleans up if it comes to that; nothing was spawned then. `bare`:
/// a task without data, which is ready at once.
template <class Core, class Host, bool bare>
class TaskDraft {
public:
  [[gnu::always_inline]] TaskDraft(Core& core,
                                   Host& host,
                                   TaskType const& type,
                                   Attributes const& attributes,
                                   SpawnData const& data)
      : host_(host) {
    if (!core.has_worker_of(type.archs & attributes.archs)) [[unlikely]] {
      refuse(type);
    }
    bool const labelled = !attributes.label.empty();
    task_ = host.allocate(labelled || type.lists != 0 // NOLINT: one branch where neither is so
                              ? size_class_of(type, data.size(), attributes.label.size())
                              : type.size_class);
    host.start_record(*task_, type, host.spawner(), attributes);
    if (labelled) [[unlikely]] {
      put_label(*task_, record_bytes(type, data.size()), attributes.label);
    }
    if constexpr (!bare) {
      if (type.lists != 0) [[unlikely]] {
        fill_lists(data, host.spawner(), core.current_domain());
      } else {
        fill_accesses(data.records, host.spawner(), core.current_domain());
      }
      if (core.devices() != nullptr) [[unlikely]] {
        keep_off_small_devices(core, data.records);
      }
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

  [[nodiscard]] TaskId id() const noexcept { return task_->id(); }

  /// Leaves the task to the caller.
  [[nodiscard]] TaskRecord& put_aside() noexcept { return *std::exchange(task_, nullptr); }

  /// Registers the task; its values exist. It may have ended when this returns.
  [[gnu::always_inline]] void submit() {
    auto& task = *task_;
    host_.count_spawn(task);
    try {
      if constexpr (bare) {
        if constexpr (Core::in_virtual_time) {
          host_.note_spawn(task); // else `ready` sees to it
        }
        host_.ready(task);
      } else {
        register_accesses_of(task);
      }
    } catch (...) {
      withdraw(host_, task);
      throw;
    }
    task_ = nullptr;
  }

private:
  [[nodiscard, gnu::noinline]] static std::size_t
  size_class_of(TaskType const& type, std::size_t data, std::size_t label) noexcept {
    return SizeClass::of(record_bytes(type, data) + label);
  }

  void register_accesses_of(TaskRecord& task) {
    host_.note_spawn(task);
    try {
      if (task.type_of().reduces) {
        submit_contribution();
      } else {
        register_accesses(host_, task);
      }
    } catch (...) {
      host_.note_end(task);
      throw;
    }
  }

  [[noreturn, gnu::cold]] static void refuse(TaskType const& type) {
    throw Error(ErrorCode::cannot_run, culprit(type), "no worker of this runtime can run it");
  }

  [[gnu::cold]] static std::string culprit(TaskType const& type) {
    return text("task '%s'", std::string(type.name).c_str());
  }

  /// A task whose data do not fit into a device is for the host.
  [[gnu::noinline, gnu::cold]] void keep_off_small_devices(Core const& core,
                                                           std::span<DataRecord* const> data) {
    ArchMask const archs{task_->archs.load(std::memory_order_relaxed)};
    if (!archs.has(ArchCUDA)) {
      return;
    }
    auto const shortage = core.devices()->shortage(data);
    if (shortage.bytes == 0) {
      return;
    }
    if (!archs.has(ArchHost)) {
      auto const& type = task_->type_of();
      host_.recycle(*task_);
      throw Error(ErrorCode::cannot_run,
                  culprit(type),
                  text("its data do not fit into %s: %zu bytes too many",
                       std::string(shortage.device).c_str(),
                       shortage.bytes));
    }
    task_->archs.store(ArchMask::only(ArchHost).bits, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void
  fill_accesses(std::span<DataRecord* const> data, TaskRecord* parent, Domain& domain) {
    auto const* const parameters = task_->type_of().parameters.data();
    try {
      for (std::uint32_t k = 0; k < data.size(); ++k) {
        add_access(k, data[k], parameters[k], parent, domain);
      }
    } catch (...) {
      host_.recycle(*task_);
      throw;
    }
    task_->access_count = static_cast<std::uint32_t>(data.size());
  }

  /// Behind the others, those of the lists.
  [[gnu::noinline]] void fill_lists(SpawnData const& data, TaskRecord* parent, Domain& domain) {
    auto const& type = task_->type_of();
    auto k = static_cast<std::uint32_t>(type.parameters.size() - type.lists);
    fill_accesses(data.records.first(k), parent, domain);
    try {
      for (std::uint16_t list = 1; list <= type.lists; ++list) {
        for (auto const end = k + data.lengths[list - 1]; k < end; ++k) {
          add_access(k, data.records[k], type.parameter(k, list), parent, domain);
          task_->accesses()[k].list = list;
        }
      }
    } catch (...) {
      host_.recycle(*task_);
      throw;
    }
    task_->access_count = k;
  }

  [[gnu::always_inline]] void add_access(std::uint32_t k,
                                         DataRecord* record,
                                         ParameterInfo const& parameter,
                                         TaskRecord* parent,
                                         Domain& domain) {
    if (record == nullptr) {
      throw Error(ErrorCode::bad_data, culprit(task_->type_of()), "was given an empty handle");
    }
    auto const [mode, reduction] = parameter;
    auto& queue = find_queue(*record, mode, reduction, parent, domain);
    new (task_->accesses() + k) Access{&queue, nullptr, {}, mode, false, 0, k};
  }

  /// Once registered, the task may be gone: what is to be listed is noted before.
  [[gnu::noinline]] void submit_contribution() {
    Array<AccessQueue*> queues;
    for (auto const& access : std::span(task_->accesses(), task_->access_count)) {
      if (access.mode == AccessMode::reduce) {
        queues.push_back(access.queue);
      }
    }
    register_accesses(host_, *task_, true);
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

  /// By `f(where)`; f must outlive this.
  template <class F>
  [[nodiscard]] static ValueMaker calling(F& f) noexcept {
    return {[](void* made, void* where) { (*static_cast<F*>(made))(where); }, &f};
  }
};

/// One spawn through a host. Not a template of the task's type: a program is spared to compile it
/// for each.
template <bool bare, class Core, class Host>
[[gnu::always_inline]] inline void spawn_through(Core& core,
                                                 Host& host,
                                                 TaskType const& type,
                                                 Attributes const& attributes,
                                                 SpawnData const& data,
                                                 ValueMaker values) {
  TaskDraft<Core, Host, bare> draft(core, host, type, attributes, data);
  if (values.construct != nullptr) {
    values.construct(values.arguments, draft.values());
  }
  draft.submit();
}

/// One spawn by the calling thread.
template <class Core>
[[gnu::noinline]] void spawn_task(Core& core,
                                  TaskType const& type,
                                  Attributes const& attributes,
                                  SpawnData const& data,
                                  ValueMaker values) {
  typename Core::Spawner spawner(core);
  if (data.empty()) {
    spawn_through<true>(core, spawner.host(), type, attributes, data, values);
  } else {
    spawn_through<false>(core, spawner.host(), type, attributes, data, values);
  }
}

} // namespace hetsched::detail
