// SPDX-License-Identifier: MIT
#pragma once
// Tasks that other ranks add to this one.

#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hetsched::detail {

/// A ring of tasks in each rank's part of a window. Who adds holds a lock, a word that is swapped
/// from 0; the owner takes without it. Tasks are counted: those written, and those taken.
class TaskInbox {
public:
  static constexpr std::size_t words = 3;

  TaskInbox(RmaOperations& rma,
            Window word_window,
            std::size_t lock_at,
            Window byte_window,
            std::size_t first,
            std::size_t task_bytes,
            std::size_t capacity)
      : rma_(rma), words_(word_window), lock_at_(lock_at), bytes_(byte_window), first_(first),
        task_bytes_(task_bytes), capacity_(capacity) {}

  /// The owner takes all that is there.
  [[nodiscard]] Step<std::vector<PackedTask>> take() {
    auto const own = rma_.rank();
    auto const written = co_await rma_.read(words_, own, written_at());
    std::vector<PackedTask> tasks;
    if (written == taken_) {
      co_return tasks;
    }
    auto const count = static_cast<std::size_t>(written - taken_);
    std::vector<std::byte> bytes(count * task_bytes_);
    std::array<RmaResult, 2> done;
    each_piece(static_cast<std::size_t>(taken_), count, [&](auto k, auto& patch, auto from) {
      patch.rank = own;
      rma_.get(bytes_, patch, bytes.data() + from, patch.columns, done[k]);
    });
    for (auto& one : done) {
      co_await one;
    }
    rma_.check_unbroken();
    for (std::size_t k = 0; k < count; ++k) {
      tasks.emplace_back(bytes.data() + k * task_bytes_, task_bytes_);
    }
    taken_ = written;
    co_await rma_.add(words_, own, taken_at(), static_cast<std::int64_t>(count));
    co_return tasks;
  }

  /// Adds the first of `tasks` to another rank's ring, and removes them: as many as there is room
  /// for now, none while another rank adds. Returns how many. Meanwhile others may be put behind
  /// them.
  [[nodiscard]] Step<std::size_t> add(int rank, std::vector<PackedTask>& tasks) {
    RmaResult lock;
    rma_.compare_swap(words_, rank, lock_at_, 0, rma_.rank() + 1, lock);
    co_await lock;
    if (lock.value() != 0) {
      co_return 0;
    }
    RmaResult written;
    RmaResult taken;
    rma_.fetch_add(words_, rank, written_at(), 0, written);
    rma_.fetch_add(words_, rank, taken_at(), 0, taken);
    co_await written;
    co_await taken;
    auto const room = capacity_ - static_cast<std::size_t>(written.value() - taken.value());
    auto const count = std::min(room, tasks.size());
    if (count != 0) {
      co_await write(rank, static_cast<std::size_t>(written.value()), tasks, count);
    }
    co_await rma_.add(words_, rank, lock_at_, -(rma_.rank() + 1));
    tasks.erase(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(count));
    co_return count;
  }

private:
  [[nodiscard]] std::size_t written_at() const noexcept { return lock_at_ + 1; }

  [[nodiscard]] std::size_t taken_at() const noexcept { return lock_at_ + 2; }

  /// Calls f(number, patch, first byte of the tasks) for the one or two pieces of the ring that
  /// `count` tasks from number `begin` on take.
  template <class F>
  void each_piece(std::size_t begin, std::size_t count, F&& f) const {
    auto const slot = begin % capacity_;
    auto const before_end = std::min(count, capacity_ - slot);
    WindowPatch patch{.first = first_ + slot * task_bytes_, .columns = before_end * task_bytes_};
    f(std::size_t{0}, patch, std::size_t{0});
    if (before_end != count) {
      patch = {.first = first_, .columns = (count - before_end) * task_bytes_};
      f(std::size_t{1}, patch, before_end * task_bytes_);
    }
  }

  Step<>
  write(int rank, std::size_t begin, std::vector<PackedTask> const& tasks, std::size_t count) {
    std::vector<std::byte> bytes(count * task_bytes_);
    for (std::size_t k = 0; k < count; ++k) {
      std::memcpy(bytes.data() + k * task_bytes_, tasks[k].bytes(), task_bytes_);
    }
    std::array<RmaResult, 2> done;
    each_piece(begin, count, [&](auto k, auto& patch, auto from) {
      patch.rank = rank;
      rma_.put(bytes_, patch, bytes.data() + from, patch.columns, done[k]);
    });
    for (auto& one : done) {
      co_await one;
    }
    co_await rma_.add(words_, rank, written_at(), static_cast<std::int64_t>(count));
  }

  RmaOperations& rma_;
  Window words_;
  std::size_t lock_at_;
  Window bytes_;
  std::size_t first_;
  std::size_t task_bytes_;
  std::size_t capacity_;
  std::int64_t taken_ = 0; // by this rank
};

} // namespace hetsched::detail
