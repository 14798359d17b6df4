// SPDX-License-Identifier: MIT
#pragma once
// Where the copies of data are while tasks of a planned schedule are placed one after another, and
// when transfers end.

#include <hetsched/core/access.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// In the place of PlannedCopies if transfers are free: all data are everywhere.
struct NoCopies {
  static constexpr bool everywhere = true;

  void reset() noexcept {}

  std::int64_t bring(std::uint32_t /*task*/,
                     std::size_t /*node*/,
                     std::int64_t ready,
                     std::int64_t /*free*/) noexcept {
    return ready;
  }

  void ran(std::uint32_t /*task*/, std::size_t /*node*/, std::int64_t /*end*/) noexcept {}
};

/// An estimate of what the engine of virtual time does with transfers, O(nodes) for each access.
/// Data are at the host when the graph begins. A device performs one transfer at a time from the
/// host or other devices, and one to the host. A link carries one transfer at a time at its full
/// rate, in the order of the tasks, in the place of fair shares. A device's data come as soon as
/// the task and all before it on the device are ready; those of a core, when it is idle. If a
/// device's memory is full, the datum that was used longest ago leaves it, to the host if that is
/// the only copy. Contributions (CW) count as if each read and wrote the datum.
class PlannedCopies {
public:
  static constexpr bool everywhere = false;

  /// Transfers are taken to be longer by this factor, so that plans leave some time between what
  /// follows upon another. Tried 1, 1.3, 1.6 and 2 on Cholesky of 12 to 24 tiles on mirage, idgraf
  /// and sirocco_k40m with shared links.
  static constexpr double slack = 1.3;

  /// `platform` has a route between any two of the nodes. The caller owns the graph.
  PlannedCopies(TaskGraph const& graph, Platform const& platform, Simulation::Transfers kind)
      : nodes_(1 + platform.devices()), data_(graph.data_bytes().size()),
        shared_(kind == Simulation::Transfers::shared), links_(platform.links.size()),
        lanes_(2 * nodes_), asked_(nodes_) {
    for (auto const& node : graph.nodes()) {
      first_.push_back(uses_.size());
      for (auto const& access : node.accesses) {
        if (access.mode != AccessMode::value) {
          uses_.push_back(
              {static_cast<std::uint32_t>(access.data), reads(access.mode), writes(access.mode)});
        }
      }
    }
    first_.push_back(uses_.size());
    for (std::size_t from = 0; from < nodes_; ++from) {
      for (std::size_t to = 0; to < nodes_; ++to) {
        add_route(platform, from, to);
      }
    }
    for (auto const& link : platform.links) {
      link_ns_per_byte_.push_back(slack * 1e9 / link.bytes_per_s);
    }
    bytes_.assign(graph.data_bytes().begin(), graph.data_bytes().end());
    auto const all = std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0});
    for (std::size_t node = 0; node < nodes_; ++node) {
      auto const room = node == 0 ? 0 : platform.nodes[node].capacity_bytes;
      rooms_.push_back({room < all ? room : 0, 0});
      bounded_ = bounded_ || rooms_.back().most != 0;
    }
    older_.resize(bounded_ ? nodes_ * (data_ + 1) : 0);
    newer_.resize(older_.size());
    needed_.resize(bounded_ ? data_ : 0);
  }

  /// No task has run.
  void reset() {
    replicas_.assign(nodes_ * data_, {});
    for (std::size_t datum = 0; datum < data_; ++datum) {
      replicas_[datum * nodes_].valid = 0;
    }
    std::fill(lanes_.begin(), lanes_.end(), 0);
    std::fill(links_.begin(), links_.end(), 0);
    std::fill(asked_.begin(), asked_.end(), 0);
    for (std::size_t node = 0; bounded_ && node < nodes_; ++node) {
      rooms_[node].used = 0;
      older_[end_of(node)] = newer_[end_of(node)] = end_of(node);
    }
  }

  /// When all data of a task are at the node at which it runs: it is ready then, and the worker is
  /// free then.
  std::int64_t bring(std::uint32_t task, std::size_t node, std::int64_t ready, std::int64_t free) {
    auto const asked = node == 0 ? std::max(ready, free) : std::max(asked_[node], ready);
    asked_[node] = asked;
    auto there = ready;
    if (rooms_[node].most != 0) {
      for (auto const& use : uses(task)) {
        needed_[use.datum] = task + 1;
      }
    }
    for (auto const& use : uses(task)) {
      auto& replica = at(use.datum, node);
      if (replica.valid == never) {
        auto const room = rooms_[node].most != 0 ? make_room(task, node, bytes_[use.datum]) : 0;
        auto const begin = std::max(asked, room);
        replica.valid =
            use.reads ? move(use.datum, source(use.datum, node, asked), node, begin) : begin;
        enter(use.datum, node);
      } else {
        touch(use.datum, node);
      }
      there = std::max(there, replica.valid);
    }
    return there;
  }

  /// The task ends there then.
  void ran(std::uint32_t task, std::size_t node, std::int64_t end) {
    for (auto const& use : uses(task)) {
      auto& replica = at(use.datum, node);
      replica.used = end;
      if (use.writes) {
        for (std::size_t other = 0; other < nodes_; ++other) {
          if (other != node && at(use.datum, other).valid != never) {
            leave(use.datum, other);
          }
        }
        replica.valid = end;
      }
    }
  }

private:
  static constexpr auto never = std::numeric_limits<std::int64_t>::max();

  struct Use {
    std::uint32_t datum;
    bool reads;
    bool writes;
  };

  struct Replica {
    std::int64_t valid = never; // since then, or from then on
    std::int64_t used = 0;      // until then
  };

  struct Route {
    double ns_per_byte; // with slack
    std::int64_t latency;
    double predicted; // ns for each byte, by which the engine chooses a source
    std::vector<std::size_t> links;
  };

  struct Room {
    std::size_t most; // bytes; 0: holds everything
    std::size_t used;
  };

  void add_route(Platform const& platform, std::size_t from, std::size_t to) {
    if (from == to) {
      routes_.push_back({0, 0, 0, {}});
      return;
    }
    auto const& route = platform.route(NodeId{static_cast<std::int32_t>(from)},
                                       NodeId{static_cast<std::int32_t>(to)});
    auto const alone = 1e9 / route.bytes_per_s;
    auto const all = alone * static_cast<double>(nodes_ - 1); // Lima et al. 2015, eq. 1
    routes_.push_back({slack * (shared_ ? alone : all),
                       route.latency.ns,
                       all,
                       shared_ ? route.links : std::vector<std::size_t>{}});
  }

  [[nodiscard]] std::span<Use const> uses(std::uint32_t task) const noexcept {
    return std::span(uses_).subspan(first_[task], first_[task + 1] - first_[task]);
  }

  Replica& at(std::size_t datum, std::size_t node) { return replicas_[datum * nodes_ + node]; }

  [[nodiscard]] Route const& route(std::size_t from, std::size_t to) const {
    return routes_[from * nodes_ + to];
  }

  /// The node from which the datum is predicted to come first, if it is asked for then.
  [[nodiscard]] std::size_t source(std::size_t datum, std::size_t to, std::int64_t then) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t from = 0; from < nodes_; ++from) {
      if (auto const valid = at(datum, from).valid; valid != never) {
        auto const wait = static_cast<double>(std::max(std::int64_t{0}, valid - then));
        auto const time = wait + static_cast<double>(route(from, to).latency) +
                          static_cast<double>(bytes_[datum]) * route(from, to).predicted;
        if (time < least) {
          least = time;
          best = from;
        }
      }
    }
    return best;
  }

  /// When a transfer ends that begins no earlier than that.
  std::int64_t move(std::size_t datum, std::size_t from, std::size_t to, std::int64_t begin) {
    auto const& way = route(from, to);
    auto const bytes = static_cast<double>(bytes_[datum]);
    auto& lane = lanes_[to == 0 ? from : nodes_ + to];
    begin = std::max({begin, at(datum, from).valid, lane});
    for (auto const link : way.links) {
      begin = std::max(begin, links_[link]);
    }
    for (auto const link : way.links) {
      links_[link] = begin + static_cast<std::int64_t>(bytes * link_ns_per_byte_[link]);
    }
    lane = begin + way.latency + static_cast<std::int64_t>(bytes * way.ns_per_byte);
    at(datum, from).used = std::max(at(datum, from).used, lane);
    return lane;
  }

  // ---- memories that do not hold everything: their data in the order of use, as rings ----

  [[nodiscard]] std::size_t end_of(std::size_t node) const noexcept {
    return node * (data_ + 1) + data_;
  }

  /// Sends away what was used longest ago until so much fits beside what the task needs; when that
  /// is so. What the task needs stays, also if it is too much.
  std::int64_t make_room(std::uint32_t task, std::size_t node, std::size_t bytes) {
    std::int64_t room = 0;
    for (auto k = newer_[end_of(node)];
         rooms_[node].used + bytes > rooms_[node].most && k != end_of(node);) {
      auto const datum = k - node * (data_ + 1);
      k = newer_[k];
      if (needed_[datum] != task + 1) {
        room = std::max(room, evict(datum, node));
      }
    }
    return room;
  }

  std::int64_t evict(std::size_t datum, std::size_t node) {
    auto gone = std::max(at(datum, node).used, at(datum, node).valid);
    bool only = true;
    for (std::size_t other = 0; other < nodes_; ++other) {
      only = only && (other == node || at(datum, other).valid == never);
    }
    if (only) {
      gone = move(datum, node, 0, gone);
      at(datum, 0).valid = gone;
    }
    leave(datum, node);
    return gone;
  }

  void enter(std::size_t datum, std::size_t node) {
    if (rooms_[node].most != 0) {
      rooms_[node].used += bytes_[datum];
      append(node * (data_ + 1) + datum, node);
    }
  }

  void touch(std::size_t datum, std::size_t node) {
    if (rooms_[node].most != 0) {
      auto const k = node * (data_ + 1) + datum;
      take_out(k);
      append(k, node);
    }
  }

  void leave(std::size_t datum, std::size_t node) {
    at(datum, node).valid = never;
    if (rooms_[node].most != 0) {
      rooms_[node].used -= bytes_[datum];
      take_out(node * (data_ + 1) + datum);
    }
  }

  void append(std::size_t k, std::size_t node) {
    auto const end = end_of(node);
    older_[k] = older_[end];
    newer_[k] = end;
    newer_[older_[k]] = k;
    older_[end] = k;
  }

  void take_out(std::size_t k) {
    newer_[older_[k]] = newer_[k];
    older_[newer_[k]] = older_[k];
  }

  std::size_t const nodes_;
  std::size_t const data_;
  bool const shared_;
  std::vector<std::size_t> first_; // use of each task, and the number of all
  std::vector<Use> uses_;
  std::vector<std::size_t> bytes_; // of each datum
  std::vector<Route> routes_;
  std::vector<double> link_ns_per_byte_;
  std::vector<Replica> replicas_;   // of a datum at each node
  std::vector<std::int64_t> links_; // when each is free
  std::vector<std::int64_t> lanes_; // the same; those to the host come first
  std::vector<std::int64_t> asked_; // when the last task's data were asked for, at each node
  std::vector<Room> rooms_;         // of each node
  bool bounded_ = false;            // some node does not hold everything
  std::vector<std::size_t> older_;  // of a datum at a node, or of the ring's end
  std::vector<std::size_t> newer_;
  std::vector<std::uint32_t> needed_; // 1 + the last task that was placed and uses a datum
};

} // namespace hetsched::detail
