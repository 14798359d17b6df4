// SPDX-License-Identifier: MIT
#pragma once
// Flows of bytes that share the places that they pass, in virtual time.

#include <hetsched/core/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Flows under way share the bandwidth of ports and links max-min fairly: no rate can grow unless a
/// smaller one shrinks. A begin or an end costs O(f log p) for the f flows and p places that are
/// joined to it by flows and places. Rates are fixed by the place with the least bandwidth for each
/// of its flows, then by the next one. Not thread-safe.
template <class Item>
class FairFlows {
public:
  static constexpr Instant never{std::numeric_limits<std::int64_t>::max()};
  static constexpr std::size_t most_places = 4; // on the way of a flow

  /// The bandwidth of each place, above 0; infinity: no limit.
  explicit FairFlows(std::span<double const> bytes_per_s) {
    places_.reserve(bytes_per_s.size());
    for (auto const bandwidth : bytes_per_s) {
      places_.push_back({.bytes_per_s = bandwidth});
    }
  }

  /// `item` is given back when so many bytes have passed these places, each of which is named once.
  void begin(Item item, std::size_t bytes, std::span<std::uint32_t const> way, Instant now) {
    if (free_.empty()) {
      free_.push_back(flows_.size());
      flows_.emplace_back();
    }
    auto const number = free_.back();
    free_.pop_back();
    auto& flow = flows_[number];
    flow.item = std::move(item);
    flow.left = static_cast<double>(bytes);
    flow.rate = 0;
    flow.since = now;
    flow.length = 0;
    for (auto const place : way) {
      if (places_[place].bytes_per_s < std::numeric_limits<double>::infinity()) {
        flow.way[flow.length++] = place;
        places_[place].flows.push_back(number);
        changed_.push_back(place);
      }
    }
    if (flow.length == 0) {
      flow.end = now;
      ends_.push({now, ++flow.stamp, number});
    }
  }

  /// Shares out what has changed. To be called after all begins of a time.
  void share(Instant now) {
    ++round_;
    for (auto const place : std::exchange(changed_, {})) {
      if (places_[place].round != round_) {
        join(place, now);
        fill(now);
        note_first_end();
      }
    }
  }

  /// When a flow ends next; `never` if there is none.
  [[nodiscard]] Instant next() noexcept {
    while (!ends_.empty() && ends_.top().stamp != flows_[ends_.top().flow].stamp) {
      ends_.pop(); // the flow's rate has changed since
    }
    return ends_.empty() ? never : ends_.top().at;
  }

  /// Calls over(item) for each flow that ends at `now`, at most next().
  template <class Over>
  void advance(Instant now, Over&& over) {
    while (next() == now) {
      auto const number = ends_.top().flow;
      ends_.pop();
      auto& flow = flows_[number];
      ++flow.stamp;
      for (auto const place : flow.places()) {
        auto& flows = places_[place].flows;
        *std::find(flows.begin(), flows.end(), number) = flows.back();
        flows.pop_back();
        changed_.push_back(place);
      }
      free_.push_back(number);
      over(std::move(flow.item));
    }
  }

private:
  struct Flow {
    Item item = {};
    double left = 0; // bytes, at `since`
    double rate = 0; // bytes a second
    Instant since = {};
    Instant end = {};        // at this rate
    std::uint64_t stamp = 0; // counts its ends that were computed
    std::uint64_t round = 0; // in which it was last looked at
    bool fixed = false;      // while rates are shared out
    std::uint8_t length = 0;
    std::array<std::uint32_t, most_places> way = {};

    [[nodiscard]] std::span<std::uint32_t const> places() const noexcept {
      return std::span(way).first(length);
    }
  };

  struct Place {
    double bytes_per_s = 0;
    std::vector<std::size_t> flows = {};
    std::uint64_t round = 0; // in which it was last looked at
    double room = 0;         // that no fixed flow has
    std::size_t growing = 0; // flows that are not fixed
  };

  struct End {
    Instant at;
    std::uint64_t stamp;
    std::size_t flow;

    friend bool operator<(End const& a, End const& b) noexcept { // the first is at the top
      return a.at != b.at ? a.at > b.at : a.flow > b.flow;
    }
  };

  using Level = std::pair<double, std::uint32_t>; // a rate, and the place that gives it

  /// Finds what shares with a place, directly or not, and what of these flows is left.
  void join(std::uint32_t first, Instant now) {
    joined_places_.assign(1, first);
    joined_flows_.clear();
    places_[first].round = round_;
    for (std::size_t k = 0; k < joined_places_.size(); ++k) {
      auto& place = places_[joined_places_[k]];
      place.room = place.bytes_per_s;
      place.growing = place.flows.size();
      for (auto const number : place.flows) {
        auto& flow = flows_[number];
        if (std::exchange(flow.round, round_) == round_) {
          continue;
        }
        joined_flows_.push_back(number);
        flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since).seconds());
        flow.since = now;
        flow.fixed = false;
        for (auto const other : flow.places()) {
          if (std::exchange(places_[other].round, round_) != round_) {
            joined_places_.push_back(other);
          }
        }
      }
    }
  }

  /// Gives these flows their rates.
  void fill(Instant now) {
    std::priority_queue<Level, std::vector<Level>, std::greater<>> levels;
    double least = 0; // they grow; what is left of a place may be less by a rounding error
    auto const level_of = [&](std::uint32_t number) {
      auto const& place = places_[number];
      return std::max(least, place.room / static_cast<double>(place.growing));
    };
    for (auto const place : joined_places_) {
      if (places_[place].growing != 0) {
        levels.push({level_of(place), place});
      }
    }
    while (!levels.empty()) {
      auto const [level, number] = levels.top();
      levels.pop();
      if (places_[number].growing == 0) {
        continue;
      }
      if (auto const present = level_of(number); present > level) { // others were fixed since
        levels.push({present, number});
        continue;
      }
      least = level;
      for (auto const which : places_[number].flows) {
        if (auto& flow = flows_[which]; !std::exchange(flow.fixed, true)) {
          for (auto const place : flow.places()) {
            places_[place].room -= level;
            --places_[place].growing;
          }
          set_rate(which, level, now);
        }
      }
    }
  }

  void set_rate(std::size_t number, double rate, Instant now) {
    auto& flow = flows_[number];
    if (rate != flow.rate) {
      flow.rate = rate;
      auto const ns = flow.left / rate * 1e9;
      flow.end = now + Duration{static_cast<std::int64_t>(ns + 0.5)};
      ++flow.stamp;
    }
  }

  /// Of the joined flows. The others wait: when one ends, what it shared with is looked at again.
  void note_first_end() {
    auto first = never;
    for (auto const number : joined_flows_) {
      first = std::min(first, flows_[number].end);
    }
    for (auto const number : joined_flows_) {
      if (flows_[number].end == first) {
        ends_.push({first, flows_[number].stamp, number});
      }
    }
  }

  std::vector<Place> places_;
  std::vector<Flow> flows_;
  std::vector<std::size_t> free_;      // flows that have ended
  std::priority_queue<End> ends_;      // the first of all that are joined, at least
  std::vector<std::uint32_t> changed_; // places whose flows are others than those that share them
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> joined_places_;
  std::vector<std::size_t> joined_flows_;
};

} // namespace hetsched::detail
