// SPDX-License-Identifier: MIT
#pragma once
// Which cores this process may use, and binding threads to them. Linux.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/config.hpp>

#include <string>
#include <vector>

namespace hetsched::detail {

class CpuSet;

/// The system's name for its processors; "cpu" if it has none.
[[nodiscard]] std::string cpu_model();

/// The host's name; "host" if it has none.
[[nodiscard]] std::string host_name();

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

  /// The cores of the other members.
  [[nodiscard]] std::vector<int> cpus_beside(int worker) const;

  /// The core of the worker that drives a device: one that no other worker has, or -1.
  [[nodiscard]] int cpu_of_device(int device) const {
    auto const place = static_cast<std::size_t>(workers * group + device);
    return bind && place < places.size() ? places[place] : -1;
  }
};

/// `devices`: the number of devices. Each has a worker, for which a core is left if there are
/// enough (Lima et al. 2015, sec. 3.4.2). Throws Error(bad_config) if this process may not use a
/// core that the configuration names.
[[nodiscard]] Placement place_workers(Config const& config, int devices);

/// Binds the calling thread to one core; false if the system refuses.
bool bind_this_thread(int cpu);

/// The calling thread's affinity mask, restored on destruction. A runtime binds its creator while
/// that thread works in `sync`; outside, the mask is the user's.
class AffinityGuard {
public:
  explicit AffinityGuard(int cpu) {
    if (cpu >= 0) {
      bind(cpu);
    }
  }

  AffinityGuard(AffinityGuard const&) = delete;
  AffinityGuard& operator=(AffinityGuard const&) = delete;

  ~AffinityGuard() {
    if (before_ != nullptr) {
      restore();
    }
  }

private:
  void bind(int cpu);
  void restore();

  CpuSet* before_ = nullptr; // owned; null: there is nothing to restore
};

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/threads/topology_inl.hpp>
#endif
