// SPDX-License-Identifier: MIT
// The network of benchmarks/cluster_order, whose messages take real time.

#include <hetsched/testing/transport_conformance.hpp>

#include "../../benchmarks/cluster_order/timed_network.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace timed_network_test {

namespace hs = hetsched;
using cluster_order::TimedNetwork;

/// Notes when the payloads of messages arrive that have a number as their head.
struct Inbox {
  std::array<std::byte, 1000> memory = {};
  std::size_t used = 0;
  std::vector<std::pair<int, std::int64_t>> came = {};
  int sends_over = 0;

  std::byte* begin(int, std::span<std::byte const>, std::size_t bytes) {
    return memory.data() + std::exchange(used, used + bytes);
  }

  void arrived(int, std::span<std::byte const> head, std::byte*, std::size_t) {
    came.emplace_back(static_cast<int>(head[0]), hs::detail::monotonic_ns());
  }

  void sent(std::uint64_t) { ++sends_over; }

  void lost(int, std::string_view) {}
};

TEST_SUITE_BEGIN("cluster");

TEST_CASE("timed network: keeps the contract of transports") {
  auto const report = hs::testing::check_transport([](int ranks, std::uint64_t) {
    return TimedNetwork(ranks, {.out_bytes_per_s = 1e9, .in_bytes_per_s = 1e9, .latency = {1000}});
  });
  CHECK_MESSAGE(report.ok(), report.text());
}

TEST_CASE("timed network: messages take their time, the most urgent first") {
  bool late_look = false; // of the receiver: all three are there then
  SUBCASE("looking all the time") {
  }
  SUBCASE("looking late") {
    late_look = true;
  }
  // 100 bytes take 10 ms on the way out, and 5 ms more; the second one is not urgent.
  constexpr std::int64_t ms = 1'000'000;
  TimedNetwork net(
      2,
      {.out_bytes_per_s = 1e4,
       .in_bytes_per_s = std::numeric_limits<double>::infinity(),
       .latency = {5 * ms}},
      [](int, std::span<std::byte const> head) { return head[0] == std::byte{1} ? 0 : 1; });
  auto from = net.transport(0);
  auto to = net.transport(1);
  std::array<std::byte, 100> const payload = {};
  auto const begin = hs::detail::monotonic_ns();
  for (int k = 0; k < 3; ++k) {
    std::array const head{static_cast<std::byte>(k)};
    from.send(1, head, payload, 0);
  }
  bool const in_time = hs::detail::monotonic_ns() - begin < 10 * ms; // the first one is on its way
  Inbox sender;
  Inbox receiver;
  if (late_look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  while (receiver.came.size() < 3 || sender.sends_over < 3) {
    from.poll(sender);
    to.poll(receiver);
  }
  for (std::size_t place = 0; place < 3; ++place) { // they may be late, never early
    auto const [number, at] = receiver.came[place];
    CHECK((!in_time || number == std::array{0, 2, 1}[place]));
    CHECK(at - begin >= (10 * static_cast<std::int64_t>(place + 1) + 5) * ms);
  }
}

TEST_SUITE_END();

} // namespace timed_network_test
