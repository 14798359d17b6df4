// SPDX-License-Identifier: MIT

#include "names.hpp"

#include "schedulers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace kumar2017 {

namespace {

constexpr std::array bounds{"area", "critical", "mixed", "iterative", "gemm-peak"};
constexpr std::array kernels{"potrf", "trsm", "syrk", "gemm"};
// schedulers with hints, and static schedules
constexpr std::array others{
    "dmdas+gemm", "dmdas+trsm", "dmdas+classes", "heft:static", "ss", "ss+g", "ss+gs"};

struct Metric {
  std::string_view name; // with a colon at its end if what it is of follows
  bool more_is_better;
};

constexpr std::array metrics{Metric{"seconds", false},
                             Metric{"gflops", true},
                             Metric{"ratio", false},
                             Metric{"factor", true},
                             Metric{"related_factor", true},
                             Metric{"cpu_percent:", false},
                             Metric{"cpus_used", false},
                             Metric{"idle_cpu_percent", false},
                             Metric{"idle_gpu_percent", false},
                             Metric{"idle_cpu_norm", false},
                             Metric{"idle_gpu_norm", false},
                             Metric{"accel_cpu", false},
                             Metric{"accel_gpu", true},
                             Metric{"best_k", false},
                             Metric{"worst_loss_percent", false},
                             Metric{"best_gflops", true},
                             Metric{"top_gflops", true},
                             Metric{"median_gflops", true},
                             Metric{"best_clusters", false},
                             Metric{"reference_percent", true},
                             Metric{"fewest_percent", true},
                             Metric{"worst_percent", true},
                             Metric{"below_reference_percent", false},
                             Metric{"behind_percent:", false}};

Metric const* find_metric(std::string const& name) {
  auto const* const found = std::find_if(metrics.begin(), metrics.end(), [&](Metric const& metric) {
    return metric.name.back() == ':' ? name.starts_with(metric.name) : name == metric.name;
  });
  return found == metrics.end() ? nullptr : found;
}

template <class Names>
bool has(Names const& names, std::string const& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

std::pair<std::string, std::string> split_experiment(std::string const& name) {
  auto const slash = name.find('/');
  if (slash == std::string::npos || name.ends_with("/single")) {
    return {"", name};
  }
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::pair<std::string, std::string> split_rank(std::string const& name) {
  auto const at = name.find('@');
  return at == std::string::npos ? std::pair(name, std::string("min"))
                                 : std::pair(name.substr(0, at), name.substr(at + 1));
}

bool is_bound(std::string const& name) {
  return has(bounds, name);
}

bool is_kernel(std::string const& name) {
  return has(kernels, name);
}

bool is_strategy(std::string const& name) {
  auto const [plain, rank] = split_rank(name.substr(0, name.find("/single")));
  bool const ranked = rank == "min" || rank == "avg" || rank == "fifo";
  return ranked &&
         (is_scheduler(plain) || has(others, plain) || is_bound(plain) || is_kernel(plain));
}

bool is_metric(std::string const& name) {
  return find_metric(name) != nullptr;
}

bool more_is_better(std::string const& metric) {
  return find_metric(metric)->more_is_better;
}

} // namespace kumar2017
