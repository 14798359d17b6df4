// SPDX-License-Identifier: MIT
// Times and graph of a recorded run.

#include "measured_run.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/formats/read_trace.hpp>

#include "machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

namespace benchmarks {

namespace {

[[noreturn]] void refuse(std::string const& culprit, std::string const& why) {
  throw hs::Error(hs::ErrorCode::bad_input, culprit, why);
}

std::optional<hs::Platform::KernelTime> median_of(std::vector<std::int64_t> times) {
  if (times.empty()) {
    return std::nullopt;
  }
  auto const middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return hs::Platform::KernelTime{{std::max<std::int64_t>(1, *middle)}, {}, times.size()};
}

} // namespace

Speedups parse_speedups(std::vector<std::string> const& given) {
  Speedups speedups;
  for (auto const& one : given) {
    auto const equals = one.rfind('=');
    auto const value = equals == std::string::npos ? std::string() : one.substr(equals + 1);
    char* end = nullptr;
    auto const factor = value == "none" ? 0 : std::strtod(value.c_str(), &end);
    bool const is_number = value == "none" || (!value.empty() && *end == '\0' && factor > 0 &&
                                               std::isfinite(factor) && factor <= 1e6);
    if (equals == 0 || !is_number) {
      refuse("--gpu-speedup " + one, "is not TYPE=FACTOR, above 0, or TYPE=none");
    }
    speedups[one.substr(0, equals)] = factor;
  }
  return speedups;
}

MeasuredRun::MeasuredRun(std::string const& file)
    : file_(file), trace_(hs::read_trace(file)), kinds_(trace_), times_(kinds_.first.size()) {
  for (std::size_t kind = 0; kind < times_.size(); ++kind) {
    if (type_of(kind) != hs::merge_task_name) { // the engine makes its own
      ++sizes_[type_of(kind)];
    }
  }
  if (sizes_.empty()) {
    refuse(file, "has no tasks");
  }
  auto const times = hs::execution_times(trace_);
  std::vector<std::int64_t> waited(trace_.tasks.size());
  for (auto const& wait : trace_.waits) {
    waited[wait.task] += (wait.end - wait.begin).ns;
  }
  for (std::size_t v = 0; v < trace_.tasks.size(); ++v) {
    auto const& task = trace_.tasks[v];
    if (task.outcome == hs::Trace::Outcome::done && task.worker) {
      auto const arch = trace_.workers[task.worker.index()].arch;
      times_[kinds_.of[v]].on[arch == hs::ArchHost ? 0 : 1].push_back(times[v].ns - waited[v]);
    }
  }
}

std::string MeasuredRun::name_of(std::size_t kind) const {
  auto name = type_of(kind);
  if (sizes_.at(name) == 1) {
    return name;
  }
  char const* before = " of ";
  for (auto const& access : trace_.accesses_of(kinds_.first[kind])) {
    name += std::exchange(before, ", ") + std::to_string(trace_.data[access.datum].bytes);
  }
  return name + " bytes";
}

hs::Platform MeasuredRun::machine(int cpus,
                                  int gpus,
                                  Speedups const& speedups,
                                  hs::Platform::Kernel const& like) const {
  for (auto const& [type, factor] : speedups) {
    if (!sizes_.contains(type)) {
      refuse("--gpu-speedup " + type, "is no type of " + file_);
    }
  }
  hs::Platform platform;
  platform.name = "times of " + file_;
  platform.cores = cpus + gpus;
  platform.classes = {{"cpu", hs::ArchHost, cpus, "", 1}, {"cuda", hs::ArchCUDA, gpus, "", 1}};
  platform.nodes.resize(1 + static_cast<std::size_t>(gpus));
  platform.nodes[0].name = "host";
  for (std::size_t k = 1; k < platform.nodes.size(); ++k) {
    platform.nodes[k].name = "gpu" + std::to_string(k - 1);
  }
  platform.routes.resize(platform.nodes.size() * platform.nodes.size());
  std::vector<std::string> never_on_gpu;
  std::vector<std::string> never_on_core;
  for (std::size_t kind = 0; kind < times_.size(); ++kind) {
    if (type_of(kind) == hs::merge_task_name) {
      continue;
    }
    auto kernel = like;
    kernel.name = name_of(kind);
    kernel.data_bytes = 0;
    for (auto const& access : trace_.accesses_of(kinds_.first[kind])) {
      kernel.data_bytes += trace_.data[access.datum].bytes;
    }
    auto const on_core = median_of(times_[kind].on[0]);
    auto on_gpu = median_of(times_[kind].on[1]);
    auto const speedup = speedups.find(type_of(kind));
    if (!on_gpu && speedup == speedups.end()) {
      never_on_gpu.push_back(kernel.name);
    } else if (!on_gpu && on_core && speedup->second > 0) {
      auto const ns = static_cast<double>(on_core->mean.ns) / speedup->second;
      on_gpu = {{std::max<std::int64_t>(1, std::llround(ns))}, {}, 0};
      kernel.measured = false;
    }
    if (!on_core && (cpus > 0 && gpus == 0)) {
      never_on_core.push_back(kernel.name);
    }
    kernel.times = {on_core, on_gpu};
    platform.kernels.push_back(std::move(kernel));
  }
  if (gpus > 0 && !never_on_gpu.empty()) {
    refuse(file_,
           "has no task on a GPU of type " + listed(never_on_gpu) +
               "; --gpu-speedup TYPE=FACTOR assumes a time, TYPE=none leaves the type on cores");
  }
  if (!never_on_core.empty()) {
    refuse(file_, "has no task on a core of type " + listed(never_on_core));
  }
  return platform;
}

hs::NamedGraph MeasuredRun::graph() const {
  auto result = hs::task_graph_of(trace_);
  std::vector<hs::TaskGraph::Node> nodes(result.graph.nodes().begin(), result.graph.nodes().end());
  std::vector<std::size_t> bytes;
  for (auto const& datum : trace_.data) {
    bytes.push_back(datum.bytes);
  }
  auto const order = hs::nesting_order(trace_);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    nodes[k].type = result.name(name_of(kinds_.of[order[k]]));
  }
  result.graph = hs::TaskGraph(std::move(nodes), std::move(bytes));
  return result;
}

} // namespace benchmarks
