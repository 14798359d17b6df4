// SPDX-License-Identifier: MIT
#pragma once
// Which cores this process may use, and binding threads to them. Linux.

#include <hetsched/config.hpp>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// A CPU set large enough for any machine, as the system calls want it.
class CpuSet {
public:
  explicit CpuSet(int cpus = 8192)
      : bytes_(CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus))),
        words_(bytes_ / sizeof(unsigned long)) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  [[nodiscard]] cpu_set_t* get() noexcept { return reinterpret_cast<cpu_set_t*>(words_.data()); }

  [[nodiscard]] int capacity() const noexcept { return static_cast<int>(bytes_ * 8); }

  [[nodiscard]] bool has(int cpu) noexcept {
    return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes_, get()) != 0;
  }

  void add(int cpu) noexcept { CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, get()); }

private:
  std::size_t bytes_;
  std::vector<unsigned long> words_;
};

/// What the system calls its processors; "cpu" if it does not say.
[[nodiscard]] inline std::string cpu_model() {
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

/// The host's name; "host" if it has none.
[[nodiscard]] inline std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name != '\0' ? name : "host";
}

/// The number at the beginning of a file of the system, or `otherwise`.
[[nodiscard]] inline long read_number(std::string const& path, long otherwise) {
  long value = otherwise;
  if (auto* const file = std::fopen(path.c_str(), "r")) {
    if (std::fscanf(file, "%ld", &value) != 1) {
      value = otherwise;
    }
    std::fclose(file);
  }
  return value;
}

/// The cores of this process's affinity mask: one hardware thread of each core first, then the
/// second of each, and so on.
[[nodiscard]] inline std::vector<int> usable_places() {
  struct Found {
    long core; // package and core number in one
    int cpu;
    int sibling; // hardware threads of the core that come before
  };

  CpuSet set;
  std::vector<Found> found;
  if (sched_getaffinity(0, set.bytes(), set.get()) == 0) {
    for (int cpu = 0; cpu < set.capacity(); ++cpu) {
      if (!set.has(cpu)) {
        continue;
      }
      auto const base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      auto const core =
          read_number(base + "physical_package_id", 0) * 65536 + read_number(base + "core_id", cpu);
      int sibling = 0;
      for (auto const& other : found) {
        sibling += other.core == core ? 1 : 0;
      }
      found.push_back({core, cpu, sibling});
    }
  }
  std::vector<int> places;
  for (int sibling = 0; places.size() < found.size(); ++sibling) {
    for (auto const& entry : found) {
      if (entry.sibling == sibling) {
        places.push_back(entry.cpu);
      }
    }
  }
  return places.empty() ? std::vector<int>{0} : places;
}

/// The cgroup's CPU quota in whole cores, rounded up; 0 if there is none (cgroup v2, then v1).
[[nodiscard]] inline int cgroup_cpus() {
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

/// Cores for `config`, the number of workers, and whether to bind them.
struct Placement {
  std::vector<int> places;
  int workers = 1;
  int group = 1; // cores of each
  bool bind = false;

  /// A core of a worker's group, its own by default, or -1 if workers are not bound.
  [[nodiscard]] int cpu_of(int worker, int member = 0) const {
    auto const place = static_cast<std::size_t>(worker * group + member);
    return bind ? places[place % places.size()] : -1;
  }

  /// Those of the other members.
  [[nodiscard]] std::vector<int> cpus_beside(int worker) const {
    std::vector<int> cpus;
    for (int member = 1; member < group; ++member) {
      cpus.push_back(cpu_of(worker, member));
    }
    return cpus;
  }

  /// The core of the worker that drives a device: one that no other worker has, or -1.
  [[nodiscard]] int cpu_of_device(int device) const {
    auto const place = static_cast<std::size_t>(workers * group + device);
    return bind && place < places.size() ? places[place] : -1;
  }
};

/// Throws Error(bad_config) if this process may not use one of the cores.
inline void check_places(std::vector<int> const& places) {
  CpuSet usable;
  if (sched_getaffinity(0, usable.bytes(), usable.get()) != 0) {
    return; // not known
  }
  for (int const cpu : places) {
    if (cpu < 0 || cpu >= usable.capacity() || !usable.has(cpu)) {
      throw Error(ErrorCode::bad_config,
                  "Config::places",
                  "core " + std::to_string(cpu) + " is not one that this process may use");
    }
  }
}

/// `devices`: how many have a worker of their own, for which one core each is left if there are
/// enough (Lima et al. 2015, sec. 3.4.2).
[[nodiscard]] inline Placement place_workers(Config const& config, int devices) {
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
      std::fprintf(stderr,
                   "hetsched: %d workers%s on %d usable core%s: they will take turns\n",
                   placement.workers,
                   placement.group == 1
                       ? ""
                       : (" with " + std::to_string(placement.group) + " threads each").c_str(),
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

/// Binds the calling thread to one core; false if the system refuses.
inline bool bind_this_thread(int cpu) {
  CpuSet set;
  if (cpu < 0 || cpu >= set.capacity()) {
    return false;
  }
  set.add(cpu);
  return pthread_setaffinity_np(pthread_self(), set.bytes(), set.get()) == 0;
}

/// The calling thread's affinity mask, restored on destruction. A runtime binds its creator while
/// that thread works in `sync`; outside, the mask is the user's.
class AffinityGuard {
public:
  explicit AffinityGuard(int cpu) {
    if (cpu >= 0) {
      saved_ = pthread_getaffinity_np(pthread_self(), before_.bytes(), before_.get()) == 0 &&
               bind_this_thread(cpu);
    }
  }

  AffinityGuard(AffinityGuard const&) = delete;
  AffinityGuard& operator=(AffinityGuard const&) = delete;

  ~AffinityGuard() {
    if (saved_) {
      pthread_setaffinity_np(pthread_self(), before_.bytes(), before_.get());
    }
  }

private:
  CpuSet before_;
  bool saved_ = false;
};

} // namespace hetsched::detail
