// SPDX-License-Identifier: MIT
#pragma once
// A machine whose times are those of a recorded run, and the graph of that run: for what-if.

#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/trace/analysis/trace_times.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// How often a type's time on a core contains its time on a GPU, where that was not measured. 0:
/// the type stays on cores.
using Speedups = std::map<std::string, double>;

/// "TYPE=FACTOR" or "TYPE=none". Throws Error(bad_input).
[[nodiscard]] Speedups parse_speedups(std::vector<std::string> const& given);

/// A run as a source of times. What a task takes on a class of worker is the median of the tasks of
/// its type, with data of the same sizes, that the run executed there; what a body waited for
/// others is no part of it. Where one type has data of several sizes, each is a kernel of its own.
class MeasuredRun {
public:
  /// Throws Error(bad_input).
  explicit MeasuredRun(std::string const& file);

  /// So many cores and GPUs, without links. Throws Error(bad_input) that names the types that never
  /// ran on a class of worker where they would have to: on GPUs those without a speedup.
  [[nodiscard]] hs::Platform
  machine(int cpus, int gpus, Speedups const& speedups, hs::Platform::Kernel const& like) const;

  /// With the names of the kernels as types.
  [[nodiscard]] hs::NamedGraph graph() const;

  [[nodiscard]] hs::Trace const& trace() const noexcept { return trace_; }

private:
  struct Times {
    std::vector<std::int64_t> on[2]; // cores, GPUs
  };

  [[nodiscard]] std::string const& type_of(std::size_t kind) const {
    return trace_.types[trace_.tasks[kinds_.first[kind]].type].name;
  }

  [[nodiscard]] std::string name_of(std::size_t kind) const;

  std::string file_;
  hs::Trace trace_;
  hs::TaskKinds kinds_;
  std::vector<Times> times_;         // of each kind
  std::map<std::string, int> sizes_; // how many kinds a type has; without merges
};

} // namespace benchmarks
