// SPDX-License-Identifier: MIT
#pragma once
// Transfers of data between memory nodes: their choice, and what their ends change.

#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/memory/memory_places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The part of MemoryNodes that asks for transfers, and learns when they have ended.
class MemoryTransfers : public MemoryPlaces {
public:
  enum class Arrival : std::uint8_t { here, coming, failed };

  /// Without costs all transfers count as equally long.
  MemoryTransfers(CacheKind const& kind,
                  std::span<std::size_t const> capacities,
                  TransferCosts costs)
      : MemoryPlaces(kind, capacities), costs_(costs), outgoing_(capacities.size() + 1) {
    reaches_.assign(capacities.size() * capacities.size(), false);
  }

  /// Copies from one device's node to another's need not pass through host memory.
  void connect(NodeId from, NodeId to) { reaches_[link(from, to)] = true; }

  /// Whether the node holds the datum; if not, a transfer is asked for or under way.
  Arrival request(Replicas& datum, NodeId to) {
    if (datum.valid_at(to)) {
      return Arrival::here;
    }
    if (is_occupied(datum.at(to)) || (to != host_node && datum.writers != 0)) {
      return Arrival::coming;
    }
    if (cannot_be_copied(datum) || datum.lost || is_lost(to)) {
      return Arrival::failed;
    }
    if (auto const from = best_source(datum, to); from != to) {
      start(datum, from, to, false);
      return Arrival::coming;
    }
    // The host is reached from everywhere: no copy is valid, and one is on its way.
    return to == host_node ? Arrival::coming : std::max(request(datum, host_node), Arrival::coming);
  }

  /// Whether the node is that of a device that is lost.
  [[nodiscard]] bool is_lost(NodeId at) const noexcept { return at != host_node && node(at).lost; }

  /// Transfers into devices, asked for or under way, that somebody waits for: all that were not
  /// sent ahead, and those of the others whose data an admitted task uses by now. What is sent
  /// ahead would take from them a part of the links that they share.
  [[nodiscard]] int awaited() const noexcept { return awaited_; }

  /// The next transfer to perform, or null. Its places do not move until it is reported.
  [[nodiscard]] Copy* next_copy() {
    if (next_copy_ == to_perform_.size()) {
      to_perform_.clear();
      next_copy_ = 0;
      return nullptr;
    }
    return to_perform_[next_copy_++];
  }

  /// The transfer, which next_copy gave last, was not begun.
  void perform_later(Copy const&) noexcept { --next_copy_; }

  /// The same of one datum, out of turn; null: none.
  [[nodiscard]] Copy* next_copy(Replicas const& datum) noexcept {
    for (auto k = next_copy_; k < to_perform_.size(); ++k) {
      if (auto* const copy = to_perform_[k]; copy->datum == &datum) {
        to_perform_.erase(to_perform_.begin() + static_cast<std::ptrdiff_t>(k));
        return copy;
      }
    }
    return nullptr;
  }

  /// The transfer is over. `copy` is deleted.
  void finished(Copy* copy, bool done) {
    std::unique_ptr<Copy> const owner(copy);
    auto& datum = *copy->datum;
    --datum.copies_moving;
    --outgoing_[static_cast<std::size_t>(copy->from.value)];
    --datum.at(copy->from).sending;
    datum.at(copy->to).arriving = nullptr;
    if (done) {
      datum.failed_copies = 0;
      count_bytes(*copy);
      if (observer() != nullptr) {
        observer()->moved(datum, copy->from, copy->to);
      }
      if (copy->version == datum.version && !is_lost(copy->to)) { // else it is overwritten, or gone
        datum.valid.fetch_or(bit(copy->to), std::memory_order_acq_rel);
        datum.lost = false;
      }
    } else {
      ++datum.failed_copies;
    }
    note_loss(datum);
    if (copy->to != host_node) {
      awaited_ -= datum.at(copy->to).ahead ? 0 : 1;
      --node(copy->to).moving;
      unpin(datum, copy->to);
    }
    if (copy->from != host_node) {
      auto& source = node(copy->from);
      --source.moving;
      if (copy->evicts) {
        source.leaving -= Arena::rounded(datum.bytes());
      }
      unpin(datum, copy->from);
      auto const block = datum.at(copy->from).block;
      if (copy->evicts && done && datum.valid_at(copy->from) && block != no_block &&
          source.block(block).pins == 0) {
        ++source.counters.evictions_dirty;
        tell_evict(datum, copy->from);
        drop(datum, copy->from);
      }
    }
  }

protected:
  /// Transfers of what it holds have failed so often that no more are tried.
  [[nodiscard]] static bool cannot_be_copied(Replicas const& datum) noexcept {
    return datum.failed_copies > most_failed_copies;
  }

  /// Whether nothing may be brought to the place now: something is on its way to it, or from it to
  /// an attempt that came too late, or such an attempt computes in it.
  [[nodiscard]] static bool is_occupied(Replica const& place) noexcept {
    return place.arriving != nullptr || place.sending != 0 || place.unsettled != 0;
  }

  /// Throws before it changes anything.
  void start(Replicas& datum, NodeId from, NodeId to, bool evicts) {
    make_room(to_perform_, to_perform_.size() + 1);
    auto copy = std::make_unique<Copy>(Copy{&datum, from, to, evicts, datum.version});
    ++datum.copies_moving;
    ++outgoing_[static_cast<std::size_t>(from.value)];
    ++datum.at(from).sending;
    datum.at(to).arriving = copy.get();
    if (to != host_node) {
      datum.at(to).ahead = false;
      ++awaited_;
      ++node(to).moving;
      node(to).pin(datum.at(to).block);
    }
    if (from != host_node) {
      ++node(from).moving;
      node(from).pin(datum.at(from).block);
    }
    to_perform_.push_back(copy.release());
  }

  /// Whether what comes, or came, to the device was sent ahead. Returns what it was before.
  bool set_ahead(Replica& place, bool ahead) noexcept {
    if (place.arriving != nullptr) {
      awaited_ += (place.ahead ? 1 : 0) - (ahead ? 1 : 0);
    }
    return std::exchange(place.ahead, ahead);
  }

private:
  static constexpr int most_failed_copies = 3;

  [[nodiscard]] std::size_t link(NodeId from, NodeId to) const noexcept {
    return static_cast<std::size_t>(from.value - 1) * (node_count() - 1) +
           static_cast<std::size_t>(to.value - 1);
  }

  /// The node from which the datum comes in the shortest predicted time. Of equals, it is the one
  /// with the fewest transfers under way from it, then the first. Returns `to` itself if no node
  /// that holds the datum reaches `to`.
  [[nodiscard]] NodeId best_source(Replicas const& datum, NodeId to) const {
    auto best = to;
    Duration best_time;
    auto from = host_node;
    do {
      if (!datum.valid_at(from) ||
          (from != host_node && to != host_node && !reaches_[link(from, to)])) {
        continue;
      }
      auto const time = costs_.predict != nullptr
                            ? costs_.predict(costs_.model, datum.bytes(), from, to)
                            : Duration{};
      if (best == to || time < best_time || (time == best_time && out(from) < out(best))) {
        best = from;
        best_time = time;
      }
    } while (next(from));
    return best;
  }

  /// How many transfers from the node are under way.
  [[nodiscard]] int out(NodeId from) const noexcept {
    return outgoing_[static_cast<std::size_t>(from.value)];
  }

  void count_bytes(Copy const& copy) {
    auto const bytes = copy.datum->bytes();
    if (copy.to == host_node) {
      node(copy.from).counters.bytes_to_host += bytes;
    } else if (copy.from == host_node) {
      node(copy.to).counters.bytes_from_host += bytes;
    } else {
      node(copy.to).counters.bytes_from_peers += bytes;
    }
  }

  TransferCosts const costs_;
  std::vector<int> outgoing_; // transfers under way from each node
  int awaited_ = 0;
  std::vector<bool> reaches_;
  std::vector<Copy*> to_perform_;
  std::size_t next_copy_ = 0;
};

} // namespace hetsched::detail
