// SPDX-License-Identifier: MIT
#pragma once
// Definitions of topology.hpp.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/threads/topology.hpp>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string_view>

namespace hetsched::detail {

/// A CPU set large enough for any machine, as the system calls want it. It allocates nothing: a
/// thread that begins could tell nobody that there is no memory.
class CpuSet {
public:
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return sizeof(words_); }

  [[nodiscard]] cpu_set_t* get() noexcept { return reinterpret_cast<cpu_set_t*>(words_); }

  [[nodiscard]] static constexpr int capacity() noexcept { return static_cast<int>(bytes() * 8); }

  [[nodiscard]] bool has(int cpu) noexcept {
    return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes(), get()) != 0;
  }

  void add(int cpu) noexcept { CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), get()); }

private:
  unsigned long words_[8192 / (8 * sizeof(unsigned long))] = {};
};

[[gnu::cold]] HETSCHED_INLINE std::string cpu_model() {
  std::string model = "cpu";
  if (auto* const file = std::fopen("/proc/cpuinfo", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      std::string_view const text(line);
      auto const value = text.find(": ");
      if (text.starts_with("model name") && value != std::string_view::npos) {
        model = text.substr(value + 2, text.find('\n') - value - 2);
        break;
      }
    }
    std::fclose(file);
  }
  return model;
}

[[gnu::cold]] HETSCHED_INLINE std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name != '\0' ? name : "host";
}

/// The number at the beginning of a file of the system, or `otherwise`.
[[nodiscard, gnu::cold]] inline long read_number(char const* path, long otherwise) {
  long value = otherwise;
  if (auto* const file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%ld", &value) != 1) {
      value = otherwise;
    }
    std::fclose(file);
  }
  return value;
}

/// One of the system's numbers of a core.
[[nodiscard, gnu::cold]] inline long topology_number(int cpu, char const* what, long otherwise) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
  return read_number(path, otherwise);
}

/// The cores of this process's affinity mask: one hardware thread of each core first, then the
/// second of each, and so on.
[[nodiscard, gnu::cold]] inline std::vector<int> usable_places() {
  struct Found {
    long core; // package and core number in one
    int cpu;
    int sibling; // hardware threads of the core that come before
  };

  CpuSet set;
  Array<Found> found;
  if (sched_getaffinity(0, set.bytes(), set.get()) == 0) {
    for (int cpu = 0; cpu < set.capacity(); ++cpu) {
      if (!set.has(cpu)) {
        continue;
      }
      auto const core = topology_number(cpu, "physical_package_id", 0) * 65536 +
                        topology_number(cpu, "core_id", cpu);
      int sibling = 0;
      for (auto const& other : found) {
        sibling += other.core == core ? 1 : 0;
      }
      found.push_back({core, cpu, sibling});
    }
  }
  std::vector<int> places;
  places.reserve(found.size() + 1);
  for (int sibling = 0; places.size() < found.size(); ++sibling) {
    for (auto const& entry : found) {
      if (entry.sibling == sibling) {
        places.push_back(entry.cpu);
      }
    }
  }
  if (places.empty()) {
    places.push_back(0);
  }
  return places;
}

/// The cgroup's CPU quota in whole cores, rounded up; 0 if there is none (cgroup v2, then v1).
[[nodiscard, gnu::cold]] inline int cgroup_cpus() {
  long quota = -1;
  long period = 0;
  if (auto* const file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    if (std::fscanf(file, "%ld %ld", &quota, &period) != 2) { // "max 100000": no limit
      quota = -1;
    }
    std::fclose(file);
  } else {
    quota = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1);
    period = read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 0);
  }
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

[[gnu::cold]] HETSCHED_INLINE std::vector<int> Placement::cpus_beside(int worker) const {
  std::vector<int> cpus;
  for (int member = 1; member < group; ++member) {
    cpus.push_back(cpu_of(worker, member));
  }
  return cpus;
}

/// Throws Error(bad_config) if this process may not use one of the cores.
[[gnu::cold]] inline void check_places(std::vector<int> const& places) {
  CpuSet usable;
  if (sched_getaffinity(0, usable.bytes(), usable.get()) != 0) {
    return; // not known
  }
  for (int const cpu : places) {
    if (cpu < 0 || cpu >= usable.capacity() || !usable.has(cpu)) {
      throw Error(ErrorCode::bad_config,
                  "Config::places",
                  text("core %d is not one that this process may use", cpu));
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE Placement place_workers(Config const& config, int devices) {
  Placement placement;
  placement.places = config.places.empty() ? usable_places() : config.places;
  check_places(placement.places);
  auto available = static_cast<int>(placement.places.size());
  if (int const quota = cgroup_cpus(); quota > 0) {
    available = std::min(available, quota);
  }
  placement.group = config.group.value_or(1);
  placement.workers = config.cpus.value_or(std::max(1, (available - devices) / placement.group));
  auto const wanted = std::int64_t{placement.workers} * placement.group;
  if (wanted > available) {
    static bool const warned = [&] {
      char with_threads[32] = "";
      if (placement.group != 1) {
        std::snprintf(with_threads, sizeof with_threads, " with %d threads each", placement.group);
      }
      std::fprintf(stderr,
                   "hetsched: %d workers%s on %d usable core%s: they will take turns\n",
                   placement.workers,
                   with_threads,
                   available,
                   available == 1 ? "" : "s");
      return true;
    }();
    (void)warned;
  }
  placement.bind =
      config.bind.value_or(wanted > available ? Bind::none : Bind::cores) == Bind::cores;
  return placement;
}

[[gnu::cold]] HETSCHED_INLINE bool bind_this_thread(int cpu) {
  CpuSet set;
  if (cpu < 0 || cpu >= set.capacity()) {
    return false;
  }
  set.add(cpu);
  return pthread_setaffinity_np(pthread_self(), set.bytes(), set.get()) == 0;
}

[[gnu::cold]] HETSCHED_INLINE void AffinityGuard::bind(int cpu) {
  Owned<CpuSet> before(new (std::nothrow) CpuSet); // without memory the thread is not bound
  if (before && pthread_getaffinity_np(pthread_self(), before->bytes(), before->get()) == 0 &&
      bind_this_thread(cpu)) {
    before_ = before.release();
  }
}

[[gnu::cold]] HETSCHED_INLINE void AffinityGuard::restore() {
  pthread_setaffinity_np(pthread_self(), before_->bytes(), before_->get());
  delete before_;
}

} // namespace hetsched::detail
