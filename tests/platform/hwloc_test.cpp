// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

TEST_SUITE_BEGIN("hwloc");

#ifdef HETSCHED_HAVE_HWLOC

#include <hetsched/hetsched.hpp>
#include <hetsched/platform/hwloc.hpp>

#include "../support/support.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace {

using support::allowed_cpus;

std::vector<int> sorted(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Narrows the calling thread's affinity mask to one CPU and widens it again.
class OnlyCpu {
public:
  explicit OnlyCpu(int cpu) {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    REQUIRE(sched_setaffinity(0, sizeof only, &only) == 0);
  }

  OnlyCpu(OnlyCpu const&) = delete;
  OnlyCpu& operator=(OnlyCpu const&) = delete;

  ~OnlyCpu() { sched_setaffinity(0, sizeof before_, &before_); }

private:
  cpu_set_t before_{};
};

} // namespace

TEST_CASE("hwloc_places: every CPU that this thread may use, once") {
  CHECK(sorted(hetsched::hwloc_places()) == allowed_cpus());
}

TEST_CASE("hwloc_places: follows a narrower affinity mask") {
  auto const last = allowed_cpus().back();
  OnlyCpu const only(last);

  CHECK(hetsched::hwloc_places() == std::vector{last});
}

TEST_CASE("hwloc_places: a runtime binds its workers in that order") {
  auto const places = hetsched::hwloc_places();
  hetsched::Runtime<> rt({.cpus = 1, .bind = hetsched::Bind::cores, .places = places});

  CHECK(rt.workers()[0].cpu == places.front());
}

/// hwloc_places of a machine described in hwloc's way.
std::vector<int> places_of(char const* machine, int group) {
  hwloc_topology_t loaded = nullptr;
  REQUIRE(hwloc_topology_init(&loaded) == 0);
  std::unique_ptr<hwloc_topology, hetsched::detail::DestroyTopology> const topology(loaded);
  REQUIRE(hwloc_topology_set_synthetic(loaded, machine) == 0);
  REQUIRE(hwloc_topology_load(loaded) == 0);
  return hetsched::detail::hwloc_places_of(
      loaded, hwloc_topology_get_allowed_cpuset(loaded), group);
}

TEST_CASE("hwloc_places: a group has cores of one NUMA node, others are left out") {
  auto const* const two_nodes = "package:2 [numa] core:5 pu:2";
  CHECK(places_of(two_nodes, 1) ==
        std::vector{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19});
  CHECK(places_of(two_nodes, 2) ==
        std::vector{0, 2, 4, 6, 10, 12, 14, 16, 1, 3, 5, 7, 11, 13, 15, 17});
  CHECK(places_of(two_nodes, 5) == places_of(two_nodes, 1));
  CHECK(places_of("package:1 core:5 pu:1", 3) == std::vector{0, 1, 2});
  CHECK_THROWS_WITH_AS(
      places_of(two_nodes, 6),
      "hetsched: hwloc: found no 6 cores of one NUMA node that this thread may use",
      hetsched::Error);
}

#else

TEST_CASE("hwloc_places: not tested, hwloc was not found" * doctest::skip()) {
}

#endif

TEST_SUITE_END();
