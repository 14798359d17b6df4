// SPDX-License-Identifier: MIT
#pragma once
// Where the items of a pipeline are: places for those in flight, the source that fills them, and
// the gates where items wait for their turn.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hetsched::detail {

/// A place for an item in flight. Who carries the item has its place alone.
struct alignas(64) PipelinePlace {
  std::uint64_t number = 0;      // of the item: how many the source gave before it
  PipelinePlace* next = nullptr; // in a list of free places
  std::size_t kept_for = 0; // the stage, counted from 1, for which the item is kept here; 0: none
};

/// Stands in a gate's entry for the turn of an item that has not come.
inline constinit PipelinePlace turn_of_absent{};

/// The source, in which one thread is at a time, and the free places. Whoever is in it numbers the
/// items.
class PipelineSource {
public:
  /// Enters with a free place for the next item. Null: somebody is in it, there is no free place,
  /// or the source has ended.
  [[nodiscard]] PipelinePlace* try_enter() noexcept {
    auto open = State::open;
    // Acquire pairs with `leave`: of `own_`, `next_number_` and what the source itself has changed.
    if (!may_enter() || !state_.compare_exchange_strong(open,
                                                        State::entered,
                                                        std::memory_order_acquire, // or:
                                                        std::memory_order_relaxed)) {
      return nullptr;
    }
    if (own_ == nullptr) {
      // Acquire pairs with `give_back`: the thread that used the place last is done with it.
      own_ = given_.exchange(nullptr, std::memory_order_acquire);
      if (own_ == nullptr) { // another thread was here since the look
        leave();
        return nullptr;
      }
    }
    auto* const place = std::exchange(own_, own_->next);
    has_own_.store(own_ != nullptr, std::memory_order_relaxed);
    place->number = next_number_++;
    return place;
  }

  /// Whether `try_enter` is worth a try. seq_cst: see PipelineFlow::look.
  [[nodiscard]] bool may_enter() const noexcept {
    return state_.load(std::memory_order_seq_cst) == State::open &&
           (has_own_.load(std::memory_order_relaxed) ||
            given_.load(std::memory_order_seq_cst) != nullptr);
  }

  /// Lets others in. seq_cst: see PipelineFlow::call_help.
  void leave() noexcept { state_.store(State::open, std::memory_order_seq_cst); }

  /// There is no item for this place, and none will come.
  void end(PipelinePlace& place) noexcept {
    place.next = std::exchange(own_, &place);
    state_.store(State::ended, std::memory_order_release); // pairs with all_back
  }

  /// The item of the place has ended. Any thread; before the first `try_enter`, too.
  void give_back(PipelinePlace& place) noexcept {
    place.next = given_.load(std::memory_order_relaxed);
    // Release: who takes the place sees all that was done with it. seq_cst: see
    // PipelineFlow::call_help. Whoever takes places takes all, so it does not matter if a place
    // leaves the list and comes back between the look at it and its change.
    while (!given_.compare_exchange_weak(
        place.next, &place, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
  }

  /// Whether the source has ended, and all places are free. One thread asks, again and again.
  [[nodiscard]] bool all_back(std::size_t places) noexcept {
    if (state_.load(std::memory_order_acquire) != State::ended) {
      return false;
    }
    count_back(std::exchange(own_, nullptr));
    count_back(given_.exchange(nullptr, std::memory_order_acquire)); // pairs with give_back
    return back_ == places;
  }

private:
  enum class State : std::uint8_t { open, entered, ended };

  void count_back(PipelinePlace const* list) noexcept {
    for (; list != nullptr; list = list->next) {
      ++back_;
    }
  }

  alignas(64) Atomic<State> state_{State::open};
  Atomic<bool> has_own_{false};   // own_ is not empty; written inside
  PipelinePlace* own_ = nullptr;  // free places; of who is inside, and at last of all_back
  std::uint64_t next_number_ = 0; // of who is inside
  std::size_t back_ = 0;          // free places that all_back has seen
  alignas(64) Atomic<PipelinePlace*> given_{nullptr}; // free places
};

/// Lets items through one by one, in the order of their numbers. An item whose turn has not come is
/// kept in its place. Items in flight that have not been through follow each other without a gap,
/// so there are no more of them than places, and a ring of entries has one for each: null, the
/// turn of an item that has not come, or an item that waits for its turn.
///
/// An entry is used again by a later item. That one is in flight only after an item not before the
/// earlier one has ended; that was behind the earlier one in this gate, so all orders before it are
/// seen, by way of the turns and of PipelineSource.
class PipelineGate {
public:
  PipelineGate(std::size_t stage, std::size_t places)
      : stage_(stage), mask_(std::bit_ceil(places) - 1), entries_(mask_ + 1, [](std::size_t k) {
          return Entry(k == 0 ? &turn_of_absent : nullptr);
        }) {}

  /// Counted from 1.
  [[nodiscard]] std::size_t stage() const noexcept { return stage_; }

  /// Whether it is the item's turn: then its stage may run now. Acquire pairs with `pass_on`: the
  /// stage sees what it did with the item before.
  [[nodiscard]] bool takes_turn(std::uint64_t number) noexcept {
    auto& at = entry(number);
    if (at.load(std::memory_order_acquire) != &turn_of_absent) {
      return false;
    }
    at.store(nullptr, std::memory_order_relaxed);
    return true;
  }

  /// The item is kept in its place. Returns false if its turn has come meanwhile.
  [[nodiscard]] bool keep(PipelinePlace& place) noexcept {
    auto& at = entry(place.number);
    PipelinePlace* found = nullptr;
    // Release: who passes the turn on sees the item. Acquire, if it is this one's: as takes_turn.
    if (at.compare_exchange_strong(
            found, &place, std::memory_order_release, std::memory_order_acquire)) {
      return true;
    }
    at.store(nullptr, std::memory_order_relaxed);
    return false;
  }

  /// The item has been through: it is the next one's turn. Returns that one if it is kept: then the
  /// caller must run it, or `offer` it.
  [[nodiscard]] PipelinePlace* pass_on(std::uint64_t number) noexcept {
    auto& at = entry(number + 1);
    PipelinePlace* found = nullptr;
    // Release pairs with takes_turn and keep; acquire with keep.
    if (at.compare_exchange_strong(
            found, &turn_of_absent, std::memory_order_release, std::memory_order_acquire)) {
      return nullptr;
    }
    at.store(nullptr, std::memory_order_relaxed);
    return found;
  }

  /// It is the item's turn: any thread may take it. Its place is the only one here, as the turn
  /// goes no further before that. seq_cst: see PipelineFlow::call_help.
  void offer(PipelinePlace& place) noexcept { ready_.store(&place, std::memory_order_seq_cst); }

  [[nodiscard]] PipelinePlace* take_ready() noexcept {
    return has_ready() ? ready_.exchange(nullptr, std::memory_order_acquire) // pairs with offer
                       : nullptr;
  }

  /// seq_cst: see PipelineFlow::look.
  [[nodiscard]] bool has_ready() const noexcept {
    return ready_.load(std::memory_order_seq_cst) != nullptr;
  }

private:
  using Entry = Atomic<PipelinePlace*>;

  [[nodiscard]] Entry& entry(std::uint64_t number) const noexcept {
    return entries_[number & mask_];
  }

  std::size_t const stage_;
  std::size_t const mask_;
  FixedArray<Entry> const entries_;
  alignas(64) Atomic<PipelinePlace*> ready_{nullptr};
};

} // namespace hetsched::detail
