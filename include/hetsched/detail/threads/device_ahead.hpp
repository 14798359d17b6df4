// SPDX-License-Identifier: MIT
#pragma once
// What the worker of a device will take next: claims, and data that are sent ahead. The rules are
// those of device_rules.hpp. Compiled in the library of devices alone.

#include <hetsched/detail/engine/device_rules.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace hetsched::detail {

/// The claims of one device, which its worker makes and drops. Used by the worker's thread only.
///
/// A task's claim is its `binding`, which `can_run` reads for every worker. A worker that falls
/// asleep announces this and then looks for tasks; who drops a claim does so and then looks for
/// sleepers, both by seq_cst. So no task is left behind by a claim.
class DeviceAhead {
public:
  DeviceAhead(ThreadCore& core, ThreadWorker& worker, DeviceWindow& window)
      : core_(core), worker_(worker), window_(window) {}

  /// Whether the worker takes a task now.
  [[nodiscard]] bool takes_now() const {
    if (window_.empty()) {
      return true;
    }
    if (is_full()) {
      return false;
    }
    if (claims().size() != 0) {
      DeviceLoad const load{window_.taken(), window_.running(), window_.streams()};
      return takes_beside(load, First{*this});
    }
    return takes_unseen();
  }

  /// Whether the scheduler has no task for the worker while the device has room for one more.
  [[nodiscard]] bool has_room_behind() const {
    return claims().size() == 0 && window_.running() != 0 && !is_full();
  }

  /// Whether others would end a task sooner than this worker, which would begin it behind a task
  /// that it has launched. Not known without a model.
  [[nodiscard]] bool others_end_sooner(TaskRecord const& task) const {
    if (!core_.policies_->predicts()) {
      return false;
    }
    auto const expected = [this](TaskRecord const& later, WorkerInfo const& there) {
      auto const time = core_.predicted(later, there);
      return time ? time->mean : Duration{};
    };
    auto const begin = std::max(core_.clock(), core_.busy_until(worker_.info.id));
    return detail::others_end_sooner(
        core_, task, worker_.launched.successors, worker_.info, begin, expected);
  }

  /// Takes what others have offered to the device. Returns whether there was anything.
  bool take_offers() noexcept {
    if (!offers().any()) {
      return false;
    }
    for (auto const id : offers().take()) {
      held_[held_count_++] = id;
    }
    return true;
  }

  /// Claims what the worker would take next, and sends the data of these tasks there. What it does
  /// not claim any more others may have.
  void look() {
    (void)take_offers();
    looked_at_ = core_.clock();
    Dropped const dropped(*this);
    std::array<TaskId, most_peeked> next;
    auto const room = std::span(next).first(most_claimed());
    if (room.empty()) {
      return;
    }
    begin_ = std::max(looked_at_, core_.busy_until(worker_.info.id));
    auto const claim_all = [&](std::size_t count) {
      for (auto const id : room.first(std::min(count, room.size()))) {
        claim(id);
      }
    };
    (void)core_.policies_->peek(worker_.info.id, room, claim_all);
  }

  /// The same now and then, as long as more could be claimed or sent. Returns whether it looked.
  bool look_again() {
    constexpr Duration pause{100000};
    bool const looks =
        (!all_there_ || claims().size() < most_claimed()) && looked_at_ + pause < core_.clock();
    if (looks) {
      look();
    }
    return looks;
  }

  /// The worker takes nothing more for now. Others may have what was offered and is not claimed.
  /// Then as much may be offered as the device has room for.
  void settle() {
    for (auto const id : std::span(held_).first(std::exchange(held_count_, 0))) {
      if (!claims().has(id)) {
        drop(id);
      } else if (claims().ends_sooner(*TaskRecord::from(id), ArchHost, core_.clock())) {
        core_.wake_core(); // none was woken for the task, and it need not wait for this device
      }
    }
    offers().set_room(room(), window_.empty() ? Instant{} : begin_);
  }

  /// This worker has taken the task, and claims it no longer. Returns whether it did.
  bool release(TaskRecord& task) const noexcept {
    auto expected = claimed_by(worker_.info.node);
    return task.binding.load(std::memory_order_relaxed) == expected &&
           task.binding.compare_exchange_strong(expected, Binding::none, std::memory_order_seq_cst);
  }

  /// Gives up all claims.
  void drop_all() {
    if (claims().size() != 0) {
      Dropped const dropped(*this);
    }
  }

  /// Gives up all that was offered, too. Nothing more can be until `settle`.
  void close() {
    drop_all();
    for (auto const id : offers().take()) {
      drop(id);
    }
  }

private:
  /// A kernel that ends within this time makes room for the next one. The worker sleeps at most 0.2
  /// ms between two polls, and what it does then takes some time.
  static constexpr Duration soon{500000};
  static constexpr std::size_t most_without_times = 4;

  /// Forgets all claims. At its end drops those that were not made again.
  class Dropped {
  public:
    explicit Dropped(DeviceAhead& ahead) noexcept : ahead_(ahead), count_(ahead.claims().size()) {
      for (std::size_t k = 0; k < count_; ++k) {
        ids_[k] = ahead.claims()[k];
      }
      ahead.claims().clear();
      ahead.first_ = {};
      ahead.all_there_ = true;
    }

    Dropped(Dropped const&) = delete;
    Dropped& operator=(Dropped const&) = delete;

    ~Dropped() {
      for (auto const id : std::span(ids_).first(count_)) {
        if (!ahead_.claims().has(id)) {
          ahead_.drop(id);
        }
      }
    }

  private:
    DeviceAhead& ahead_;
    std::size_t count_;
    std::array<TaskId, most_peeked> ids_;
  };

  /// The first claimed task, as `takes_beside` asks for it.
  struct First {
    DeviceAhead const& ahead;

    [[nodiscard]] bool has_all() const { return ahead.first_.all_there; }

    [[nodiscard]] bool has_places() const { return ahead.first_.has_places; }

    [[nodiscard]] bool makes_room() const {
      return ahead.window_.taken() == ahead.window_.running() &&
             ahead.core_.busy_until(ahead.worker_.info.id) < ahead.core_.clock() + soon;
    }
  };

  [[nodiscard]] Claims& claims() const noexcept { return worker_.launched.claims; }

  [[nodiscard]] Offers& offers() const noexcept { return worker_.launched.offers; }

  /// Whether the worker cannot know what it takes next: it is given it, or steals.
  [[nodiscard]] bool takes_unseen() const {
    return !core_.policies_->has(hook_peek) || core_.policies_->has(hook_steal);
  }

  /// How many tasks the worker would take or claim beside those that it has.
  [[nodiscard]] std::size_t room() const {
    if (takes_unseen()) {
      auto const most = most_taken(*core_.policies_, window_.length(), window_.streams());
      return most - std::min(most, window_.taken());
    }
    return most_claimed() - std::min(most_claimed(), claims().size()) + (window_.empty() ? 1 : 0);
  }

  [[nodiscard]] bool is_full() const {
    return window_.taken() >= most_taken(*core_.policies_, window_.length(), window_.streams());
  }

  /// Where no times are known, nobody can be said to end a task sooner, so the claims hold. Then
  /// the device has few.
  [[nodiscard]] std::size_t most_claimed() const {
    if (!core_.policies_->has(hook_peek) || window_.length() == 1) {
      return 0;
    }
    auto const most = std::min(window_.length(), most_peeked);
    return core_.policies_->predicts()
               ? most
               : std::min(most, most_without_times - std::min(most_without_times, window_.taken()));
  }

  void claim(TaskId id) {
    Claim claim{id};
    auto const estimate = [&](TaskRecord const* task) { this->estimate(*task, claim); };
    auto const ahead = core_.devices_->send_ahead(id, worker_.info.node, estimate);
    if (!ahead.ready) {
      return;
    }
    if (claims().size() == 0) {
      first_ = ahead;
    }
    all_there_ = all_there_ && ahead.all_there;
    claims().add(claim);
    auto expected = Binding::none;
    (void)TaskRecord::from(id)->binding.compare_exchange_strong(
        expected, claimed_by(worker_.info.node), std::memory_order_seq_cst);
  }

  /// When others would have to begin the task to end it before this worker does. Devices are taken
  /// for alike.
  void estimate(TaskRecord const& task, Claim& claim) {
    if (!core_.policies_->predicts()) {
      return;
    }
    auto const here = core_.predicted(task, worker_.info);
    if (!here) {
      return;
    }
    auto const end = begin_ + here->mean;
    begin_ = end;
    ThreadCore::Context const context(core_);
    auto const before = [&](WorkerInfo const& other, Instant& by) {
      if (ArchMask{task.archs.load(std::memory_order_relaxed)}.has(other.arch)) {
        if (auto const there = core_.predicted(task, other)) {
          auto const takes = there->mean + context.transfer(task.id(), other.id);
          by = std::max(by, Instant{end.ns - takes.ns});
        }
      }
    };
    before(core_.workers().front(), claim.before_host);
    for (auto const& other : core_.workers()) {
      if (other.node != host_node && other.id != worker_.info.id) {
        before(other, claim.before_device);
        break;
      }
    }
  }

  /// Others may have the task. The record may be another task's by now, for which some worker was
  /// woken in vain: so all look.
  void drop(TaskId id) noexcept {
    if (release(*TaskRecord::from(id))) {
      core_.wake_all(WakeReason::task);
    }
  }

  ThreadCore& core_;
  ThreadWorker& worker_;
  DeviceWindow& window_;
  Devices::Ahead first_;                  // of the first claim
  bool all_there_ = true;                 // all data of claimed tasks
  std::array<TaskId, Offers::most> held_; // offered to the device, and not looked at yet
  std::size_t held_count_ = 0;
  Instant looked_at_;
  Instant begin_; // there, of the next task to be claimed
};

} // namespace hetsched::detail
