// SPDX-License-Identifier: MIT
#pragma once
// What the ranks of a program do together: they compare their calls, and end a sync when all have
// come to the end of their tasks. Rank 0 leads.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/agreement.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

/// The first rank on which a task failed, and why.
struct RankFailure {
  int rank;
  std::string why;
};

/// One rank's part. Under the caller's lock, but for what is atomic. `Port` offers
///   int rank(), ranks()
///   void tell(int to, MessageHead const&, std::string_view words)
///   void break_off(Error const&)   the ranks cannot go on
template <class Port>
class CommonCalls {
public:
  CommonCalls(Port& port, SpawnLog const& log)
      : port_(port), log_(log), agreement_(log, port.ranks()) {}

  /// Tells rank 0 how many calls were made here, and their hash.
  void check() {
    CallCheck const own{log_.count(), log_.hash()};
    if (port_.rank() == 0) {
      ask(agreement_.add(0, own));
    } else {
      port_.tell(
          0,
          {.kind = MessageKind::check, .rank = port_.rank(), .number = own.calls, .hash = own.hash},
          {});
    }
  }

  /// All tasks here have ended; `failure`: why the first one failed, else nothing. Returns the
  /// number of the sync that ends when this is so on all ranks.
  std::uint64_t end_here(std::optional<std::string> const& failure) {
    ++syncs_;
    if (port_.rank() == 0) {
      done(0, failure);
    } else {
      port_.tell(0,
                 {.kind = failure ? MessageKind::failed : MessageKind::done,
                  .rank = port_.rank(),
                  .number = syncs_},
                 failure ? std::string_view(*failure) : std::string_view());
    }
    return syncs_;
  }

  /// Any thread. Acquire: what came before the end, on this rank, is seen.
  [[nodiscard]] bool has_ended(std::uint64_t sync) const noexcept {
    return ended_.load(std::memory_order_acquire) >= sync;
  }

  /// Of the sync that has just ended.
  [[nodiscard]] std::optional<RankFailure> take_failure() {
    return std::exchange(failure_, std::nullopt);
  }

  /// Now and then, with when each rank was last heard of (0: never). Rank 0 says to all that it is
  /// alive, and the others to rank 0; so each rank hears of rank 0, and rank 0 of all.
  void beat(std::span<std::int64_t const> heard_ns, std::int64_t now_ns, std::int64_t patience_ns) {
    bool const leads = port_.rank() == 0;
    auto const last = leads ? port_.ranks() - 1 : 0;
    for (int r = leads ? 1 : 0; r <= last; ++r) {
      auto const heard = heard_ns[static_cast<std::size_t>(r)];
      if (heard != 0 && now_ns - heard > patience_ns) {
        auto const words =
            text("has said nothing for %.3g s", static_cast<double>(now_ns - heard) / 1e9);
        if (leads) {
          tell_all({.kind = MessageKind::gone, .rank = r}, words);
        }
        port_.break_off(rank_gone(r, words));
        return;
      }
      port_.tell(r, {.kind = MessageKind::alive, .rank = port_.rank()}, {});
    }
  }

  [[nodiscard]] static Error rank_gone(int rank, std::string_view why) {
    return {ErrorCode::rank_failed, text("rank %d", rank), std::string(why)};
  }

  /// How many calls are known to be the same on all ranks. Any thread.
  [[nodiscard]] std::uint64_t agreed() const noexcept {
    return agreed_.load(std::memory_order_relaxed);
  }

  /// A message that is not about data. Returns whether the spawning thread may wait for it.
  bool handle(int from, MessageHead const& head, std::string_view words) {
    switch (head.kind) {
    case MessageKind::check:
      ask(agreement_.add(from, {head.number, head.hash}));
      break;
    case MessageKind::ask:
      port_.tell(0,
                 {.kind = MessageKind::answer,
                  .rank = port_.rank(),
                  .number = head.number,
                  .hash = log_.hash_of_first(head.number)},
                 {});
      break;
    case MessageKind::answer:
      ask(agreement_.answer(head.number, head.hash));
      break;
    case MessageKind::describe:
      port_.tell(0,
                 {.kind = MessageKind::call, .rank = port_.rank(), .number = head.number},
                 log_.description(head.number));
      break;
    case MessageKind::call:
      disagree(agreement_.verdict(words), true);
      break;
    case MessageKind::over:
      disagree(words, false);
      break;
    case MessageKind::gone:
      port_.break_off(rank_gone(head.rank, words));
      break;
    case MessageKind::agreed:
      agreed_.store(head.number, std::memory_order_relaxed);
      break;
    case MessageKind::done:
      return done(from, std::nullopt);
    case MessageKind::failed:
      return done(from, std::string(words));
    case MessageKind::spoiled:
      failure_ = {head.rank, std::string(words)};
      [[fallthrough]];
    case MessageKind::proceed:
      ended_.store(head.number, std::memory_order_release);
      return true;
    case MessageKind::window:
      port_.break_off(foreign_message(from));
      break;
    case MessageKind::alive:
    case MessageKind::datum:
    case MessageKind::spoilt:
    case MessageKind::time:
    case MessageKind::time_is:
      break;
    }
    return false;
  }

private:
  void tell_all(MessageHead const& head, std::string_view words = {}) {
    for (int r = 0; r < port_.ranks(); ++r) {
      if (r != port_.rank()) {
        port_.tell(r, head, words);
      }
    }
  }

  void disagree(std::string_view verdict, bool tell_others) {
    if (tell_others) {
      tell_all({.kind = MessageKind::over}, verdict);
    }
    port_.break_off(Error(ErrorCode::bad_call, "cluster", std::string(verdict)));
  }

  // ---- rank 0 ----

  void ask(std::optional<Agreement::Question> const& question) {
    if (question) {
      port_.tell(question->rank,
                 {.kind = question->describe ? MessageKind::describe : MessageKind::ask,
                  .number = question->calls},
                 {});
    } else if (agreement_.agreed() > agreed()) {
      agreed_.store(agreement_.agreed(), std::memory_order_relaxed);
      tell_all({.kind = MessageKind::agreed, .number = agreement_.agreed()});
    }
  }

  /// A rank has come to the end of its tasks. Returns whether it was the last one.
  bool done(int rank, std::optional<std::string> const& why) {
    if (why && (!first_failure_ || rank < first_failure_->rank)) {
      first_failure_ = {rank, *why};
    }
    // The checks came before: the ranks have made the same calls, or it is being found out where
    // they differ.
    if (++done_ < port_.ranks() || agreement_.searching()) {
      return false;
    }
    done_ = 0;
    auto const number = ended_.load(std::memory_order_relaxed) + 1;
    if (first_failure_) {
      tell_all({.kind = MessageKind::spoiled, .rank = first_failure_->rank, .number = number},
               first_failure_->why);
    } else {
      tell_all({.kind = MessageKind::proceed, .number = number});
    }
    failure_ = std::exchange(first_failure_, std::nullopt);
    ended_.store(number, std::memory_order_release);
    return true;
  }

  Port& port_;
  SpawnLog const& log_;
  Agreement agreement_;
  std::uint64_t syncs_ = 0;                  // begun here
  int done_ = 0;                             // ranks at the end of their tasks; rank 0
  std::optional<RankFailure> first_failure_; // of the sync under way; rank 0
  std::optional<RankFailure> failure_;       // of the one that has ended
  Atomic<std::uint64_t> ended_{0};
  Atomic<std::uint64_t> agreed_{0};
};

} // namespace hetsched::detail
