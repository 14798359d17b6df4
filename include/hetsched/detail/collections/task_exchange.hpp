// SPDX-License-Identifier: MIT
#pragma once
// How the tasks of a collection move between ranks.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/collections/shared_tasks.hpp>
#include <hetsched/detail/collections/task_inbox.hpp>
#include <hetsched/detail/collections/task_supply.hpp>
#include <hetsched/detail/core/random_stream.hpp>

#include <algorithm>
#include <array>
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
      : context_(context), queue_(queue),
        supply_(context.rule, queue.local(), context.workers.gpu != 0), windows_(allocate()),
        shared_(make_shared()), kinds_(shared_.size()),
        inbox_(context.rma,
               windows_.words,
               inbox_at(),
               windows_.bytes,
               shared_.size() * part_capacity() * context.task_bytes,
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
  static constexpr std::size_t parts_at_a_time = 8; // that are looked at before a release

  struct TaskWindows {
    Window words;
    Window bytes;
  };

  /// Of a thief.
  struct Luck {
    int fruitless = 0;           // steals since one that brought something
    std::optional<int> generous; // the victim of the last one, if that did
  };

  [[nodiscard]] std::size_t buffers() const noexcept {
    return context_.rule.queues == StealQueues::two ? 2 : 1;
  }

  [[nodiscard]] std::size_t parts() const noexcept { return queue_.local().parts(); }

  /// Of each part of what a rank releases.
  [[nodiscard]] std::size_t part_capacity() const noexcept {
    return (context_.options.shared_tasks + parts() - 1) / parts();
  }

  /// The word with the flags of a buffer's parts.
  [[nodiscard]] std::size_t flags_at(std::size_t buffer) const noexcept {
    return SharedTasks::words * buffers() * parts() + buffer;
  }

  [[nodiscard]] std::size_t inbox_at() const noexcept { return flags_at(buffers()); }

  TaskWindows allocate() {
    auto const words = inbox_at() + TaskInbox::words;
    auto const tasks = buffers() * parts() * part_capacity() + context_.options.inbox_tasks;
    auto const word_window = context_.port.allocate(WindowElement::word, words);
    return {word_window, context_.port.allocate(WindowElement::byte, tasks * context_.task_bytes)};
  }

  [[nodiscard]] std::deque<SharedTasks> make_shared() {
    std::deque<SharedTasks> all;
    for (std::size_t k = 0; k < buffers() * parts(); ++k) {
      auto const bit = parts() == 1 ? 0 : std::int64_t{1} << (k % parts());
      all.emplace_back(context_.rma,
                       windows_.words,
                       SharedTasks::words * k,
                       SharedTasks::Flag{flags_at(k / parts()), bit},
                       windows_.bytes,
                       k * part_capacity() * context_.task_bytes,
                       context_.task_bytes,
                       part_capacity());
    }
    return all;
  }

  [[nodiscard]] SharedTasks& shared(std::size_t buffer, std::size_t part) noexcept {
    return shared_[buffer * parts() + part];
  }

  Step<> balance() {
    auto pause = shortest_pause_ns;
    while (!context_.ended) {
      auto const changes = context_.looks.changes();
      bool moved = co_await release(supply_.shortage());
      auto const lack = supply_.shortage();
      if (lack && !moved) {
        moved = co_await take_back(lack);
      }
      if (lack && !moved) {
        moved = co_await steal(lack);
      }
      pause = moved || !lack || is_asking(lack) ? shortest_pause_ns
                                                : std::min(2 * pause, longest_pause_ns);
      if (lack || moved) {
        co_await context_.looks.after(moved ? 0 : pause);
      } else {
        co_await context_.looks.change(pause, changes);
      }
    }
  }

  /// Half of the tasks of which this rank is not short, and not so many that it is then: of each
  /// part of which thieves have taken what was released before.
  Step<bool> release(Shortage lack) {
    if (lack.cpu && lack.gpu) {
      co_return false;
    }
    bool any = false;
    for (std::size_t k = 0; k < buffers(); ++k) {
      auto const kind = supply_.released_kind(k, lack);
      for (std::size_t n = 0; n < std::min(parts(), parts_at_a_time) && !kind.none; ++n) {
        auto const part = next_part_[k]++ % parts();
        bool const released = co_await release_part(k, part, kind.gpu);
        any = any || released;
      }
    }
    co_return any;
  }

  Step<bool> release_part(std::size_t buffer, std::size_t part, std::optional<bool> gpu) {
    auto const there = queue_.local().count(part, gpu);
    if (there == 0 || (there == 1 && part == queue_.local().own_part())) {
      co_return false;
    }
    auto& to = shared(buffer, part);
    auto& kinds = kinds_[buffer * parts() + part];
    bool const is_free = co_await to.is_free();
    if (!is_free) {
      auto const state = co_await to.state_of(context_.rank());
      if (!supply_.lacks_kind(state, kinds, part)) {
        co_return false;
      }
      co_await take_rest(to);
      co_return true;
    }
    auto most = supply_.spare();
    most.all = std::min(most.all, to.capacity());
    auto tasks = queue_.local().take_half(most, part, gpu);
    if (tasks.empty()) {
      co_return false;
    }
    context_.stats.released += tasks.size();
    kinds = {};
    for (auto const& task : tasks) {
      (task.head().ratio() > 1 ? kinds.gpu : kinds.cpu) = true;
    }
    co_await to.release(std::move(tasks));
    co_return true;
  }

  Step<> take_rest(SharedTasks& from) {
    std::vector<PackedTask> rest;
    auto const all = [](BatchState const& state) { return Loot{.low = state.size(), .high = 0}; };
    co_await from.take(context_.rank(), all, context_.rule.retries, rest);
    context_.stats.taken_back += rest.size();
    queue_.push(std::move(rest));
  }

  /// From what this rank has released itself.
  Step<bool> take_back(Shortage lack) {
    auto const count = co_await take_from(context_.rank(), lack, true);
    context_.stats.taken_back += count;
    co_return count != 0;
  }

  Step<bool> steal(Shortage lack) {
    ++context_.stats.steal_attempts;
    auto const& local = queue_.local();
    bool const none = (lack.cpu && local.cpu_tasks() == 0) || (lack.gpu && local.gpu_tasks() == 0);
    auto const victim = next_victim(lack);
    auto const count = co_await take_from(victim, lack, none && !is_asking(lack));
    auto& luck = luck_[lack.gpu ? 1 : 0];
    luck.fruitless = count != 0 ? 0 : luck.fruitless + 1;
    luck.generous = count != 0 ? std::optional(victim) : std::nullopt;
    context_.stats.steals += count != 0 ? 1 : 0;
    context_.stats.stolen += count;
    co_return count != 0;
  }

  /// Whether it still asks for what is near it: as many victims as there are.
  [[nodiscard]] bool is_asking(Shortage lack) const noexcept {
    return parts() != 1 && luck_[lack.gpu ? 1 : 0].fruitless < context_.ranks() - 1;
  }

  /// `far`: if there are no tasks near this rank, then others of some parts, last those that are
  /// near the victim.
  Step<std::size_t> take_from(int rank, Shortage lack, bool far) {
    std::vector<PackedTask> loot;
    bool const nothing = queue_.local().empty();
    bool const both = buffers() == 2;
    if (!both || lack.cpu) {
      co_await take_from_buffer(rank, 0, lack, far, loot);
    }
    if (both && (lack.gpu || (nothing && loot.empty()))) {
      co_await take_from_buffer(rank, 1, lack, far, loot);
    }
    if (both && !lack.cpu && nothing && loot.empty()) {
      co_await take_from_buffer(rank, 0, lack, far, loot);
    }
    auto const count = loot.size();
    queue_.push(std::move(loot));
    co_return count;
  }

  Step<> take_from_buffer(
      int rank, std::size_t buffer, Shortage lack, bool far, std::vector<PackedTask>& loot) {
    bool const nothing = queue_.local().empty();
    auto const choose = [this, lack, nothing](BatchState const& state) {
      return choose_loot(context_.rule, state, lack.cpu, lack.gpu, nothing);
    };
    auto const take = [&](std::size_t part) {
      return shared(buffer, part).take(rank, choose, context_.rule.retries, loot);
    };
    auto const own = queue_.local().own_part();
    co_await take(own);
    if (!loot.empty() || !far || parts() == 1) {
      co_return;
    }
    auto const flags = co_await context_.rma.read(windows_.words, rank, flags_at(buffer));
    auto const enough = 4 * static_cast<std::size_t>(context_.workers.cpu + context_.workers.gpu);
    auto const last = queue_.local().part_of(rank);
    auto const first = random_.next() % parts();
    for (std::size_t k = 0; k <= parts() && loot.size() < enough; ++k) {
      auto const part = k < parts() ? (first + k) % parts() : last;
      if (part != own && (part != last || k == parts()) && (flags >> part & 1) != 0) {
        co_await take(part);
      }
    }
  }

  [[nodiscard]] int next_victim(Shortage lack) {
    if (auto const generous = luck_[lack.gpu ? 1 : 0].generous; generous && parts() != 1) {
      return *generous;
    }
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
      queue_.push(std::move(tasks));
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
  TaskSupply supply_;
  TaskWindows windows_;
  std::deque<SharedTasks> shared_; // the parts of one, or of CPU tasks, and then of GPU tasks
  std::vector<BatchKinds> kinds_;  // of each of these
  TaskInbox inbox_;
  RandomStream random_;
  std::uint64_t victims_ = 0;
  std::array<std::size_t, 2> next_part_{}; // of each buffer, to look at before a release
  std::array<Luck, 2> luck_;               // where only CPU tasks were missing, and else
};

} // namespace hetsched::detail
