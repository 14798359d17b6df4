// SPDX-License-Identifier: MIT
#pragma once
// The paper's claims, read from a file, and the words that they may use.

#include <hetsched/collections/task_distribution.hpp>

#include "../common/claims.hpp"
#include "simulated.hpp"

#include <span>
#include <string>
#include <vector>

namespace arafat2016 {

struct Settings {
  std::string platform; // files without folder and ending
  std::string cpu_platform;
  std::string network;
  int nodes = 0; // of the mixes, and of figure 9
  Products mix;  // of equal work, for all nodes
  int pipelined_tasks = 0;
  std::vector<papers::Claim> claims;
};

/// Throws Error(bad_input) that names file and place.
[[nodiscard]] Settings read_settings(std::string const& path);

/// A workload of figure 8.
struct Mix {
  std::string name; // "mix-2-1"
  int large = 1;    // times as much as in the mix of equal work
  int small = 1;
};

[[nodiscard]] std::vector<Mix> const& mixes();

/// Of figure 8; "cpu" is the baseline.
struct MixStrategy {
  std::string name;
  Thief thief = Thief::single_ended;
};

[[nodiscard]] std::vector<MixStrategy> const& mix_strategies();

/// Of figure 9.
struct PipelineStrategy {
  std::string name;
  int on_gpu = 1;      // tasks that the GPU has or prepares for: G
  int in_pipeline = 8; // tasks whose matrices are on the way: P; if local, enough
  bool local = false;
};

[[nodiscard]] std::vector<PipelineStrategy> const& pipeline_strategies();

/// Of figures 11 and 12, with "@double" behind the name for the latter.
struct Distribution {
  std::string name;
  void (*place)(std::span<hs::TaskToPlace> tasks, int ranks) = nullptr;
};

[[nodiscard]] std::vector<Distribution> const& distributions();

inline constexpr char const* double_ended_suffix = "@double";

/// That of a name, or null.
template <class All>
[[nodiscard]] auto const* named(All const& all, std::string const& name) {
  for (auto const& one : all) {
    if (one.name == name) {
      return &one;
    }
  }
  return static_cast<typename All::value_type const*>(nullptr);
}

} // namespace arafat2016
