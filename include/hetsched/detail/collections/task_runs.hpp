// SPDX-License-Identifier: MIT
#pragma once
// From the queue of a rank to the node's runtime: patches come, tasks run, what they wrote goes.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/patch_buffers.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/collections/task_node.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/handles/group.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A patch of a running task: an external task that reads or writes the buffer on this rank.
struct GrantedPatch : ExternalUse {
  GrantedUses<GrantedPatch>* all = nullptr;
  GrantedPatch* next = nullptr;
  TaskRecord* task = nullptr; // since it was granted
  Event granted;              // under the lock

  GrantedPatch()
      : ExternalUse{[](ExternalUse& use, TaskRecord& its_task) noexcept {
          auto& own = static_cast<GrantedPatch&>(use);
          own.task = &its_task;
          own.all->add(own);
        }} {}
};

/// Admits some tasks at a time. Each is a task of the runtime, with tasks before it that get what
/// it reads and tasks behind it that give what it wrote, so it waits for its patches as any task
/// waits for data, and on a device they are copied ahead as any data. This is figure 4 of Arafat et
/// al. 2016: GAFetchQ and GAUpdateQ are the tasks that get and give, the four queues between them
/// the runtime's.
class TaskRuns {
public:
  TaskRuns(RankContext& context, RankQueue& queue, TaskNode& node)
      : context_(context), queue_(queue), node_(node), buffers_(node, context.options.kept_bytes) {
    auto const& options = context.options;
    cpu_.limit = options.cpu_tasks != 0 ? options.cpu_tasks : least_limit();
    gpu_.limit = options.gpu_tasks != 0 ? options.gpu_tasks : 4 * context.workers.gpu;
  }

  [[nodiscard]] bool idle() const noexcept { return cpu_.admitted + gpu_.admitted == 0; }

  /// Goes on with what has waited for its data. Returns whether there was any.
  bool go_on() {
    auto* first = granted_.take();
    bool const any = first != nullptr;
    while (first != nullptr) {
      auto* const next = first->next;
      first->granted.happen(); // it may be gone then
      first = next;
    }
    return any;
  }

  /// Takes tasks from the queue while fewer than the limits are admitted.
  bool admit() {
    adapt_limit();
    bool any = false;
    while (context_.workers.cpu != 0 && cpu_.has_room() && admit_one(cpu_)) {
      any = true;
    }
    while (gpu_.has_room() && admit_one(gpu_)) {
      any = true;
    }
    return any;
  }

  /// Failures are counted anew.
  void begin() noexcept { failed_ = 0; }

  /// All have ended. Others may change the arrays.
  void end() { buffers_.forget(); }

  /// Since `begin`.
  [[nodiscard]] std::int64_t failed() const noexcept { return failed_; }

  /// What the first task threw that threw anything, once; else null.
  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    return std::exchange(first_failure_, nullptr);
  }

private:
  static constexpr int most_admitted = 64; // for each worker
  static constexpr ArchMask any_worker{0xff};

  /// Tasks that came from one end of the queue.
  struct Admitted {
    bool for_gpu = false;
    int admitted = 0;
    int limit = 0;
    std::int64_t expected_ns = 0; // of all of them, on one worker

    [[nodiscard]] bool has_room() const noexcept { return admitted < limit; }
  };

  /// A task that is being run: its patches, and how it ended.
  struct Run {
    std::vector<PatchBuffer*> buffers;
    std::vector<GrantedPatch> outputs; // by patch; those that are only read are not used
    std::exception_ptr failure;
  };

  [[nodiscard]] int least_limit() const noexcept { return 2 * std::max(context_.workers.cpu, 1); }

  bool admit_one(Admitted& of) {
    auto const next = queue_.local().next(of.for_gpu);
    if (!next || is_left(*next, of)) {
      return false;
    }
    ++of.admitted;
    of.expected_ns += next->ns(of.for_gpu);
    context_.routines.start(run(*queue_.local().pop(of.for_gpu), of));
    return true;
  }

  /// Whether a task that is better on the other kind of worker is left to that: it is expected to
  /// be done with it earlier, even if all other tasks of that kind that are here come before.
  [[nodiscard]] bool is_left(PackedHead const& head, Admitted const& of) const {
    auto const& other = of.for_gpu ? cpu_ : gpu_;
    auto const workers = [this](Admitted const& those) {
      return static_cast<double>(those.for_gpu ? context_.workers.gpu : context_.workers.cpu);
    };
    if (!context_.options.leave_to_faster || context_.rule.queues == StealQueues::unsorted ||
        head.is_gpu() == of.for_gpu || workers(other) == 0 ||
        head.archs != (PackedHead::cpu | PackedHead::gpu)) {
      return false;
    }
    if (of.admitted >= 2 * static_cast<int>(workers(of))) {
      return true; // until a worker has nothing else, thieves may have taken what keeps the other
                   // kind
    }
    auto const waiting = other.expected_ns + queue_.local().waiting_ns(other.for_gpu);
    auto const here = static_cast<double>(of.expected_ns) / workers(of) +
                      static_cast<double>(head.ns(of.for_gpu));
    return static_cast<double>(waiting) / workers(other) < here;
  }

  /// Twice as many at a time if half of them have ended since the last look, fewer if hardly any
  /// have for a while.
  void adapt_limit() {
    auto const ended = std::exchange(ended_since_look_, 0);
    if (context_.options.cpu_tasks != 0) {
      return;
    }
    if (2 * ended >= cpu_.limit) {
      cpu_.limit = std::min(2 * cpu_.limit, most_admitted * std::max(context_.workers.cpu, 1));
      slow_looks_ = 0;
    } else if (16 * ended < cpu_.limit && ++slow_looks_ == 16) {
      cpu_.limit = std::max(cpu_.limit / 2, least_limit());
      slow_looks_ = 0;
    }
  }

  Step<> run(PackedTask task, Admitted& of) {
    auto const& type = *context_.types[task.head().type];
    auto group = take_group();
    Run own;
    try {
      spawn(type, task, *group, of.for_gpu ? ArchCUDA.value : ArchHost.value, own);
    } catch (...) {
      own.failure = std::current_exception();
    }
    for (std::size_t k = 0; k < own.outputs.size(); ++k) {
      auto& output = own.outputs[k];
      if (output.all == nullptr) {
        continue;
      }
      auto& granted = output.granted;
      co_await granted;
      co_await give(type.patches[k].use, *own.buffers[k], output, own.failure);
    }
    while (!group->state().empty()) { // the task holds no datum any more: nearly at its end
      co_await context_.looks.next();
    }
    if (auto const failed = group->state().failure.take()) {
      own.failure = failed->error;
    }
    groups_.push_back(std::move(group));
    for (auto* const buffer : own.buffers) {
      buffers_.release(*buffer);
    }
    note_end(own.failure);
    --of.admitted;
    of.expected_ns -= task.head().ns(of.for_gpu);
  }

  [[nodiscard]] std::unique_ptr<TaskGroup> take_group() {
    if (groups_.empty()) {
      return node_.make_group();
    }
    auto group = std::move(groups_.back());
    groups_.pop_back();
    return group;
  }

  void note_end(std::exception_ptr const& failure) {
    ++context_.stats.completed;
    ++ended_since_look_;
    if (failure) {
      ++context_.stats.failed;
      ++failed_;
      if (!first_failure_) {
        first_failure_ = failure;
      }
    }
  }

  /// `kind`: what it left the queue for.
  void
  spawn(CollectionType const& type, PackedTask const& task, TaskGroup& group, Arch kind, Run& own) {
    auto const count = type.patches.size();
    own.buffers.reserve(count);
    std::vector<DataRecord*> records(count);
    for (std::size_t k = 0; k < count; ++k) {
      auto const patch = type.patch(task.arguments(), k);
      own.buffers.push_back(type.patches[k].use == PatchUse::get ? &get(patch) : &room_for(patch));
      records[k] = &own.buffers.back()->record();
    }
    own.outputs = std::vector<GrantedPatch>(count);
    if (!context_.options.keep_kind || !spawned_for(kind, task, group, records)) {
      node_.spawn(task, group, any_worker, records.data());
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (type.patches[k].use != PatchUse::get) {
        spawn_external(*own.buffers[k], AccessMode::read, own.outputs[k]);
      }
    }
  }

  /// Whether it can run on such a worker: data may be too large, devices may be gone.
  bool spawned_for(Arch kind,
                   PackedTask const& task,
                   TaskGroup& group,
                   std::vector<DataRecord*> const& records) {
    try {
      node_.spawn(task, group, ArchMask::only(kind), records.data());
      return true;
    } catch (Error const& error) {
      if (error.code() != ErrorCode::cannot_run) {
        throw;
      }
      return false;
    }
  }

  /// If it throws, the use is not used.
  void spawn_external(PatchBuffer& buffer, AccessMode mode, GrantedPatch& use) {
    use.all = &granted_;
    try {
      node_.spawn_use(buffer.record(), mode, use);
    } catch (...) {
      use.all = nullptr;
      throw;
    }
  }

  [[nodiscard]] PatchBuffer& room_for(PatchOf const& patch) {
    return buffers_.make(patch, node_.element_of(patch), false);
  }

  PatchBuffer& get(PatchOf const& patch) {
    if (auto* const there = buffers_.find(patch)) {
      ++context_.stats.get_hits;
      return *there;
    }
    auto& buffer = buffers_.make(patch, node_.element_of(patch), true);
    ++context_.stats.gets;
    ++buffer.users;
    context_.routines.start(bring(buffer));
    return buffer;
  }

  /// What a task reads, from the array.
  Step<> bring(PatchBuffer& buffer) {
    GrantedPatch use;
    bool failed = false;
    try {
      spawn_external(buffer, AccessMode::write, use);
    } catch (...) {
      failed = true;
    }
    if (!failed) {
      auto& granted = use.granted;
      co_await granted;
      try {
        while (!node_.is_home(*use.task)) {
          co_await context_.looks.next();
        }
        co_await node_.transfer(PatchUse::get, buffer);
        context_.stats.bytes_got += buffer.patch.bytes();
      } catch (...) {
        failed = true;
      }
      node_.end_use(*use.task, failed);
    }
    buffers_.release(buffer, failed);
  }

  /// What a task wrote, to the array.
  Step<>
  give(PatchUse how, PatchBuffer& buffer, GrantedPatch& output, std::exception_ptr& failure) {
    bool const spoilt = output.task->accesses()[0].queue->poisoned();
    if (!spoilt) {
      try {
        while (!node_.is_home(*output.task)) {
          co_await context_.looks.next();
        }
        co_await node_.transfer(how, buffer);
        context_.stats.bytes_put += buffer.patch.bytes();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    node_.end_use(*output.task, false);
  }

  RankContext& context_;
  RankQueue& queue_;
  TaskNode& node_;
  PatchBuffers buffers_;
  std::vector<std::unique_ptr<TaskGroup>> groups_; // unused ones
  GrantedUses<GrantedPatch> granted_;              // any thread adds
  Admitted cpu_;
  Admitted gpu_{.for_gpu = true};
  int ended_since_look_ = 0;
  int slow_looks_ = 0;
  std::int64_t failed_ = 0;
  std::exception_ptr first_failure_;
};

} // namespace hetsched::detail
