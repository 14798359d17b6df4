// SPDX-License-Identifier: MIT
#pragma once
// How long transfers between the host and devices take, at least.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Times of transfers that no engine is faster than. Errors of rounding are taken off.
class TransferTimes {
public:
  /// Throws Error(bad_config) if a route is missing.
  TransferTimes(Platform const& platform, Simulation::Transfers kind)
      : platform_(platform), kind_(kind), devices_(platform.devices()) {
    if (devices_ != 0 && kind != Simulation::Transfers::free) {
      check_routes({.platform = platform, .transfers = kind},
                   [](char const* culprit, std::string const& why) {
                     throw Error(ErrorCode::bad_config, culprit, why);
                   });
    }
  }

  /// 0 if transfers are free.
  [[nodiscard]] std::size_t devices() const noexcept {
    return kind_ == Simulation::Transfers::free ? 0 : devices_;
  }

  /// The least time from the host into any device.
  [[nodiscard]] Duration in(std::size_t bytes) const {
    return least([&](NodeId device) { return time(bytes, host_node, device); });
  }

  /// The least time from any device to the host.
  [[nodiscard]] Duration out(std::size_t bytes) const {
    return least([&](NodeId device) { return time(bytes, device, host_node); });
  }

  /// The least time from any other node into any device.
  [[nodiscard]] Duration enter(std::size_t bytes) const {
    return least([&](NodeId device) {
      auto shortest = time(bytes, host_node, device);
      for (std::size_t g = 0; g < devices_; ++g) {
        if (node(g) != device) {
          shortest = std::min(shortest, time(bytes, node(g), device));
        }
      }
      return shortest;
    });
  }

  /// The bytes of a datum that count in lanes. A transfer may end half a nanosecond early.
  [[nodiscard]] std::int64_t counted(std::size_t bytes) const {
    auto fastest = 0.0;
    for (auto const& route : platform_.routes) {
      fastest = std::max(fastest, route.bytes_per_s);
    }
    auto const size =
        static_cast<double>(bytes) * (1 - rounding) - std::ceil(fastest * 1e-9 * early) - 1;
    return std::max(std::int64_t{0}, static_cast<std::int64_t>(size));
  }

  /// The lanes into and out of each device, and the links that routes to and from the host cross.
  [[nodiscard]] std::vector<BoundLane> lanes() const {
    std::vector<BoundLane> result;
    BoundLane const empty{{}, std::vector<double>(devices()), std::vector<double>(devices())};
    for (std::size_t g = 0; g < devices(); ++g) {
      result.push_back(empty);
      result.back().in[g] = byte_time(host_node, node(g));
      result.push_back(empty);
      result.back().out[g] = byte_time(node(g), host_node);
    }
    if (kind_ == Simulation::Transfers::shared) {
      for (std::size_t l = 0; l < platform_.links.size(); ++l) {
        auto link = empty;
        for (std::size_t g = 0; g < devices(); ++g) {
          link.in[g] = link_time(l, host_node, node(g));
          link.out[g] = link_time(l, node(g), host_node);
        }
        auto const used = [](double byte) { return byte > 0; };
        if (std::any_of(link.in.begin(), link.in.end(), used) ||
            std::any_of(link.out.begin(), link.out.end(), used)) {
          result.push_back(std::move(link));
        }
      }
    }
    return result;
  }

private:
  static constexpr double rounding = 1e-9;
  static constexpr double early = 0.501; // times are rounded to the nearest nanosecond

  [[nodiscard]] static NodeId node(std::size_t device) noexcept {
    return NodeId{static_cast<std::int32_t>(device) + 1};
  }

  template <class Time>
  [[nodiscard]] Duration least(Time const& time_of) const {
    std::optional<Duration> shortest;
    for (std::size_t g = 0; g < devices(); ++g) {
      auto const its = time_of(node(g));
      shortest = shortest ? std::min(*shortest, its) : its;
    }
    return shortest.value_or(Duration{});
  }

  [[nodiscard]] Duration time(std::size_t bytes, NodeId from, NodeId to) const {
    if (kind_ == Simulation::Transfers::model) {
      return platform_.transfer(bytes, from, to, static_cast<int>(devices_));
    }
    auto const ns = static_cast<double>(bytes) * byte_time(from, to) * (1 - rounding) - early;
    return platform_.route(from, to).latency +
           Duration{static_cast<std::int64_t>(std::ceil(std::max(0.0, ns)))};
  }

  /// Nanoseconds for a byte of a transfer that is alone.
  [[nodiscard]] double byte_time(NodeId from, NodeId to) const {
    auto const& route = platform_.route(from, to);
    if (kind_ == Simulation::Transfers::model) {
      return 1e9 / route.bytes_per_s * static_cast<double>(devices_);
    }
    auto slowest = 1e9 / route.bytes_per_s;
    for (auto const link : route.links) {
      slowest = std::max(slowest, link_time(link, from, to));
    }
    return slowest;
  }

  [[nodiscard]] double link_time(std::size_t link, NodeId from, NodeId to) const {
    auto const& links = platform_.route(from, to).links;
    auto const times = std::count(links.begin(), links.end(), link);
    return static_cast<double>(times) * 1e9 / platform_.links[link].bytes_per_s;
  }

  Platform const& platform_;
  Simulation::Transfers const kind_;
  std::size_t devices_ = 0;
};

} // namespace hetsched::detail
