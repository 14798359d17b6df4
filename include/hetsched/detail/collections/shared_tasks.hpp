// SPDX-License-Identifier: MIT
#pragma once
// The tasks that a rank has released to thieves, in a window.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hetsched::detail {

/// What of a batch is still there: tasks low .. high - 1, of which those from `gpu_from` on are GPU
/// tasks. One word, which is changed as a whole by compare_swap: where Scioto takes a remote lock,
/// changes three words and unlocks, a thief here reads the word and swaps it. A number of the batch
/// tells a word from an older one that looks the same.
struct BatchState {
  static constexpr std::size_t most_tasks = 0xffff;

  std::size_t low = 0;
  std::size_t high = 0;
  std::size_t gpu_from = 0;
  std::uint64_t batch = 0;

  [[nodiscard]] static BatchState of(std::int64_t word) noexcept {
    auto const bits = static_cast<std::uint64_t>(word);
    return {bits & 0xffffU, bits >> 16U & 0xffffU, bits >> 32U & 0xffffU, bits >> 48U};
  }

  [[nodiscard]] std::int64_t word() const noexcept {
    return static_cast<std::int64_t>(low | high << 16U | gpu_from << 32U |
                                     (batch & 0x7fffU) << 48U);
  }

  [[nodiscard]] std::size_t size() const noexcept { return high - low; }

  [[nodiscard]] bool empty() const noexcept { return high == low; }

  [[nodiscard]] std::size_t gpu_tasks() const noexcept {
    return gpu_from >= high ? 0 : high - std::max(low, gpu_from);
  }

  [[nodiscard]] std::size_t cpu_tasks() const noexcept { return size() - gpu_tasks(); }
};

/// So many from the low end, where the CPU tasks are, and from the high end.
struct Loot {
  std::size_t low = 0;
  std::size_t high = 0;

  [[nodiscard]] std::size_t size() const noexcept { return low + high; }
};

/// A buffer of tasks in each rank's part of a window, of which the owner fills one after the other,
/// when it is empty, and from which thieves and the owner take. The owner writes it again only when
/// all thieves have copied what they took. One step at a time uses it.
class SharedTasks {
public:
  static constexpr std::size_t words = 2;

  /// A bit of a word of each rank, set while there are tasks: for who looks at several buffers at
  /// once. bit 0: none.
  struct Flag {
    std::size_t at = 0;
    std::int64_t bit = 0;
  };

  /// `state_at`: its words; `first`: its bytes, for `capacity` tasks.
  SharedTasks(RmaOperations& rma,
              Window word_window,
              std::size_t state_at,
              Flag flag,
              Window byte_window,
              std::size_t first,
              std::size_t task_bytes,
              std::size_t capacity)
      : rma_(rma), words_(word_window), state_at_(state_at), flag_(flag), bytes_(byte_window),
        first_(first), task_bytes_(task_bytes), capacity_(capacity) {}

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] Step<BatchState> state_of(int rank) {
    co_return BatchState::of(co_await rma_.read(words_, rank, state_at_));
  }

  /// Whether the owner may release: the buffer is empty, and nobody copies from it.
  [[nodiscard]] Step<bool> is_free() {
    auto const state = co_await state_of(rma_.rank());
    if (!state.empty()) {
      co_return false;
    }
    co_return co_await rma_.read(words_, rma_.rank(), copied_at()) == released_ - taken_back_;
  }

  /// The owner's next batch, of at most `capacity` tasks, CPU tasks first. The buffer is free.
  [[nodiscard]] Step<> release(std::vector<PackedTask> tasks) {
    std::vector<std::byte> packed(tasks.size() * task_bytes_);
    std::size_t gpu_from = 0;
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      std::memcpy(packed.data() + k * task_bytes_, tasks[k].bytes(), task_bytes_);
      gpu_from += tasks[k].head().ratio() > 1 ? 0 : 1;
    }
    auto const own = rma_.rank();
    WindowPatch const patch{.rank = own, .first = first_, .columns = packed.size()};
    RmaResult result;
    rma_.put(bytes_, patch, packed.data(), packed.size(), result);
    co_await result;
    result.value();
    if (flag_.bit != 0) {
      co_await rma_.add(words_, own, flag_.at, flag_.bit);
    }
    auto const before = co_await rma_.read(words_, own, state_at_); // empty: nobody changes it
    BatchState const now{.low = 0,
                         .high = tasks.size(),
                         .gpu_from = gpu_from,
                         .batch = BatchState::of(before).batch + 1};
    rma_.compare_swap(words_, own, state_at_, before, now.word(), result);
    co_await result;
    [[maybe_unused]] auto const found = result.value();
    HETSCHED_ASSERT(found == before, "somebody took tasks where there were none");
    released_ += static_cast<std::int64_t>(tasks.size());
  }

  /// Takes what `choose(state)` says, a Loot; none: nothing. If others changed the state meanwhile,
  /// tries again, at most `retries` times. Adds the tasks to `loot`.
  template <class Choose>
  [[nodiscard]] Step<> take(int rank, Choose choose, int retries, std::vector<PackedTask>& loot) {
    RmaResult result;
    rma_.fetch_add(words_, rank, state_at_, 0, result);
    co_await result;
    auto word = result.value();
    for (int tries = 0;; ++tries) {
      auto const state = BatchState::of(word);
      Loot const chosen = choose(state);
      if (chosen.size() == 0) {
        co_return;
      }
      auto after = state;
      after.low += chosen.low;
      after.high -= chosen.high;
      rma_.compare_swap(words_, rank, state_at_, word, after.word(), result);
      co_await result;
      if (result.value() == word) {
        if (flag_.bit != 0 && after.empty()) { // before the owner may set it again
          co_await rma_.add(words_, rank, flag_.at, -flag_.bit);
        }
        co_await copy(rank, state, chosen, loot);
        co_return;
      }
      if (tries == retries) {
        co_return;
      }
      word = result.value();
    }
  }

private:
  [[nodiscard]] std::size_t copied_at() const noexcept { return state_at_ + 1; }

  Step<> copy(int rank, BatchState state, Loot chosen, std::vector<PackedTask>& loot) {
    std::vector<std::byte> bytes(chosen.size() * task_bytes_);
    std::array<RmaResult, 2> got;
    auto const get = [&](std::size_t from, std::size_t count, std::size_t to, RmaResult& result) {
      if (count != 0) {
        WindowPatch const patch{
            .rank = rank, .first = first_ + from * task_bytes_, .columns = count * task_bytes_};
        rma_.get(bytes_, patch, bytes.data() + to * task_bytes_, count * task_bytes_, result);
      }
    };
    get(state.low, chosen.low, 0, got[0]);
    get(state.high - chosen.high, chosen.high, chosen.low, got[1]);
    for (auto& one : got) {
      co_await one;
    }
    rma_.check_unbroken();
    auto const count = static_cast<std::int64_t>(chosen.size());
    if (rank == rma_.rank()) {
      taken_back_ += count;
    } else {
      co_await counted_; // of the steal before
      counted_.value();
      rma_.fetch_add(words_, rank, copied_at(), count, counted_);
    }
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      loot.emplace_back(bytes.data() + k * task_bytes_, task_bytes_);
    }
  }

  RmaOperations& rma_;
  Window words_;
  std::size_t state_at_;
  Flag flag_;
  Window bytes_;
  std::size_t first_;
  std::size_t task_bytes_;
  std::size_t capacity_;
  std::int64_t released_ = 0;   // by this rank
  std::int64_t taken_back_ = 0; // of these
  RmaResult counted_;           // what this thief copied: nobody waits for it before the next steal
};

/// What a thief takes of a batch by its rule. `cpu`, `gpu`: the kinds that ran out. `nothing`: it
/// has no task at all, so it takes others if there are none of these.
[[nodiscard]] inline Loot choose_loot(
    StealRule const& rule, BatchState const& state, bool cpu, bool gpu, bool nothing) noexcept {
  auto const part = [&rule](std::size_t there) {
    return rule.amount == StealAmount::half
               ? (there + 1) / 2
               : std::min(there, static_cast<std::size_t>(std::max(rule.chunk, 1)));
  };
  if (rule.end == StealEnd::tail || rule.queues != StealQueues::sorted) {
    return {.low = part(state.size()), .high = 0};
  }
  if (rule.end == StealEnd::both || cpu == gpu) {
    auto const all = part(state.size());
    return {.low = all / 2, .high = all - all / 2};
  }
  auto const matching = gpu ? state.gpu_tasks() : state.cpu_tasks();
  auto const taken = part(matching == 0 && nothing ? state.size() : matching);
  return gpu ? Loot{.low = 0, .high = taken} : Loot{.low = taken, .high = 0};
}

} // namespace hetsched::detail
