// SPDX-License-Identifier: MIT
#pragma once
// The words of the claims: strategies and metrics.

#include <string>
#include <utility>

namespace kumar2017 {

/// Splits "EXPERIMENT/NAME". Without a slash the first part is empty. "NAME/single", a strategy on
/// single cores, is one name.
[[nodiscard]] std::pair<std::string, std::string> split_experiment(std::string const& name);

/// Splits "NAME@RANK". Without a rank it is min.
[[nodiscard]] std::pair<std::string, std::string> split_rank(std::string const& name);

/// A bound: area, critical, mixed, iterative or gemm-peak.
[[nodiscard]] bool is_bound(std::string const& name);

[[nodiscard]] bool is_kernel(std::string const& name);

/// A scheduler, static schedule, bound, or kernel.
[[nodiscard]] bool is_strategy(std::string const& name);

[[nodiscard]] bool is_metric(std::string const& name);

[[nodiscard]] bool more_is_better(std::string const& metric);

} // namespace kumar2017
