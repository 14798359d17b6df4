// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

TEST_SUITE_BEGIN("hwloc");

#ifdef HETSCHED_HAVE_HWLOC

#include <hetsched/hetsched.hpp>
#include <hetsched/hwloc.hpp>

#include <sched.h>

#include <algorithm>
#include <vector>

namespace {

/// The calling thread's CPUs in ascending order.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

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

#else

TEST_CASE("hwloc_places: not tested, hwloc was not found" * doctest::skip()) {
}

#endif

TEST_SUITE_END();
