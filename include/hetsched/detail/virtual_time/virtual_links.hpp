// SPDX-License-Identifier: MIT
#pragma once
// Transfers in virtual time: the length and the end of each.

#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The lanes of a machine: each performs one transfer at a time, in the order in which they were
/// asked for, as a stream does. A transfer takes the time of Lima et al. 2015, sec. 4.2, eq. 1, or
/// transfers under way share the links that they cross. Each begin or end of a transfer costs O(F
/// (F + L)) for F busy lanes and L links. Not thread-safe.
///
/// Sharing is max-min fair: all transfers get the same rate, except those that their own route's
/// bandwidth or a full link limits. No rate can grow unless a smaller one shrinks. A link that a
/// route crosses twice carries its transfers twice. A transfer first waits for its route's latency,
/// and then takes part.
template <class Item>
class VirtualLinks {
public:
  static constexpr Instant never{std::numeric_limits<std::int64_t>::max()};

  /// `accelerators`: the number that the program uses; n_accel of eq. 1.
  VirtualLinks(Platform const& platform, Simulation::Transfers kind, int accelerators, int lanes)
      : platform_(platform), shared_(kind == Simulation::Transfers::shared),
        accelerators_(accelerators), lanes_(static_cast<std::size_t>(lanes)) {
    room_.reserve(platform.links.size());
    load_.reserve(platform.links.size());
  }

  /// The time by eq. 1, which assumes that transfers of all GPUs are under way. It is the
  /// prediction, also where links are shared, because future transfers are not known.
  [[nodiscard]] Duration time(std::size_t bytes, NodeId from, NodeId to) const {
    return platform_.transfer(bytes, from, to, accelerators_);
  }

  /// Asks for a transfer. `item` is given back when it has ended. `follows`: it is one with the
  /// transfer before it in the lane, and waits for no latency of its own.
  void start(std::size_t lane,
             Item item,
             std::size_t bytes,
             NodeId from,
             NodeId to,
             Instant now,
             bool follows = false) {
    auto& queue = lanes_[lane];
    queue.waiting.push_back({std::move(item), bytes, from, to, follows});
    if (queue.waiting.size() == 1) {
      begin(queue, now);
    }
  }

  /// The time of the next event; `never` if there is none.
  [[nodiscard]] Instant next() const noexcept { return next_; }

  /// Lets time pass until `now`, at most next(). Calls over(item) for each transfer that has ended,
  /// by lane. The next transfers of these lanes have then begun.
  template <class Over>
  void advance(Instant now, Over&& over) {
    drain(now);
    over_.clear();
    std::size_t asked = 0;
    for (auto const& lane : lanes_) {
      asked += lane.waiting.size();
    }
    make_room(over_, asked);
    bool changed = false;
    for (auto& lane : lanes_) {
      while (lane.at <= now) {
        if (shared_ && !lane.flows) {
          lane.flows = true;
          lane.left = static_cast<double>(lane.waiting.front().bytes);
          lane.at = lane.left == 0 ? now : never; // as `share` will say
        } else {
          over_.push_back(std::move(lane.waiting.front().item));
          end(lane, now);
        }
        changed = true;
      }
    }
    settle(now, changed);
    for (auto& item : over_) {
      over(item);
    }
  }

  /// Forgets the transfers for which `ends(item)`: they end now.
  template <class Ends>
  void cut(Instant now, Ends&& ends) {
    drain(now);
    for (auto& lane : lanes_) {
      auto& waiting = lane.waiting;
      for (auto k = waiting.size(); k-- > 1;) {
        if (ends(waiting[k].item)) {
          waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(k));
        }
      }
      if (!waiting.empty() && ends(waiting.front().item)) {
        end(lane, now);
      }
    }
    settle(now, true);
  }

private:
  struct Transfer {
    Item item;
    std::size_t bytes;
    NodeId from;
    NodeId to;
    bool follows; // the one before it, without a latency
  };

  struct Lane {
    std::deque<Transfer> waiting; // the first one is under way
    Instant at = never;           // end of the present phase
    bool flows = false;           // its latency is over: it takes part in sharing
    double left = 0;              // bytes, when flows were drained last
    double rate = 0;              // bytes a second
    bool fixed = false;           // while rates are shared out
  };

  void begin(Lane& lane, Instant now) {
    auto const& transfer = lane.waiting.front();
    lane.flows = false;
    auto const latency = platform_.route(transfer.from, transfer.to).latency;
    auto const whole = shared_ ? latency : time(transfer.bytes, transfer.from, transfer.to);
    lane.at = now + (transfer.follows ? whole - latency : whole);
    next_ = std::min(next_, lane.at);
  }

  void end(Lane& lane, Instant now) {
    lane.waiting.pop_front();
    lane.flows = false;
    lane.at = never;
    if (!lane.waiting.empty()) {
      begin(lane, now);
    }
  }

  /// Subtracts the bytes that have flowed since the last call.
  void drain(Instant now) {
    if (shared_ && now != drained_) {
      auto const seconds = (now - drained_).seconds();
      for (auto& lane : lanes_) {
        lane.left -= lane.flows ? lane.rate * seconds : 0;
      }
    }
    drained_ = now;
  }

  void settle(Instant now, bool changed) {
    if (shared_ && changed) {
      share(now);
    }
    next_ = never;
    for (auto const& lane : lanes_) {
      next_ = std::min(next_, lane.at);
    }
  }

  /// Computes rates by progressive filling. All rates grow equally until a link is full or a
  /// route's bandwidth is reached. The transfers limited by it keep their rate, and the others grow
  /// on.
  void share(Instant now) {
    room_.assign(platform_.links.size(), 0);
    for (std::size_t l = 0; l < room_.size(); ++l) {
      room_[l] = platform_.links[l].bytes_per_s;
    }
    std::size_t growing = 0;
    for (auto& lane : lanes_) {
      lane.fixed = !lane.flows;
      growing += lane.flows ? 1 : 0;
    }
    double level = 0;
    while (growing != 0) {
      load_.assign(room_.size(), 0);
      auto step = std::numeric_limits<double>::infinity();
      for (auto const& lane : lanes_) {
        if (!lane.fixed) {
          auto const& route = route_of(lane);
          step = std::min(step, route.bytes_per_s - level);
          for (auto const link : route.links) {
            load_[link] += 1;
          }
        }
      }
      for (std::size_t l = 0; l < room_.size(); ++l) {
        if (load_[l] != 0) {
          step = std::min(step, room_[l] / load_[l]);
        }
      }
      for (std::size_t l = 0; l < room_.size(); ++l) {
        // The links that gave the step are full: what is left of them is a rounding error.
        auto const left = room_[l] - step * load_[l];
        room_[l] = left > room_[l] * 1e-12 ? left : 0;
      }
      level += step;
      for (auto& lane : lanes_) {
        if (lane.fixed) {
          continue;
        }
        auto const& route = route_of(lane);
        auto const full = [this](std::size_t link) { return room_[link] == 0; };
        if (route.bytes_per_s <= level * (1 + 1e-12) ||
            std::any_of(route.links.begin(), route.links.end(), full)) {
          lane.fixed = true;
          lane.rate = level;
          auto const ns = std::max(lane.left, 0.0) / level * 1e9;
          lane.at = now + Duration{static_cast<std::int64_t>(ns + 0.5)};
          --growing;
        }
      }
    }
  }

  [[nodiscard]] Platform::Route const& route_of(Lane const& lane) const {
    return platform_.route(lane.waiting.front().from, lane.waiting.front().to);
  }

  Platform const& platform_;
  bool const shared_;
  int const accelerators_; // that share the buses in eq. 1
  std::vector<Lane> lanes_;
  Instant next_ = never;
  Instant drained_;
  std::vector<Item> over_;
  std::vector<double> room_; // of each link
  std::vector<double> load_; // how often transfers whose rate still grows cross it
};

} // namespace hetsched::detail
