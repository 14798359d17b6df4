// SPDX-License-Identifier: MIT
#pragma once
// Deals the tasks of a graph to the ranks of a cluster in virtual time, with the transfers that
// follow.

#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/virtual_rank.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/virtual_time/replay_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The ranks of a cluster, whose engines are others', and what they know of data. A graph is dealt
/// to them as each would spawn its part of it (ClusterUses). Not thread-safe.
class ClusterDealer {
public:
  /// `to_all`: every rank is asked about every task.
  explicit ClusterDealer(bool to_all) : to_all_(to_all) {}

  ClusterDealer(ClusterDealer const&) = delete;
  ClusterDealer& operator=(ClusterDealer const&) = delete;

  void add(VirtualRank::Node& node) {
    auto const number = static_cast<std::int32_t>(ranks_.size());
    ranks_.push_back({node, node.engine(), number});
    traffic_.emplace_back();
  }

  /// There are so many data, and they are new.
  void begin(std::size_t data) { known_.assign(data, {}); }

  /// Spawns the graph's tasks: v on rank on[v], as its task numbers[v].
  void deal(TaskGraph const& graph,
            GraphTypes& types,
            std::span<std::int32_t const> homes,
            std::span<std::int32_t const> on,
            std::span<std::int32_t const> numbers) {
    std::vector<char> reduced(homes.size());
    for (auto& rank : ranks_) {
      rank.core.keep(types.kept());
    }
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto const& node = graph.nodes()[v];
      find_concerned(node, homes, on[v]);
      auto const& type = types.of(node);
      for (auto const rank : concerned_) {
        spawn(ranks_[rank], graph, v, type, homes, on[v], numbers[v]);
      }
      for (auto const& access : node.accesses) {
        forget_old(known_[access.data]);
        reduced[access.data] |= access.mode == AccessMode::reduce ? 1 : 0;
      }
      check_matched();
    }
    for (std::uint32_t d = 0; d < homes.size(); ++d) { // as a sync does
      if (reduced[d] == 0) {
        continue;
      }
      concerned_.clear();
      concern(homes[d]);
      for (auto const& elsewhere : known_[d].elsewhere) {
        concern(elsewhere.rank);
      }
      sort_concerned();
      for (auto const rank : concerned_) {
        auto& own = ranks_[rank];
        Uses{{*this, own, 0}, own.number}.gather(datum_of(own, d, homes[d], graph.data_bytes()[d]));
      }
    }
    check_matched();
  }

  /// After a run.
  void forget_data() {
    for (auto& rank : ranks_) {
      rank.data.clear();
    }
    transfers_.clear();
    beginnings_.clear();
  }

  /// After an error: nothing that is left happens.
  void abandon() noexcept {
    for (auto& rank : ranks_) {
      rank.core.abandon();
    }
  }

  /// The record of a datum at home.
  [[nodiscard]] DataRecord& at_home(std::uint32_t which, std::int32_t home, std::size_t bytes) {
    auto& rank = ranks_[static_cast<std::size_t>(home)];
    return *datum_of(rank, which, home, bytes).here(&rank).record;
  }

  /// Of each rank, so far.
  [[nodiscard]] std::span<PortTraffic const> traffic() const noexcept { return traffic_; }

  [[nodiscard]] Traffic sent(std::int32_t from, std::int32_t to) const {
    auto const found = between_.find(pair_of(from, to));
    return found != between_.end() ? found->second : Traffic{};
  }

protected:
  ~ClusterDealer() = default;

  std::deque<VirtualRank> ranks_;

private:
  /// The runtime of a rank, for ClusterUses.
  struct Port {
    ClusterDealer& all;
    VirtualRank& rank;
    std::int32_t urgency;

    [[nodiscard]] VirtualRank* node() const noexcept { return &rank; }

    [[nodiscard]] static std::uint32_t syncs() noexcept { return 0; }

    [[nodiscard]] static std::uint64_t calls() noexcept { return 0; }

    [[nodiscard]] static std::uint64_t keep() noexcept { return 0; } // no call comes later

    static void note_copy(ClusterDatum const& /*datum*/) noexcept {}

    void send(ClusterDatum& datum, DataRecord& record, std::int32_t to, Turn /*turn*/) const {
      auto& transfer = all.matched(datum, rank.number, to, true);
      transfer.priority = urgency;
      transfer.bytes = datum.bytes();
      transfer.number = DatumLine{datum.number, datum.local->partial == &record}.number();
      spawn(transfer.send, transfer, record, AccessMode::read);
      all.count(transfer);
    }

    void receive(ClusterDatum& datum, DataRecord& record, std::int32_t from, Turn /*turn*/) const {
      auto& transfer = all.matched(datum, from, rank.number, false);
      transfer.number = DatumLine{datum.number, datum.local->partial == &record}.number();
      if (datum.local->partial == &record) {
        all.partial_ = &transfer; // `add` follows
      } else {
        spawn(transfer.receive, transfer, record, AccessMode::write);
      }
    }

    /// Takes no time: no platform says how long.
    void begin(DataRecord& partial, ReductionOps const& /*op*/) const {
      auto& end = all.beginnings_.emplace_back();
      end.rank = &rank;
      spawn_uncounted(rank.core, external_type, partial, AccessMode::write, {.external = &end});
    }

    /// The same. The values that have come need no memory here.
    void add(DataRecord& value, DataRecord& /*partial*/, ReductionOps const& /*op*/) const {
      auto& transfer = *std::exchange(all.partial_, nullptr);
      spawn(transfer.receive, transfer, value, AccessMode::read_write);
    }

  private:
    void
    spawn(TransferEnd& end, VirtualTransfer& transfer, DataRecord& record, AccessMode mode) const {
      end.rank = &rank;
      end.transfer = &transfer;
      Attributes attributes;
      attributes.priority = urgency;
      spawn_uncounted(rank.core,
                      external_type,
                      record,
                      mode,
                      {.external = &end},
                      attributes,
                      [&](TaskRecord const& task) {
                        if (auto* const recorder = rank.core.recorder()) {
                          recorder->message(task,
                                            {transfer.number,
                                             static_cast<std::uint32_t>(transfer.from),
                                             static_cast<std::uint32_t>(transfer.to)},
                                            rank.core.clock());
                        }
                      });
    }
  };

  using Uses = ClusterUses<Port>;

  [[nodiscard]] static std::uint64_t pair_of(std::int32_t from, std::int32_t to) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U |
           static_cast<std::uint32_t>(to);
  }

  void concern(std::int32_t rank) { concerned_.push_back(static_cast<std::size_t>(rank)); }

  void sort_concerned() {
    std::sort(concerned_.begin(), concerned_.end());
    concerned_.erase(std::unique(concerned_.begin(), concerned_.end()), concerned_.end());
  }

  /// The ranks that a spawn concerns: the one that runs the task, the homes of its data, and those
  /// that have copies or contributions.
  void find_concerned(TaskGraph::Node const& node,
                      std::span<std::int32_t const> homes,
                      std::int32_t on) {
    concerned_.clear();
    if (to_all_) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (is_concerned(ranks_[r], node, homes, on)) {
          concerned_.push_back(r);
        }
      }
      return;
    }
    concern(on);
    for (auto const& access : node.accesses) {
      concern(homes[access.data]);
      for (auto const& elsewhere : known_[access.data].elsewhere) {
        if (elsewhere.datum->concerns(access.mode)) {
          concern(elsewhere.rank);
        }
      }
    }
    sort_concerned();
  }

  /// The same, asked by one rank, as DistributedRuntime asks it.
  [[nodiscard]] static bool is_concerned(VirtualRank& rank,
                                         TaskGraph::Node const& node,
                                         std::span<std::int32_t const> homes,
                                         std::int32_t on) {
    return on == rank.number ||
           std::any_of(node.accesses.begin(), node.accesses.end(), [&](GraphAccess const& access) {
             auto const datum = rank.data.find(access.data);
             return homes[access.data] == rank.number ||
                    (datum != rank.data.end() && datum->second.concerns(access.mode));
           });
  }

  /// What a rank knows of a datum. Of a large graph most are found without the ranks' own maps.
  [[nodiscard]] ClusterDatum&
  datum_of(VirtualRank& rank, std::uint32_t which, std::int32_t home, std::size_t bytes) {
    auto& known = known_[which];
    if (rank.number == home) {
      if (known.at_home == nullptr) {
        known.at_home = &rank.datum(which, home, bytes);
      }
      return *known.at_home;
    }
    for (auto const& elsewhere : known.elsewhere) {
      if (elsewhere.rank == rank.number) {
        return *elsewhere.datum;
      }
    }
    known.elsewhere.push_back({rank.number, &rank.datum(which, home, bytes)});
    return *known.elsewhere.back().datum;
  }

  /// A task's spawn on one rank, whether it runs there or not.
  void spawn(VirtualRank& rank,
             TaskGraph const& graph,
             std::size_t v,
             TaskType const& type,
             std::span<std::int32_t const> homes,
             std::int32_t on,
             std::int32_t number) {
    auto const& node = graph.nodes()[v];
    uses_.clear();
    for (auto const& access : node.accesses) {
      auto& datum =
          datum_of(rank, access.data, homes[access.data], graph.data_bytes()[access.data]);
      uses_.push_back({&datum, access.mode, type.parameters[uses_.size()].reduction});
    }
    records_.assign(uses_.size(), nullptr);
    Uses const transfers{{*this, rank, node.priority}, rank.number};
    transfers.before(uses_, records_, on);
    if (on == rank.number) {
      auto attributes = attributes_of_node(graph, v);
      attributes.graph_node = number;
      spawn_task(rank.core, type, attributes, records_, {});
    }
    transfers.after(uses_, on);
  }

  /// The first transfer of which another rank has spawned the other end just now, or else a new
  /// one.
  [[nodiscard]] VirtualTransfer&
  matched(ClusterDatum const& datum, std::int32_t from, std::int32_t to, bool sends) {
    auto const found = std::find_if(one_ended_.begin(), one_ended_.end(), [&](auto const& other) {
      return other.datum == datum.number && other.is_sent != sends &&
             other.transfer->from == from && other.transfer->to == to;
    });
    if (found != one_ended_.end()) {
      auto& transfer = *found->transfer;
      one_ended_.erase(found);
      return transfer;
    }
    auto& transfer = transfers_.emplace_back();
    transfer.from = from;
    transfer.to = to;
    one_ended_.push_back({datum.number, &transfer, sends});
    return transfer;
  }

  void check_matched() const {
    HETSCHED_ASSERT(one_ended_.empty(), "ranks disagree about a transfer");
  }

  void count(VirtualTransfer const& transfer) {
    traffic_[static_cast<std::size_t>(transfer.from)].sent.add(transfer.bytes);
    traffic_[static_cast<std::size_t>(transfer.to)].received.add(transfer.bytes);
    between_[pair_of(transfer.from, transfer.to)].add(transfer.bytes);
  }

  /// What a rank that is not a datum's home knows of it.
  struct Elsewhere {
    std::int32_t rank;
    ClusterDatum* datum;
  };

  /// Who knows of a datum.
  struct Known {
    ClusterDatum* at_home = nullptr;
    std::vector<Elsewhere> elsewhere; // with a copy or contributions
  };

  static void forget_old(Known& known) {
    std::erase_if(known.elsewhere, [](Elsewhere const& elsewhere) {
      return !elsewhere.datum->cached && !elsewhere.datum->partial;
    });
  }

  /// A transfer of which one rank has spawned its end.
  struct OneEnded {
    std::uint32_t datum;
    VirtualTransfer* transfer;
    bool is_sent;
  };

  bool const to_all_;
  std::deque<VirtualTransfer> transfers_;
  std::deque<TransferEnd> beginnings_; // of partial values
  std::vector<PortTraffic> traffic_;
  std::unordered_map<std::uint64_t, Traffic> between_;

  // While tasks are dealt.
  std::vector<Known> known_;           // of each datum
  std::vector<std::size_t> concerned_; // by the task
  std::vector<ClusterUse> uses_;
  std::vector<DataRecord*> records_;
  std::vector<OneEnded> one_ended_;
  VirtualTransfer* partial_ = nullptr;
};

} // namespace hetsched::detail
