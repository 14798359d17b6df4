// SPDX-License-Identifier: MIT
#pragma once
// Several ranks in virtual time: lets their common time pass.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/cluster_dealer.hpp>
#include <hetsched/detail/cluster/due_ranks.hpp>
#include <hetsched/detail/cluster/relay.hpp>
#include <hetsched/detail/cluster/virtual_network.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The ranks of a cluster in virtual time. After a graph was dealt to them their events happen in
/// the order of time, and of the ranks' numbers at one time. Not thread-safe.
class VirtualCluster : public ClusterDealer {
public:
  VirtualCluster(Network const& network, int ranks, bool to_all)
      : ClusterDealer(to_all), network_(network, ranks) {}

  /// Lets time pass until all tasks of all ranks are complete. Returns when.
  Instant run() {
    std::vector<std::size_t> touched(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      touched[r] = r;
      now_ =
          std::max(now_, ranks_[r].core.clock()); // what devices had came home at different times
    }
    for (auto& rank : ranks_) {
      rank.core.advance(now_);
    }
    for (;;) {
      for (auto const r : touched) {
        settle(ranks_[r]);
      }
      network_.start(now_);
      for (auto const r : touched) {
        due_.note(r, ranks_[r].core.next_event());
      }
      auto const next = std::min(due_.next(), network_.next());
      if (next == VirtualNetwork::never) {
        check_ended();
        break;
      }
      now_ = next;
      touched.clear();
      due_.take(now_, [&](std::size_t r) { touched.push_back(r); });
      auto const end = [&](TransferEnd& of) {
        ended_.push_back(&of);
        touched.push_back(static_cast<std::size_t>(of.rank->number));
      };
      network_.advance(
          now_,
          [&](VirtualMessage& message) {
            auto& transfer = static_cast<VirtualTransfer&>(message);
            if (transfer.passed_on) {
              return; // the home of the value has no part in it
            }
            end(transfer.send);
            for (auto* const other : transfer.with_it) {
              other->began = transfer.began;
              end(other->send);
            }
          },
          [&](VirtualMessage& message) {
            auto& transfer = static_cast<VirtualTransfer&>(message);
            transfer.arrived = true;
            if (transfer.awaited) {
              end(transfer.receive);
            }
            auto const others = std::exchange(transfer.with_it, {});
            for (auto* const other : others) {
              other->from = transfer.to;
              other->passed_on = true;
            }
            ask(others);
          });
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      for (auto const r : touched) {
        ranks_[r].core.advance(now_);
      }
      for (auto* const of : std::exchange(ended_, {})) {
        end_transfer(*of);
      }
    }
    return now_;
  }

private:
  /// What can begin at this time on a rank begins.
  void settle(VirtualRank& rank) {
    do {
      rank.core.offer_work();
    } while (rank.begin_granted([this](TransferEnd& end) { begin_transfer(end); }));
    if (!sends_.empty()) {
      begin_sends();
    }
  }

  /// The most urgent first, as a rank does that finds several.
  void begin_sends() {
    if (network_.shares()) {
      for (std::size_t k = 0; k < sends_.size(); ++k) {
        sends_[k]->asked_before = k;
      }
      std::sort(sends_.begin(), sends_.end(), [](auto const* a, auto const* b) {
        return a->priority != b->priority ? a->priority > b->priority
                                          : a->asked_before < b->asked_before;
      });
      join_sends(
          std::span(sends_),
          network_.latency_bytes(),
          [](VirtualTransfer const& send) { return send.number; },
          [](VirtualTransfer const& send) { return send.to; },
          [](VirtualTransfer const& send) { return send.bytes; });
    }
    for (auto* const send : std::exchange(sends_, {})) {
      if (send != nullptr) {
        auto all = std::exchange(send->with_it, {});
        all.insert(all.begin(), send);
        ask(all);
      }
    }
  }

  /// For messages with one value, from where it is: to some, who pass it on to the others.
  void ask(std::span<VirtualTransfer* const> stops) {
    spread(stops.size(), [&](std::size_t first, std::size_t n) {
      auto const others = stops.subspan(first + 1, n - 1);
      stops[first]->with_it.assign(others.begin(), others.end());
      network_.ask(*stops[first]);
    });
  }

  void begin_transfer(TransferEnd& end) {
    auto* const transfer = end.transfer;
    end.asked = now_;
    if (transfer != nullptr && &end == &transfer->send) {
      sends_.push_back(transfer);
    } else if (transfer != nullptr && !transfer->arrived) {
      transfer->awaited = true;
    } else {
      end_transfer(end);
    }
  }

  void end_transfer(TransferEnd& end) {
    if (auto* const recorder = end.rank->core.recorder(); recorder && end.transfer != nullptr) {
      bool const sends = &end == &end.transfer->send;
      recorder->passed(end.task->id(), end.asked, sends ? end.transfer->began : end.asked, now_);
    }
    end.rank->core.end_external(*end.task);
  }

  /// Nothing can happen any more.
  void check_ended() const {
    for (auto const& rank : ranks_) {
      if (rank.core.live() != 0) {
        throw Error(
            ErrorCode::bad_call,
            text("rank %d", int{rank.number}),
            "keeps " + std::to_string(rank.core.live()) +
                " tasks and transfers for ever: its scheduler gives them to no idle worker, "
                "or another rank's does");
      }
    }
  }

  VirtualNetwork network_;
  Instant now_;
  DueRanks due_;
  std::vector<TransferEnd*> ended_;     // at this time
  std::vector<VirtualTransfer*> sends_; // that a rank begins with now
};

} // namespace hetsched::detail
