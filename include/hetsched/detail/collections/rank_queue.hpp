// SPDX-License-Identifier: MIT
#pragma once
// The tasks that wait on one rank.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/local_tasks.hpp>
#include <hetsched/detail/collections/packed_task.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// For one thread at a time.
class RankQueue {
public:
  RankQueue(StealRule const& rule, int rank, int ranks)
      : local_(rule.queues, parts(rule, ranks), rank), outgoing_(static_cast<std::size_t>(ranks)) {}

  RankQueue(RankQueue const&) = delete;
  RankQueue& operator=(RankQueue const&) = delete;
  virtual ~RankQueue() = default;

  /// Into this rank's queue, ordered by what is expected of it here.
  void push(PackedTask task) {
    expect(task);
    local_.push(std::move(task));
  }

  void push(std::vector<PackedTask> tasks) {
    for (auto& task : tasks) {
      push(std::move(task));
    }
  }

  /// Those of this rank that are not released to others.
  [[nodiscard]] LocalTasks& local() noexcept { return local_; }

  [[nodiscard]] LocalTasks const& local() const noexcept { return local_; }

  /// For another rank, to which somebody has to carry it.
  void send(PackedTask task, int rank) {
    outgoing_to(rank).push_back(std::move(task));
    ++outgoing_count_;
  }

  /// Those that are for that rank, and still here.
  [[nodiscard]] std::vector<PackedTask>& outgoing_to(int rank) noexcept {
    return outgoing_[static_cast<std::size_t>(rank)];
  }

  /// Of all ranks.
  [[nodiscard]] std::size_t outgoing() const noexcept { return outgoing_count_; }

  void note_sent(std::size_t tasks) noexcept { outgoing_count_ -= tasks; }

  /// Takes over what others have added. Before anybody counts completed tasks, too: their bodies
  /// may have added some.
  virtual void take_added() {}

private:
  static constexpr int most_parts = 62; // bits of a word

  [[nodiscard]] static std::size_t parts(StealRule const& rule, int ranks) noexcept {
    return rule.tasks == StealTasks::near ? static_cast<std::size_t>(std::min(ranks, most_parts))
                                          : 1;
  }

  /// Notes how long it is expected to take on this rank.
  virtual void expect(PackedTask& /*task*/) const {}

  LocalTasks local_;
  std::vector<std::vector<PackedTask>> outgoing_; // by rank
  std::size_t outgoing_count_ = 0;
};

} // namespace hetsched::detail
