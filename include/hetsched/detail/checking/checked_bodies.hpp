// SPDX-License-Identifier: MIT
#pragma once
// What engines and devices call while accesses are checked: see AccessCheck.

#include <hetsched/detail/checking/access_checker.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace hetsched::detail {

[[nodiscard]] inline std::string culprit_of(TaskRecord const& task) {
  auto name = "task '" + std::string(task.type_of().name) + "'";
  if (auto const label = task.label_text(); !label.empty() && label != task.type_of().name) {
    name += " (" + std::string(label) + ")";
  }
  return name;
}

/// The tasks whose data a body may use, and all that these declared.
struct Declared {
  std::vector<TaskRecord*> tasks;
  std::vector<WatchedArgument> arguments;

  explicit Declared(CheckedBody const& body) {
    add(*body.task);
    if (body.declares != body.task) {
      add(*body.declares);
    }
    for (auto* task = body.declares; task->type_of().in_parent;) {
      task = task->parent.load(std::memory_order_acquire);
      add(*task);
    }
  }

private:
  void add(TaskRecord& task) {
    tasks.push_back(&task);
    for (std::uint32_t k = 0; k < task.access_count; ++k) {
      auto const& access = task.accesses()[k];
      auto const& queue = *access.queue;
      auto const region = WatchedRegion::of(*queue.data, queue.base, queue.ld);
      if (!region.empty()) {
        arguments.push_back({region, access.mode, access.index + 1, queue.data->describe()});
      }
    }
  }
};

/// See CheckedKernels.
class WatchedKernels final : public CheckedKernels {
public:
  explicit WatchedKernels(CheckedBody const& body)
      : registry_(*body.registry->retain()), task_(body.task), type_(&body.task->type_of()),
        culprit_(culprit_of(*body.declares)), worker_(body.worker) {}

  void places(std::span<void* const> data) override {
    for (std::size_t k = 0; k < data.size() && k < task_->access_count; ++k) {
      auto const& access = task_->accesses()[k];
      auto const& record = *access.queue->data;
      if (record.elements() != 0) {
        arguments_.push_back({WatchedRegion::of(record, data[k], record.shape.rows),
                              access.mode,
                              access.index + 1,
                              record.describe()});
        // The copy of a contribution is here, and not the datum.
        if (access.mode == AccessMode::reduce) {
          arguments_.back().mode = AccessMode::read_write;
        }
      }
    }
  }

  void run(std::span<DeviceBlock const> blocks, void (*kernel)(void*), void* argument) override {
    Watched watched{.registry = &registry_,
                    .type = type_,
                    .culprit = culprit_,
                    .worker = worker_,
                    .arguments = arguments_,
                    .blocks = blocks};
    try {
      AccessChecker::get().watch(watched, [&] { kernel(argument); });
    } catch (Error const& error) {
      if (error.code() != ErrorCode::undeclared_access) {
        throw;
      }
      std::lock_guard const guard(lock_);
      if (error_ == nullptr) {
        error_ = std::current_exception();
      }
    }
  }

  [[nodiscard]] std::exception_ptr error() override {
    std::lock_guard const guard(lock_);
    return error_;
  }

  void retain() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }

  void release() noexcept override {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      registry_.release();
      delete this;
    }
  }

private:
  ~WatchedKernels() = default;

  DataRegistry& registry_; // one reference is held
  TaskRecord* const task_; // during the launch
  TaskType const* const type_;
  std::string const culprit_;
  WorkerId const worker_;
  std::vector<WatchedArgument> arguments_;
  Mutex lock_;
  std::exception_ptr error_;
  Atomic<int> references_{1};
};

/// Not watched, while no body is.
inline void run_unwatched(void (*f)(void*), void* argument) {
  struct Turn {
    Turns& turns;
    bool shared;

    ~Turn() { shared ? turns.end_share() : turns.end_loose(); }
  };

  WatchPause const of_outer;
  auto& turns = AccessChecker::get().turns();
  Turn const turn{turns, turns.share()};
  f(argument);
}

inline constexpr AccessCheck access_checker{
    []() noexcept -> char const* { return nullptr; },
    [](CheckedBody const& body) {
      Declared const declared(body);
      Watched watched{.registry = body.registry,
                      .type = &body.task->type_of(),
                      .culprit = culprit_of(*body.declares),
                      .worker = body.worker,
                      .tasks = declared.tasks,
                      .arguments = declared.arguments};
      AccessChecker::get().watch(watched,
                                 [&] { body.task->type_of().run(body.runtime, *body.task); });
    },
    []() noexcept { AccessChecker::get().pause(); },
    []() noexcept { AccessChecker::get().resume(); },
    [](CheckedBody const& body) -> CheckedKernels* { return new WatchedKernels(body); },
    &run_unwatched,
    []() noexcept { AccessChecker::get().turns().program_waits(); },
    []() noexcept { AccessChecker::get().turns().program_goes_on(); },
    [](DataRecord const& record) noexcept { AccessChecker::get().forget(record); }};

} // namespace hetsched::detail
