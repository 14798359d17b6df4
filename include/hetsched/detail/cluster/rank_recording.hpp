// SPDX-License-Identifier: MIT
#pragma once
// What a rank tells the recorder of its runtime: messages, and how far its clock is from rank 0's.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/transfers.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <cstdint>
#include <limits>
#include <optional>

namespace hetsched::detail {

/// Does nothing if nothing is recorded, or there is one rank. `spawned` and `passed` may be called
/// by any thread, the others under the caller's lock.
class RankRecording {
public:
  RankRecording(ThreadCore& core, int rank, int ranks)
      : core_(core), recorder_(ranks > 1 ? core.recorder() : nullptr), rank_(rank) {
    if (recorder_ != nullptr) {
      recorder_->of_rank(
          static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks), core.clock());
    }
  }

  [[nodiscard]] bool on() const noexcept { return recorder_ != nullptr; }

  /// The task of a transfer is about to be registered.
  void spawned(TaskRecord const& task, RankTransfer& transfer) const {
    if (on()) {
      auto const own = static_cast<std::uint32_t>(rank_);
      auto const peer = static_cast<std::uint32_t>(transfer.peer);
      transfer.timed = true;
      recorder_->message(
          task,
          {transfer.line.number(), transfer.sends ? own : peer, transfer.sends ? peer : own},
          core_.clock());
    }
  }

  /// Its value was given to the network.
  static void begun(RankTransfer& transfer) {
    if (transfer.timed) {
      transfer.begun_ns = monotonic_ns();
    }
  }

  /// Its task is about to be ended, and had its value.
  void passed(RankTransfer const& transfer) const {
    if (on()) {
      auto const now_ns = monotonic_ns();
      auto const ended = core_.clock();
      auto const at = [&](std::int64_t ns) { return Instant{ended.ns - (now_ns - ns)}; };
      auto const asked = at(transfer.granted_ns);
      recorder_->passed(transfer.task->id(),
                        asked,
                        transfer.begun_ns != 0 ? at(transfer.begun_ns) : asked,
                        ended);
    }
  }

  // ---- clocks: a rank asks rank 0 some times what it shows ----

  /// The first question, at a moment when rank 0 may have time, if the last answers are old.
  [[nodiscard]] std::optional<MessageHead> ask_time() {
    auto const now = core_.clock();
    if (!on() || rank_ == 0 || asked_ != 0 || now.ns < next_ns_) {
      return {};
    }
    least_error_ns_ = std::numeric_limits<std::int64_t>::max();
    return question(now);
  }

  /// What rank 0 answers.
  [[nodiscard]] MessageHead tell_time(MessageHead const& question) const {
    return {.kind = MessageKind::time_is,
            .number = question.number,
            .hash = static_cast<std::uint64_t>(core_.clock().ns)};
  }

  /// An answer has come. It came to be between the question and now. Returns the next question.
  [[nodiscard]] std::optional<MessageHead> heard_time(MessageHead const& answer) {
    auto const now = core_.clock();
    auto const asked_at = static_cast<std::int64_t>(answer.number);
    auto const there = static_cast<std::int64_t>(answer.hash);
    auto const error_ns = (now.ns - asked_at + 1) / 2;
    if (on() && error_ns < least_error_ns_) {
      least_error_ns_ = error_ns;
      auto const at = asked_at + (now.ns - asked_at) / 2;
      recorder_->compared_clocks({at}, {there - at}, {error_ns});
    }
    if (asked_ < questions) {
      return question(now);
    }
    asked_ = 0;
    next_ns_ = now.ns + pause_ns;
    return {};
  }

private:
  static constexpr int questions = 16;
  static constexpr std::int64_t pause_ns = 1000000000;

  [[nodiscard]] MessageHead question(Instant now) {
    ++asked_;
    return {.kind = MessageKind::time, .rank = rank_, .number = static_cast<std::uint64_t>(now.ns)};
  }

  ThreadCore& core_;
  Recorder* const recorder_; // null: nothing is recorded
  std::int32_t const rank_;
  int asked_ = 0;                   // questions of those that are under way
  std::int64_t next_ns_ = 0;        // when there may be more
  std::int64_t least_error_ns_ = 0; // of these
};

} // namespace hetsched::detail
