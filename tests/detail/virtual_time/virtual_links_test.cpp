// SPDX-License-Identifier: MIT
// Transfers in virtual time, against ends worked out on paper; and rates against the definition of
// max-min fairness.

#include <hetsched/detail/virtual_time/virtual_links.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Duration;
using hs::Instant;
using hs::NodeId;
using Transfers = hs::Simulation::Transfers;
using Links = hs::detail::VirtualLinks<int>;

namespace virtual_links_test {

/// Host memory and devices, each pair joined at `bytes_per_s` with a latency; no link is shared.
hs::Platform machine(int devices, double bytes_per_s, std::int64_t latency_ns) {
  hs::Platform platform;
  auto const nodes = static_cast<std::size_t>(devices) + 1;
  for (std::size_t n = 0; n < nodes; ++n) {
    platform.nodes.push_back({"node " + std::to_string(n), 0});
  }
  platform.routes.assign(nodes * nodes, {bytes_per_s, Duration{latency_ns}, {}});
  return platform;
}

hs::Platform::Route& route(hs::Platform& platform, int from, int to) {
  return platform.routes[static_cast<std::size_t>(from) * platform.nodes.size() +
                         static_cast<std::size_t>(to)];
}

/// Runs until nothing is under way: when each item ended.
std::map<int, std::int64_t> ends(Links& links) {
  std::map<int, std::int64_t> found;
  while (links.next() != Links::never) {
    auto const now = links.next();
    links.advance(now, [&](int item) { found[item] = now.ns; });
  }
  return found;
}

using Ends = std::map<int, std::int64_t>;

TEST_SUITE_BEGIN("simulation");

TEST_CASE(
    "VirtualLinks: latency + bytes / bandwidth * accelerators, one after the other in a lane") {
  // 1 byte a nanosecond, 50 ns before the first.
  auto const platform = machine(2, 1e9, 50);
  Links links(platform, Transfers::model, 2, 4);
  CHECK(links.time(100, NodeId{0}, NodeId{1}) == Duration{250});
  CHECK(links.time(0, NodeId{0}, NodeId{1}) == Duration{50});
  CHECK(links.time(100, NodeId{1}, NodeId{1}) == Duration{0});
  links.start(0, 1, 100, NodeId{0}, NodeId{1}, Instant{0});
  links.start(0, 2, 10, NodeId{2}, NodeId{1}, Instant{0});
  links.start(3, 3, 400, NodeId{2}, NodeId{0}, Instant{0});
  CHECK(ends(links) == Ends{{1, 250}, {2, 320}, {3, 850}});
  Links alone(platform, Transfers::model, 1, 4);
  alone.start(0, 1, 100, NodeId{0}, NodeId{1}, Instant{7});
  CHECK(ends(alone) == Ends{{1, 157}});
}

TEST_CASE("VirtualLinks: two share a link, and the one that is left has it alone") {
  // The bus carries 1 byte a nanosecond. 300 and 100 bytes begin at once: 200 ns at a half each, in
  // which the short one ends; the other has 200 bytes left, and takes 200 ns more.
  auto platform = machine(2, 1e9, 0);
  platform.links = {{"bus", 1e9}};
  route(platform, 0, 1).links = {0};
  route(platform, 0, 2).links = {0};
  Links links(platform, Transfers::shared, 2, 4);
  CHECK(links.time(100, NodeId{0}, NodeId{1}) == Duration{200}); // as eq. 1 expects
  links.start(0, 1, 300, NodeId{0}, NodeId{1}, Instant{0});
  links.start(2, 2, 100, NodeId{0}, NodeId{2}, Instant{0});
  CHECK(ends(links) == Ends{{1, 400}, {2, 200}});
  // With 20 ns of latency before the second: 20 ns alone, then 100 bytes each at a half until 220.
  route(platform, 0, 2).latency = Duration{20};
  Links later(platform, Transfers::shared, 2, 4);
  later.start(0, 1, 300, NodeId{0}, NodeId{1}, Instant{0});
  later.start(2, 2, 100, NodeId{0}, NodeId{2}, Instant{0});
  CHECK(ends(later) == Ends{{1, 400}, {2, 220}});
}

TEST_CASE("VirtualLinks: what others cannot use goes to those that can") {
  // Bus of 10 bytes a nanosecond, shared by three. The first crosses a slow link of 2: it has 2,
  // the others 4 each. 80 bytes each: at 20 the last two end; the first then has no more than
  // its 2.
  auto platform = machine(3, 100e9, 0);
  platform.links = {{"bus", 10e9}, {"slow", 2e9}};
  route(platform, 0, 1).links = {0, 1};
  route(platform, 0, 2).links = {0};
  route(platform, 0, 3).links = {0};
  Links links(platform, Transfers::shared, 3, 6);
  for (int d = 1; d <= 3; ++d) {
    links.start(static_cast<std::size_t>(2 * d - 2), d, 80, NodeId{0}, NodeId{d}, Instant{0});
  }
  CHECK(ends(links) == Ends{{1, 40}, {2, 20}, {3, 20}});
  // One that crosses the bus twice loads it twice: 10 = 2 r + r.
  route(platform, 0, 1).links = {0, 0};
  Links twice(platform, Transfers::shared, 3, 6);
  twice.start(0, 1, 10000, NodeId{0}, NodeId{1}, Instant{0});
  twice.start(2, 2, 10000, NodeId{0}, NodeId{2}, Instant{0});
  CHECK(ends(twice) == Ends{{1, 3000}, {2, 3000}});
  // A route's own bandwidth is a limit, too: 1 of the bus's 10, and the other has 9.
  route(platform, 0, 1) = {1e9, {}, {0}};
  Links own(platform, Transfers::shared, 3, 6);
  own.start(0, 1, 100, NodeId{0}, NodeId{1}, Instant{0});
  own.start(2, 2, 900, NodeId{0}, NodeId{2}, Instant{0});
  CHECK(ends(own) == Ends{{1, 100}, {2, 100}});
}

TEST_CASE("VirtualLinks: what is cut ends, and others go on with its share") {
  auto platform = machine(2, 1e9, 0);
  platform.links = {{"bus", 1e9}};
  route(platform, 0, 1).links = {0};
  route(platform, 0, 2).links = {0};
  Links links(platform, Transfers::shared, 2, 4);
  links.start(0, 1, 300, NodeId{0}, NodeId{1}, Instant{0});
  links.start(0, 2, 50, NodeId{0}, NodeId{1}, Instant{0});
  links.start(0, 3, 60, NodeId{0}, NodeId{1}, Instant{0});
  links.start(2, 4, 300, NodeId{0}, NodeId{2}, Instant{0});
  links.advance(Instant{0}, [](int) { FAIL("nothing has moved"); }); // rates
  links.advance(Instant{100}, [](int) { FAIL("50 bytes each have moved"); });
  std::vector<int> cut;
  links.cut(Instant{100}, [&](int item) {
    if (item == 1 || item == 3) {
      cut.push_back(item);
    }
    return item == 1 || item == 3;
  });
  std::sort(cut.begin(), cut.end());
  CHECK(cut == std::vector<int>{1, 3});
  CHECK(ends(links) == Ends{{2, 200}, {4, 400}}); // 4: 50 + 50 bytes at a half, 200 alone
}

TEST_CASE("VirtualLinks: no rate can grow without a smaller or equal one shrinking") {
  // Random machines. The bytes that moved in one nanosecond-long step tell the rates: each transfer
  // ends alone in a run of its own that is long enough to read its rate at the beginning.
  std::mt19937_64 dice(5);
  for (int round = 0; round < 200; ++round) {
    int const devices = 2 + static_cast<int>(dice() % 4);
    auto platform = machine(devices, 1e9, 0);
    auto const link_count = 1 + dice() % 4;
    for (std::size_t l = 0; l < link_count; ++l) {
      platform.links.push_back({"link", 1e9 * static_cast<double>(1 + dice() % 9)});
    }
    for (int d = 1; d <= devices; ++d) {
      auto& way = route(platform, 0, d);
      way.bytes_per_s = 1e9 * static_cast<double>(1 + dice() % 12);
      for (auto count = dice() % 4; count-- > 0;) {
        way.links.push_back(dice() % link_count);
      }
    }
    // The rate of device d while all are under way: its transfer is the only one that is short
    // enough to end before the others do.
    std::vector<double> rates;
    for (int d = 1; d <= devices; ++d) {
      Links links(platform, Transfers::shared, devices, 2 * devices);
      std::size_t const few = 1'000'000;
      for (int e = 1; e <= devices; ++e) {
        links.start(static_cast<std::size_t>(2 * e - 2),
                    e,
                    e == d ? few : few * 1000,
                    NodeId{0},
                    NodeId{e},
                    Instant{0});
      }
      links.advance(Instant{0}, [](int) {});
      auto const end = links.next();
      std::vector<int> ended;
      links.advance(end, [&](int item) { ended.push_back(item); });
      REQUIRE(ended == std::vector<int>{d});
      rates.push_back(static_cast<double>(few) / static_cast<double>(end.ns)); // bytes a ns
    }
    std::vector<double> load(link_count);
    for (int d = 1; d <= devices; ++d) {
      for (auto const link : route(platform, 0, d).links) {
        load[link] += rates[static_cast<std::size_t>(d) - 1];
      }
    }
    auto const near = [](double a, double b) { return std::abs(a - b) < 1e-4 * b; };
    for (std::size_t l = 0; l < link_count; ++l) {
      REQUIRE(load[l] < platform.links[l].bytes_per_s / 1e9 * (1 + 1e-4));
    }
    for (int d = 1; d <= devices; ++d) {
      auto const& way = route(platform, 0, d);
      auto const rate = rates[static_cast<std::size_t>(d) - 1];
      bool limited = near(rate, way.bytes_per_s / 1e9);
      for (auto const link : way.links) { // full, and nobody on it has more
        bool most = near(load[link], platform.links[link].bytes_per_s / 1e9);
        for (int e = 1; e <= devices; ++e) {
          auto const& theirs = route(platform, 0, e).links;
          if (std::find(theirs.begin(), theirs.end(), link) != theirs.end()) {
            most = most && rates[static_cast<std::size_t>(e) - 1] < rate * (1 + 1e-4);
          }
        }
        limited = limited || most;
      }
      REQUIRE(limited);
    }
  }
}

TEST_SUITE_END();

} // namespace virtual_links_test
