// SPDX-License-Identifier: MIT
#pragma once
// What joins the nodes of a cluster, in numbers.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hetsched {

/// The network of a cluster of equal nodes. Plain data. read_network (network_json.hpp) reads one
/// from a file and checks it. Bandwidths are of values of data, in bytes per second; infinity: no
/// limit.
///
/// Each node has a port with a way out and a way in. A port sends one message at a time, the most
/// urgent first and otherwise in the order in which they were asked for, and then forgets it: what
/// is under way waits in the network, not in the port. The first byte comes to the other port after
/// the latency; messages go in there one at a time, in the order in which their first bytes come.
struct Network {
  enum class Sharing : std::uint8_t {
    in_order, // as above
    fair,     // all messages that were asked for are under way, and share what they pass max-min
              // fairly once the latency is over
    none      // each message goes as if it were alone: latency + bytes / bandwidth
  };

  std::string name = {};
  double out_bytes_per_s = 0; // of the port of each node
  double in_bytes_per_s = 0;
  Duration latency = {}; // of a message without bytes, from end to end
  Sharing sharing = Sharing::in_order;
  /// Of the transport's that ranks would use here; see concepts/transport.hpp. Where messages share
  /// ports, values for several nodes go through some of them to others if that pays by this figure.
  std::size_t latency_bytes = usual_latency_bytes;
  /// A tree of two levels: so many nodes, in the order of their numbers, are joined by a switch.
  /// What goes to a node of another switch passes the link from the one up, and the link down to
  /// the other, as it passes ports. 0: all nodes at one switch, which is no limit.
  int leaf_nodes = 0;
  double leaf_bytes_per_s = 0; // up, and as many down

  /// The time of a message that is alone.
  [[nodiscard]] Duration time(std::size_t bytes) const noexcept {
    return latency + at(bytes, out_bytes_per_s < in_bytes_per_s ? out_bytes_per_s : in_bytes_per_s);
  }

  /// What so many bytes take at a bandwidth.
  [[nodiscard]] static Duration at(std::size_t bytes, double bytes_per_s) noexcept {
    return {static_cast<std::int64_t>(static_cast<double>(bytes) / bytes_per_s * 1e9 + 0.5)};
  }
};

/// Messages that carry values of data, and their bytes.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  void add(std::size_t size) noexcept {
    ++messages;
    bytes += size;
  }
};

/// What a node of a cluster sends and receives.
struct PortTraffic {
  Traffic sent;
  Traffic received;
};

namespace detail {

/// Checks all fields. Throws Error(bad_config).
inline void check_network(Network const& network) {
  auto const check = [](bool holds, char const* culprit, std::string const& why) {
    if (!holds) {
      throw Error(ErrorCode::bad_config, culprit, why);
    }
  };
  auto const is_bandwidth = [&](double bytes_per_s, char const* culprit) {
    check(bytes_per_s > 0, culprit, std::to_string(bytes_per_s) + " is not above 0");
  };
  is_bandwidth(network.out_bytes_per_s, "Network::out_bytes_per_s");
  is_bandwidth(network.in_bytes_per_s, "Network::in_bytes_per_s");
  check(network.latency.ns >= 0, "Network::latency", "is negative");
  check(network.leaf_nodes >= 0,
        "Network::leaf_nodes",
        std::to_string(network.leaf_nodes) + " is negative");
  if (network.leaf_nodes != 0) {
    is_bandwidth(network.leaf_bytes_per_s, "Network::leaf_bytes_per_s");
  }
}

} // namespace detail
} // namespace hetsched
