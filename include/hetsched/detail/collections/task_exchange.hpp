// SPDX-License-Identifier: MIT
#pragma once
// How the tasks of a collection move between ranks.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/collections/shared_tasks.hpp>
#include <hetsched/detail/collections/task_inbox.hpp>
#include <hetsched/detail/core/random_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Releases tasks to thieves, steals by the rule, and carries what is added to other ranks.
class TaskExchange {
public:
  /// Collective.
  TaskExchange(RankContext& context, RankQueue& queue)
      : context_(context), queue_(queue), windows_(allocate()), shared_(make_shared()),
        inbox_(context.rma,
               windows_.words,
               SharedTasks::words * buffers(),
               windows_.bytes,
               buffers() * context.options.shared_tasks * context.task_bytes,
               context.task_bytes,
               context.options.inbox_tasks),
        random_(context.options.seed * 0x9e3779b97f4a7c15U +
                static_cast<std::uint64_t>(context.rank())) {}

  /// Collective. No operation is under way on any rank.
  void free() {
    context_.port.free(windows_.bytes);
    context_.port.free(windows_.words);
  }

  /// While tasks are run: two routines. `adds`: tasks may come for other ranks.
  void start(bool adds) {
    if (context_.ranks() == 1) {
      return;
    }
    if (context_.rule.trigger != StealTrigger::never) {
      context_.routines.start(balance());
    }
    if (adds) {
      context_.routines.start(carry());
    }
  }

private:
  static constexpr std::int64_t shortest_pause_ns = 5'000;
  static constexpr std::int64_t longest_pause_ns = 1'000'000;

  struct TaskWindows {
    Window words;
    Window bytes;
  };

  /// What this rank is short of.
  struct Shortage {
    bool cpu = false;
    bool gpu = false;

    [[nodiscard]] explicit operator bool() const noexcept { return cpu || gpu; }
  };

  [[nodiscard]] std::size_t buffers() const noexcept {
    return context_.rule.queues == StealQueues::two ? 2 : 1;
  }

  TaskWindows allocate() {
    auto const words = SharedTasks::words * buffers() + TaskInbox::words;
    auto const tasks = buffers() * context_.options.shared_tasks + context_.options.inbox_tasks;
    auto const word_window = context_.port.allocate(WindowElement::word, words);
    return {word_window, context_.port.allocate(WindowElement::byte, tasks * context_.task_bytes)};
  }

  [[nodiscard]] std::deque<SharedTasks> make_shared() {
    std::deque<SharedTasks> all;
    auto const capacity = context_.options.shared_tasks;
    for (std::size_t k = 0; k < buffers(); ++k) {
      all.emplace_back(context_.rma,
                       windows_.words,
                       SharedTasks::words * k,
                       windows_.bytes,
                       k * capacity * context_.task_bytes,
                       context_.task_bytes,
                       capacity);
    }
    return all;
  }

  /// With no more tasks than these it is short of them.
  [[nodiscard]] std::size_t few() const noexcept {
    return static_cast<std::size_t>(std::max(context_.rule.threshold, 0));
  }

  [[nodiscard]] Shortage shortage() const noexcept {
    auto const& local = queue_.local();
    bool const all = local.size() <= few();
    if (context_.workers.gpu == 0) { // it does tasks of both kinds, first those for a core
      return {.cpu = all, .gpu = all && context_.rule.trigger == StealTrigger::all};
    }
    bool const cpu = local.cpu_tasks() <= few();
    bool const gpu = local.gpu_tasks() <= few();
    switch (context_.rule.trigger) {
    case StealTrigger::all:
      return {.cpu = all, .gpu = all};
    case StealTrigger::cpu:
      return {.cpu = cpu, .gpu = false};
    case StealTrigger::gpu:
      return {.cpu = false, .gpu = gpu};
    default:
      return {.cpu = cpu, .gpu = gpu};
    }
  }

  Step<> balance() {
    auto pause = shortest_pause_ns;
    while (!context_.ended) {
      bool moved = co_await release(shortage());
      auto const lack = shortage();
      if (lack && !moved) {
        moved = co_await take_back(lack);
      }
      if (lack && !moved) {
        moved = co_await steal(lack);
      }
      pause = moved || !lack ? shortest_pause_ns : std::min(2 * pause, longest_pause_ns);
      if (lack || moved) {
        co_await context_.looks.after(moved ? 0 : pause);
      } else {
        co_await context_.looks.change(pause);
      }
    }
  }

  /// Half of the tasks of which this rank is not short, and not so many that it is then, if thieves
  /// have taken those of the batch before.
  Step<bool> release(Shortage lack) {
    if (lack.cpu && lack.gpu) {
      co_return false;
    }
    bool any = false;
    for (std::size_t k = 0; k < shared_.size(); ++k) {
      auto const kind = released_kind(k, lack);
      if (kind.none || queue_.local().count(kind.gpu) < 2) {
        continue;
      }
      bool const is_free = co_await shared_[k].is_free();
      if (!is_free) {
        continue;
      }
      auto most = spare();
      most.all = std::min(most.all, shared_[k].capacity());
      auto tasks = queue_.local().take_half(most, kind.gpu);
      if (!tasks.empty()) {
        context_.stats.released += tasks.size();
        co_await shared_[k].release(std::move(tasks));
        any = true;
      }
    }
    co_return any;
  }

  /// Tasks without which this rank is not short of others.
  [[nodiscard]] LocalTasks::Most spare() noexcept {
    auto const left = [this](std::size_t count) {
      return count > few() + 1 ? count - few() - 1 : 0;
    };
    auto const& local = queue_.local();
    auto const trigger = context_.rule.trigger;
    bool const by_kind = context_.workers.gpu != 0 && trigger != StealTrigger::all;
    bool const cpu = by_kind && trigger != StealTrigger::gpu;
    bool const gpu = by_kind && trigger != StealTrigger::cpu;
    return {.all = by_kind ? local.size() : left(local.size()),
            .cpu = cpu ? left(local.cpu_tasks()) : local.cpu_tasks(),
            .gpu = gpu ? left(local.gpu_tasks()) : local.gpu_tasks()};
  }

  /// Which tasks go to a buffer; `gpu` as in LocalTasks.
  struct ReleasedKind {
    bool none = false;
    std::optional<bool> gpu = {};
  };

  [[nodiscard]] ReleasedKind released_kind(std::size_t buffer, Shortage lack) const noexcept {
    if (context_.rule.queues == StealQueues::two) {
      bool const gpu = buffer == 1;
      return {.none = gpu ? lack.gpu : lack.cpu, .gpu = gpu};
    }
    if (context_.rule.queues == StealQueues::unsorted || !lack) {
      return {.none = static_cast<bool>(lack)};
    }
    return {.gpu = lack.cpu};
  }

  /// From what this rank has released itself.
  Step<bool> take_back(Shortage lack) {
    auto const count = co_await take_from(context_.rank(), lack);
    context_.stats.taken_back += count;
    co_return count != 0;
  }

  Step<bool> steal(Shortage lack) {
    ++context_.stats.steal_attempts;
    auto const count = co_await take_from(next_victim(), lack);
    context_.stats.steals += count != 0 ? 1 : 0;
    context_.stats.stolen += count;
    co_return count != 0;
  }

  Step<std::size_t> take_from(int rank, Shortage lack) {
    std::vector<PackedTask> loot;
    bool const nothing = queue_.local().empty();
    auto const take = [&](std::size_t buffer) {
      auto const choose = [this, lack, nothing](BatchState const& state) {
        return choose_loot(context_.rule, state, lack.cpu, lack.gpu, nothing);
      };
      return shared_[buffer].take(rank, choose, context_.rule.retries, loot);
    };
    bool const both = shared_.size() == 2;
    if (!both || lack.cpu) {
      co_await take(0);
    }
    if (both && (lack.gpu || (nothing && loot.empty()))) {
      co_await take(1);
    }
    if (both && !lack.cpu && nothing && loot.empty()) {
      co_await take(0);
    }
    auto const count = loot.size();
    for (auto& task : loot) {
      queue_.push(std::move(task));
    }
    co_return count;
  }

  [[nodiscard]] int next_victim() {
    auto const others = static_cast<std::uint64_t>(context_.ranks() - 1);
    bool const draws = context_.rule.victim == StealVictim::random;
    auto const step = 1 + (draws ? random_.next() : victims_++) % others;
    return static_cast<int>((static_cast<std::uint64_t>(context_.rank()) + step) % (others + 1));
  }

  /// Tasks that others have added here, and those from here to others.
  Step<> carry() {
    for (auto pause = shortest_pause_ns; !context_.ended;) {
      auto tasks = co_await inbox_.take();
      pause = tasks.empty() ? std::min(2 * pause, 20 * shortest_pause_ns) : shortest_pause_ns;
      for (auto& task : tasks) {
        queue_.push(std::move(task));
      }
      for (int rank = 0; rank < context_.ranks() && queue_.outgoing() != 0; ++rank) {
        auto& outgoing = queue_.outgoing_to(rank);
        if (!outgoing.empty()) {
          auto const sent = co_await inbox_.add(rank, outgoing);
          queue_.note_sent(sent);
        }
      }
      co_await context_.looks.after(pause);
    }
  }

  RankContext& context_;
  RankQueue& queue_;
  TaskWindows windows_;
  std::deque<SharedTasks> shared_; // one, or of CPU tasks and of GPU tasks
  TaskInbox inbox_;
  RandomStream random_;
  std::uint64_t victims_ = 0;
};

} // namespace hetsched::detail
