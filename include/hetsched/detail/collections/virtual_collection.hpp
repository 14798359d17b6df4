// SPDX-License-Identifier: MIT
#pragma once
// The ranks of a collection in virtual time: lets their common time pass.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/due_ranks.hpp>
#include <hetsched/detail/collections/rank_context.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/collections/rank_run.hpp>
#include <hetsched/detail/collections/virtual_rma.hpp>
#include <hetsched/detail/collections/virtual_task_node.hpp>
#include <hetsched/detail/collections/wave.hpp>
#include <hetsched/platform/network.hpp>
#include <hetsched/platform/one_sided_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// One rank. What steals, admits and finds the end is what does so on threads.
class VirtualCollectionRank {
public:
  using Node = GraphCollection::Node;

  VirtualCollectionRank(Node& node,
                        GraphCollection& tasks,
                        VirtualRma::End& end,
                        Instant const& now,
                        StealRule const& rule,
                        CollectionOptions const& options)
      : core_(node.engine()), port_(end), rma_(end), looks_(now),
        waves_(rma_, looks_, end.allocate(WindowElement::word, Waves::words), 0),
        context_{port_,
                 rma_,
                 looks_,
                 tasks.types(),
                 rule,
                 options,
                 RankContext::Workers(node.workers())},
        queue_(rule, end.rank(), end.ranks()),
        node_(node, tasks, rma_, end.allocate_values(std::numeric_limits<std::size_t>::max())),
        run_(context_, queue_, node_, waves_) {
    core_.keep(tasks.kept());
  }

  [[nodiscard]] std::size_t task_bytes() const noexcept { return context_.task_bytes; }

  [[nodiscard]] CollectionStats const& stats() const noexcept { return context_.stats; }

  [[nodiscard]] VirtualCore& core() noexcept { return core_; }

  /// Before `begin`.
  void add(PackedTask task) {
    ++context_.stats.added;
    queue_.push(std::move(task));
  }

  void begin() { run_.begin(false); }

  /// All that can go on now does. Throws what a spawn throws.
  void settle() {
    looks_.note_change();
    std::size_t before = 0;
    do {
      core_.offer_work();
      before = context_.routines.live();
    } while (run_.look() || port_.has_news() || context_.routines.live() != before);
    if (context_.routines.failure()) {
      std::rethrow_exception(context_.routines.failure());
    }
  }

  [[nodiscard]] bool is_over() const noexcept { return run_.is_over(); }

  void end() { run_.end(); }

  /// When something is to happen here; Looks::never if nothing is.
  [[nodiscard]] Instant due() const noexcept {
    return std::min(core_.next_event(), Instant{looks_.next_due()});
  }

  /// Whether one of its cores runs no body; a rank without workers on cores has one for this.
  [[nodiscard]] bool has_idle_core() const {
    bool any = false;
    for (auto const& worker : core_.workers()) {
      if (worker.arch == ArchHost) {
        any = true;
        if (core_.running(worker.id) == no_task) {
          return true;
        }
      }
    }
    return !any;
  }

private:
  VirtualCore& core_;
  VirtualRma::End& port_;
  RmaOperations rma_;
  Looks looks_;
  Waves waves_;
  RankContext context_;
  RankQueue queue_;
  VirtualTaskNode node_;
  RankRun run_;
};

/// A collection, from its beginning to its end. Not thread-safe.
class VirtualCollection {
public:
  using Node = GraphCollection::Node;

  /// Begins at `now`. `nodes`: of the ranks.
  VirtualCollection(std::span<Node* const> nodes,
                    GraphCollection& tasks,
                    Network const& network,
                    OneSidedCosts const& costs,
                    StealRule const& rule,
                    CollectionOptions const& options,
                    Instant now)
      : costs_(costs), now_(now), tasks_(tasks),
        rma_(network, costs, static_cast<int>(nodes.size()), now_) {
    for (std::size_t r = 0; r < nodes.size(); ++r) {
      nodes[r]->engine().advance(now_);
      ranks_.emplace_back(*nodes[r], tasks, rma_.end(static_cast<int>(r)), now_, rule, options);
    }
    body_ended_.assign(nodes.size(), false);
    is_over_.assign(nodes.size(), false);
  }

  void add(std::size_t v, std::int32_t rank) {
    auto& to = ranks_[static_cast<std::size_t>(rank)];
    to.add(tasks_.packed(v, to.task_bytes()));
  }

  /// To be called when a body of a core has ended on a rank.
  void note_end(std::size_t rank) noexcept { body_ended_[rank] = true; }

  /// Lets time pass until all tasks are complete and all ranks know. Returns when.
  Instant run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      touched_.push_back(r);
      ranks_[r].begin();
    }
    for (;;) {
      settle();
      rma_.start();
      for (auto const r : touched_) {
        due_.note(r, ranks_[r].due());
      }
      if (over_ == ranks_.size()) {
        break;
      }
      advance();
    }
    for (auto& rank : ranks_) {
      rank.end();
    }
    return now_;
  }

  [[nodiscard]] CollectionStats const& stats(std::size_t rank) const noexcept {
    return ranks_[rank].stats();
  }

  [[nodiscard]] VirtualRma const& rma() const noexcept { return rma_; }

private:
  void settle() {
    for (auto const r : touched_) {
      ranks_[r].settle();
      if (costs_.between_bodies && (body_ended_[r] || ranks_[r].has_idle_core())) {
        rma_.attend(static_cast<int>(r));
      }
      body_ended_[r] = false;
      bool const was_over = is_over_[r];
      is_over_[r] = ranks_[r].is_over();
      over_ += is_over_[r] ? 1 : 0;
      over_ -= was_over ? 1 : 0;
    }
  }

  /// To the next event.
  void advance() {
    auto const next = std::min(due_.next(), rma_.next());
    if (next == VirtualNetwork::never) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "nothing can happen any more, and tasks are left: a rank's scheduler gives them "
                  "to no idle worker");
    }
    now_ = next;
    touched_.clear();
    due_.take(now_, [this](std::size_t r) { touched_.push_back(r); });
    rma_.advance([this](int rank) { touched_.push_back(static_cast<std::size_t>(rank)); });
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (auto const r : touched_) {
      ranks_[r].core().advance(now_);
    }
  }

  OneSidedCosts const costs_;
  Instant now_;
  GraphCollection& tasks_;
  VirtualRma rma_;
  std::deque<VirtualCollectionRank> ranks_;
  std::vector<std::size_t> touched_; // ranks that are to look now
  DueRanks due_;
  std::vector<char> body_ended_; // of each rank, at this time
  std::vector<char> is_over_;    // each rank
  std::size_t over_ = 0;         // ranks
};

} // namespace hetsched::detail
