// SPDX-License-Identifier: MIT
#pragma once
// The steps in which data come to somebody who waits for them, such as a sync.

#include <hetsched/detail/memory/memory_nodes.hpp>

#include <cstddef>
#include <span>

namespace hetsched::detail {

/// Data on their way to where a ReplicaKeeper::take wants them: a state machine, as MemoryNodes is.
/// What can be had comes, whatever else is missing. All transfers are asked for first, so they
/// overlap. Whoever waits starts them and calls `next` until all are there or missing. Between two
/// calls the lock may be released, and a datum may be forgotten.
///
/// A sync is `told` what is missing, and tells the program. So that the program learns of it once,
/// what its memory holds is the datum's value from then on. Memory of its own on a lost device is
/// no more, and its datum is at home on the host.
class Bringing {
public:
  /// `taken`: the data may be written there, so no other copy stays valid.
  Bringing(MemoryNodes& nodes,
           std::span<Replicas* const> data,
           Destination destination,
           bool taken,
           bool told)
      : nodes_(&nodes), data_(data), destination_(destination), taken_(taken), told_(told) {
    for (auto* datum : data_) {
      ++datum->holders;
    }
  }

  /// Asks for all transfers. Called first. Throws bad_alloc, as `next` does; see `let_go`.
  void ask() {
    for (auto* datum : data_) {
      datum->in_parts = datum->in_parts || destination_ == Destination::parts;
      nodes_->program_reads(*datum, goal(*datum));
      (void)nodes_->request(*datum, goal(*datum));
    }
  }

  /// Returns a datum that is on its way; null when no more is. Calls `missing(datum, node)` for
  /// what cannot be had at the node, and `unheld(datum)` for what was forgotten and has no other
  /// holder. A sync leaves alone what tasks of other threads use: `in_use(datum)`.
  template <class Missing, class Unheld, class InUse>
  [[nodiscard]] Replicas* next(Missing&& missing, Unheld&& unheld, InUse&& in_use) {
    for (; at_ < data_.size(); ++at_) {
      auto& datum = *data_[at_];
      bool const sync = destination_ == Destination::home && told_;
      if (!datum.forgotten && !(sync && in_use(datum))) {
        auto const to = goal(datum);
        auto const arrival = look(datum, to);
        if (arrival == MemoryNodes::Arrival::coming) {
          return &datum;
        }
        if (arrival == MemoryNodes::Arrival::failed) {
          missing(datum, to);
          tell(datum, to);
        } else if (taken_ && !datum.read_only && datum.writers == 0) {
          nodes_->program_takes(datum, to);
        }
      }
      if (--datum.holders == 0 && datum.forgotten) {
        unheld(datum);
      }
    }
    return nullptr;
  }

  /// After an exception: holds the data no more. `unheld` as of `next`.
  template <class Unheld>
  void let_go(Unheld&& unheld) noexcept {
    for (; at_ < data_.size(); ++at_) {
      if (auto& datum = *data_[at_]; --datum.holders == 0 && datum.forgotten) {
        unheld(datum);
      }
    }
  }

  /// How many of the data are there or missing.
  [[nodiscard]] std::size_t over() const noexcept { return at_; }

private:
  [[nodiscard]] NodeId goal(Replicas const& datum) const noexcept {
    return destination_ == Destination::home && !datum.home_lost ? datum.home : host_node;
  }

  [[nodiscard]] MemoryNodes::Arrival look(Replicas& datum, NodeId to) {
    if (destination_ == Destination::home && datum.home_lost && !told_) {
      return MemoryNodes::Arrival::failed;
    }
    auto const arrival = nodes_->request(datum, to);
    // What is on its way elsewhere may be the last copy: only its arrival tells whether there is
    // one.
    bool const busy = taken_ && datum.copies_moving != 0;
    return busy ? MemoryNodes::Arrival::coming : arrival;
  }

  void tell(Replicas& datum, NodeId at) {
    datum.failed_copies = 0; // it is tried again for whoever asks next
    if (!told_) {
      return;
    }
    if (nodes_->is_lost(at)) {
      datum.home_lost = true;
      at = host_node;
    }
    if (datum.lost && datum.writers == 0) {
      nodes_->program_takes(datum, at);
    }
  }

  MemoryNodes* nodes_;
  std::span<Replicas* const> data_;
  std::size_t at_ = 0;
  Destination destination_;
  bool taken_;
  bool told_;
};

} // namespace hetsched::detail
