// SPDX-License-Identifier: MIT
#pragma once
// The order of this machine's cores according to hwloc. Opt-in: link libhwloc.

#include <hetsched/core/error.hpp>

#include <hwloc.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace hetsched {

namespace detail {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};

[[noreturn]] inline void throw_hwloc(char const* doing) {
  throw Error(
      ErrorCode::bad_config, "hwloc", std::string("cannot ") + doing + ": " + std::strerror(errno));
}

/// hwloc_places for a topology, for the hardware threads in `usable`.
[[nodiscard]] inline std::vector<int>
hwloc_places_of(hwloc_topology_t topology, hwloc_const_bitmap_t usable, int group) {
  struct Found {
    hwloc_obj_t core; // null if the system reports no cores
    int cpu;
    int sibling; // number of usable hardware threads of the core before this one
    int memory;  // the nearest NUMA node
  };

  std::vector<Found> found;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    if (hwloc_bitmap_isset(usable, pu->os_index) == 0) {
      continue;
    }
    auto* const core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    // In hwloc's order the hardware threads of a core are neighbours.
    bool const same = core != nullptr && !found.empty() && found.back().core == core;
    found.push_back({core,
                     static_cast<int>(pu->os_index),
                     same ? found.back().sibling + 1 : 0,
                     hwloc_bitmap_first(pu->nodeset)});
  }

  std::vector<int> places;
  std::size_t seen = 0;
  for (int sibling = 0; seen < found.size(); ++sibling) {
    std::vector<int> together; // cores of one memory that are not in a group yet
    int memory = 0;
    for (auto const& entry : found) {
      if (entry.sibling != sibling) {
        continue;
      }
      ++seen;
      if (entry.memory != memory) { // entries of one memory are neighbours, too
        together.clear();
        memory = entry.memory;
      }
      together.push_back(entry.cpu);
      if (static_cast<int>(together.size()) == group) {
        places.insert(places.end(), together.begin(), together.end());
        together.clear();
      }
    }
  }
  if (places.empty()) {
    throw Error(ErrorCode::bad_config,
                "hwloc",
                group == 1 ? "found no core that this thread may use"
                           : "found no " + std::to_string(group) +
                                 " cores of one NUMA node that this thread may use");
  }
  return places;
}

} // namespace detail

/// The hardware threads that the calling thread may use, by the operating system's numbers, for
/// `Config::places`. One thread of each core comes first, in hwloc's topological order (cores that
/// share a cache or a memory are neighbours), then the second thread of each core, and so on.
/// Without this list a runtime orders cores by the system's numbers, which on some machines
/// alternate between packages.
///
/// `group` is for `Config::group`: each so many threads are of one NUMA node. Cores that do not
/// fill a group there are left out (Kumar 2017, sec. 4.4: groups of a socket's cores).
///
/// Reads the machine's topology, which takes some milliseconds. Throws Error(bad_config), also if
/// no NUMA node has a whole group.
[[nodiscard]] inline std::vector<int> hwloc_places(int group = 1) {
  hwloc_topology_t loaded = nullptr;
  if (hwloc_topology_init(&loaded) != 0) {
    detail::throw_hwloc("make a topology");
  }
  std::unique_ptr<hwloc_topology, detail::DestroyTopology> const topology(loaded);
  if (hwloc_topology_load(topology.get()) != 0) {
    detail::throw_hwloc("read the topology of this machine");
  }
  std::unique_ptr<hwloc_bitmap_s, detail::FreeBitmap> const usable(hwloc_bitmap_alloc());
  if (usable == nullptr ||
      hwloc_get_cpubind(topology.get(), usable.get(), HWLOC_CPUBIND_THREAD) != 0) {
    detail::throw_hwloc("read the affinity mask of this thread");
  }

  return detail::hwloc_places_of(topology.get(), usable.get(), group);
}

} // namespace hetsched
