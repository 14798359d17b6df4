// SPDX-License-Identifier: MIT
#include <hetsched/platform/network_json.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../support/mutations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace hs = hetsched;
using hs::Platform;
using hs::Precision;

namespace platform_json_test {

// Two cores that work, one that drives a GPU, one kernel.
char const* const small = R"({
  "format": "platform-1",
  "name": "small",
  "description": "for tests",
  "cpu_cores": 3,
  "cpu_workers": 2,
  "gpu_model": "G",
  "gpu_workers": 1,
  "gpu_memory_bytes": 1000000,
  "memory_nodes": ["ram", "gpu0"],
  "bandwidth_bytes_per_s": [[null, 1e9], [2e9, null]],
  "latency_s": [[0, 1e-5], [0.5e-5, 0]],
  "topology": {"links": [["bus", 1.5e9]], "routes": {"ram>gpu0": [0], "gpu0>ram": [0, 0]}},
  "kernels": [
    {"kernel": "gemm", "precision": "double", "tile": 960, "library": "lib",
     "algorithms": ["cholesky", "lu"], "data_bytes": 22118400, "flops": 1769472000,
     "cpu": {"mean_s": 0.05, "std_s": 0.001, "n": 12},
     "cuda": {"mean_s": 0.002, "std_s": null, "n": null},
     "cpu_groups": {"2": 0.03}},
    {"kernel": "potrf", "precision": "double", "tile": 960, "library": "lib",
     "algorithms": ["cholesky"], "data_bytes": 7372800, "flops": null,
     "cpu": {"mean_s": 0.01}, "cuda": null}
  ]
})";

TEST_SUITE_BEGIN("platform_json");

TEST_CASE("platform: what the file says") {
  auto const p = hs::parse_platform(small, "FILE");
  CHECK(p.name == "small");
  CHECK(p.cores == 3);
  REQUIRE(p.classes.size() == 2);
  CHECK(p.classes[0].arch == hs::ArchHost);
  CHECK(p.classes[0].workers == 2);
  CHECK(p.classes[1].arch == hs::ArchCUDA);
  CHECK(p.classes[1].model == "G");
  REQUIRE(p.nodes.size() == 2);
  CHECK(p.nodes[0].capacity_bytes == 0);
  CHECK(p.nodes[1].capacity_bytes == 1000000);
  CHECK(p.transfer(1000000, {0}, {1}).ns == 1010000);
  CHECK(p.transfer(1000000, {1}, {0}).ns == 505000);
  CHECK(p.transfer(1000000, {1}, {1}).ns == 0);
  CHECK(p.route({1}, {0}).links == std::vector<std::size_t>{0, 0});
  auto const* const gemm = p.find("gemm", "lu", Precision::double_precision, 960, "lib");
  REQUIRE(gemm != nullptr);
  CHECK(gemm->on(0)->mean.ns == 50000000);
  CHECK(gemm->on(0)->spread->ns == 1000000);
  CHECK(*gemm->on(0)->samples == 12);
  CHECK(!gemm->on(1)->spread);
  REQUIRE(gemm->on_groups.size() == 1);
  CHECK(gemm->on_groups[0].first == 2);
  auto const* const potrf = p.find("potrf", "cholesky", Precision::double_precision, 960, "lib");
  REQUIRE(potrf != nullptr);
  CHECK(!potrf->on(1));
  CHECK(p.find("potrf", "lu", Precision::double_precision, 960, "lib") == nullptr);
  CHECK(p.find("gemm", "lu", Precision::single_precision, 960, "lib") == nullptr);
  CHECK(p.libraries({"gemm", "potrf"}, "cholesky", Precision::double_precision, 960) ==
        std::vector<std::string>{"lib"});
  CHECK(p.libraries({"gemm", "trsm"}, "cholesky", Precision::double_precision, 960).empty());
}

TEST_CASE("platform: what is wrong is said, and where") {
  check_wrong_files(
      hs::parse_platform,
      small,
      {
          {"platform-1", "platform-2", "/format: is not \"platform-1\""},
          {"\"name\": \"small\"", "\"nam\": \"small\"", "/: 'nam' is not known here"},
          {"\"name\": \"small\",", "", "/: 'name' is missing"},
          {"\"small\"", "7", "/name: is no string"},
          {"\"small\"", "\"\"", "/name: is empty"},
          {"\"cpu_cores\": 3", "\"cpu_cores\": 0", "/cpu_cores: is 0, not from 1 to 100000"},
          {"\"cpu_cores\": 3", "\"cpu_cores\": -3", "/cpu_cores: is -3, not from 1 to 100000"},
          {"\"cpu_cores\": 3", "\"cpu_cores\": 2.5", "/cpu_cores: is no whole number"},
          {"\"cpu_workers\": 2", "\"cpu_workers\": 4", "/cpu_workers: is 4, not from 0 to 3"},
          {"\"gpu_workers\": 1", "\"gpu_workers\": 2", "/memory_nodes: has 2 elements, not 3"},
          {"\"ram\", \"gpu0\"", "\"ram\", \"ram\"", "/memory_nodes/1: is the name of an earlier"},
          {"[null, 1e9]", "[null, 0]", "/bandwidth_bytes_per_s/0/1: is 0, not from 1 to 1e+15"},
          {"[null, 1e9]", "[1e9, 1e9]", "/bandwidth_bytes_per_s/0/0: is not null"},
          {"[null, 1e9]", "[null]", "/bandwidth_bytes_per_s/0: has 1 elements, not 2"},
          {"[null, 1e9]", "[null, 1e999]", "1e999"},
          {"1e-5]", "-1]", "/latency_s/0/1: is -1, not from 0"},
          {"ram>gpu0", "ram-gpu0", "/topology/routes/ram-gpu0: is not between two nodes"},
          {"ram>gpu0\": [0]", "ram>gpu0\": [1]", "/topology/routes/ram>gpu0/0: is 1, not from 0"},
          {"\"double\"", "\"half\"", "/kernels/0/precision: is neither \"single\" nor"},
          {"\"tile\": 960", "\"tile\": 0", "/kernels/0/tile: is 0, not from 1"},
          {"0.05", "0", "/kernels/0/cpu/mean_s: is 0, not from 1e-09"},
          {"0.05", "\"0.05\"", "/kernels/0/cpu/mean_s: is no number"},
          {"0.05", "1e300", "/kernels/0/cpu/mean_s: is 1e+300, not from"},
          {"\"n\": 12", "\"m\": 12", "/kernels/0/cpu: 'm' is not known here"},
          {"\"2\": 0.03", "\"4\": 0.03", "/kernels/0/cpu_groups/4: is not the time on a number of"},
          {"{\"mean_s\": 0.01}", "null", "/kernels/1: has a time on no class of worker"},
          {"\"potrf\"", "\"gemm\"", "/kernels/1: is there already, for algorithm 'cholesky'"},
          {"\"cpu_workers\": 2", "\"cpu_cores\": 3", "a key comes twice: \"cpu_cores\""},
          {"\"kernels\": [", "\"kernels\": {", "parse error"},
      },
      [](std::string const& got, std::string const& error) {
        return got.find(error) != std::string::npos && got.find('\n') == std::string::npos;
      });
  CHECK(error_of(hs::parse_platform, "").find("parse error") != std::string::npos);
  CHECK(error_of(hs::parse_platform, "[]").find("/: is no object") != std::string::npos);
  CHECK_THROWS_WITH_AS(
      (void)hs::read_platform("/nowhere"), "hetsched: /nowhere: cannot be read", hs::Error);
}

// Whatever is done to a file, it is refused with a line, or is a machine whose figures make sense.
TEST_CASE("platform: mutated files are refused or make sense") {
  auto const accepted = try_mutations(small, [](std::string const& text) {
    auto const p = hs::parse_platform(text, "FILE");
    REQUIRE(p.classes.size() == 2);
    REQUIRE(p.classes[0].workers + p.classes[1].workers > 0);
    REQUIRE(p.classes[0].workers <= p.cores);
    REQUIRE(p.nodes.size() == static_cast<std::size_t>(p.classes[1].workers) + 1);
    REQUIRE(p.routes.size() == p.nodes.size() * p.nodes.size());
    for (auto const& route : p.routes) {
      REQUIRE(std::isfinite(route.bytes_per_s));
      REQUIRE(route.latency.ns >= 0);
      for (auto const link : route.links) {
        REQUIRE(link < p.links.size());
      }
    }
    for (auto const& kernel : p.kernels) {
      REQUIRE(kernel.times.size() == 2);
      REQUIRE((kernel.on(0) || kernel.on(1)));
      for (auto const& time : kernel.times) {
        REQUIRE((!time || time->mean.ns > 0));
      }
    }
  });
  CHECK(accepted > 0);
}

constexpr char const* tree = R"({"format": "network-1", "name": "tree", "out_bytes_per_s": 2e9,
  "latency_s": 1e-6, "leaf_nodes": 4, "leaf_bytes_per_s": 4e9})";

TEST_CASE("network: what the file says") {
  auto const n = hs::parse_network(tree, "FILE");
  CHECK(n.name == "tree");
  CHECK(n.in_bytes_per_s == 2e9);
  CHECK(n.time(1000).ns == 1500);
  CHECK(n.leaf_nodes == 4);
  CHECK(n.sharing == hs::Network::Sharing::in_order);
  auto const fair =
      hs::parse_network(replaced(tree, "2e9,", "2e9, \"sharing\": \"fair\","), "FILE");
  CHECK(fair.sharing == hs::Network::Sharing::fair);
}

TEST_CASE("network: what is wrong is said, and where") {
  check_wrong_files(
      hs::parse_network,
      tree,
      {{"network-1", "platform-1", "/format: is not \"network-1\""},
       {"\"latency_s\"", "\"latency\"", "/: 'latency' is not known here"},
       {"\"latency_s\": 1e-6,", "", "/: 'latency_s' is missing"},
       {"1e-6", "-1", "/latency_s: is -1"},
       {"2e9", "0", "/out_bytes_per_s: is 0, not from 1 to 1e+15"},
       {"2e9",
        "2e9, \"sharing\": \"unfair\"",
        "/sharing: is not \"in order\", \"fair\" or \"none\""},
       {"\"leaf_nodes\": 4,", "", "/leaf_bytes_per_s: without leaf_nodes"},
       {"\"leaf_nodes\": 4", "\"leaf_nodes\": 0", "/leaf_nodes: is 0, not from 1 to 1000000"},
       {", \"leaf_bytes_per_s\": 4e9", "", "/: 'leaf_bytes_per_s' is missing"}},
      [](std::string const& got, std::string const& error) {
        return got.find(error) != std::string::npos && got.find('\n') == std::string::npos;
      });
}

TEST_CASE("network: mutated files are refused or make sense") {
  auto const accepted = try_mutations(tree, [](std::string const& text) {
    auto const n = hs::parse_network(text, "FILE");
    REQUIRE(n.out_bytes_per_s >= 1);
    REQUIRE(n.in_bytes_per_s >= 1);
    REQUIRE(n.latency.ns >= 0);
    REQUIRE((n.leaf_nodes == 0 || n.leaf_bytes_per_s >= 1));
  });
  CHECK(accepted > 0);
}

TEST_CASE("platform: cores in groups") {
  auto const p = hs::parse_platform(small, "FILE");
  auto const pairs = p.in_groups(2);
  CHECK(pairs.classes[0].workers == 1);
  CHECK(pairs.classes[1].workers == 1);
  REQUIRE(pairs.kernels[0].on(0).has_value());
  CHECK(pairs.kernels[0].on(0)->mean == hs::Duration{30'000'000});
  CHECK(pairs.kernels[0].on(1)->mean == p.kernels[0].on(1)->mean);
  CHECK(!pairs.kernels[1].on(0).has_value()); // it was not timed on two cores
  CHECK(p.in_groups(1).kernels[1].on(0)->mean == p.kernels[1].on(0)->mean);
  CHECK(p.in_groups(3).classes[0].workers == 0);
}

TEST_CASE("JSON files: levels are limited, and keys in messages are short") {
  auto const nested = [](int levels) {
    auto const many = static_cast<std::size_t>(levels);
    return "{\"a\": " + std::string(many, '[') + std::string(many, ']') + "}";
  };
  CHECK(error_of(hs::parse_platform, nested(63)) == "hetsched: FILE: /: 'a' is not known here");
  CHECK(error_of(hs::parse_platform, nested(64)) ==
        "hetsched: FILE: is nested in more than 64 levels");
  CHECK(error_of(hs::parse_platform, std::string(10'000'000, '[')) ==
        "hetsched: FILE: is nested in more than 64 levels");
  std::string const key(100'000, 'x');
  CHECK(error_of(hs::parse_platform, "{\"" + key + "\": 1, \"" + key + "\": 1}").size() < 200);
}

TEST_CASE("JSON files: are read in a time that grows with their size") {
  // With nlohmann-json's callback it grew with the square: here by a factor of 64.
  auto const time = [](int objects) {
    std::string text = "[0";
    for (int k = 0; k < objects; ++k) {
      text += ",{}";
    }
    text += "]";
    auto best = std::numeric_limits<std::clock_t>::max();
    for (int k = 0; k < 3; ++k) {
      auto const begin = std::clock();
      CHECK(hs::detail::parse_json(text, "FILE").size() == static_cast<std::size_t>(objects) + 1);
      best = std::min(best, std::clock() - begin);
    }
    return static_cast<double>(best);
  };
  CHECK(time(160'000) < 24 * std::max(time(20'000), 0.002 * CLOCKS_PER_SEC));
}

TEST_SUITE_END();

} // namespace platform_json_test
