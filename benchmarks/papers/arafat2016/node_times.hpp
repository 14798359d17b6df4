// SPDX-License-Identifier: MIT
#pragma once
// How long a node of the paper's machine takes for its tasks (benchmarks/derive_scioto.py).

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/platform/platform.hpp>

#include "ccsd_t.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>

namespace arafat2016 {

namespace hs = hetsched;

inline constexpr int team_cores = 4; // of a worker that is a team

/// What copies of so many bytes to the GPU take, and from it, one after the other.
[[nodiscard]] hs::Duration
copies(hs::Platform const& node, std::initializer_list<std::size_t> in, std::size_t out);

/// For Simulation::task_time.
using TaskTime = std::function<hs::Duration(hs::TaskView const&, hs::Arch, hs::Duration)>;

/// Of a product of n x n matrices. Throws Error(bad_input) that names the platform if it has none.
[[nodiscard]] hs::Duration product_time(hs::Platform const& platform,
                                        std::string const& library,
                                        std::size_t n,
                                        hs::Arch arch);

/// On a team, and on the GPU with copies, as in figure 7.
[[nodiscard]] hs::EstimatedTimes product_estimate(hs::Platform const& node, std::size_t n);

/// Of products, by the size of their matrices.
[[nodiscard]] TaskTime product_times(hs::Platform const& platform, std::string const& library);

/// Of contractions, by their operations and the bytes of the three blocks: the rate of large
/// products, and each element permuted once. The cores of a node share the memory's bandwidth.
class ContractionTimes {
public:
  explicit ContractionTimes(hs::Platform const& platform);

  [[nodiscard]] hs::Duration operator()(double flops, std::size_t bytes, hs::Arch arch) const;

  /// On a team, and on the GPU of this node with copies.
  [[nodiscard]] hs::EstimatedTimes
  estimate(hs::Platform const& node, CcsdT const& input, Contraction const& contraction) const;

  [[nodiscard]] TaskTime of_tasks() const;

private:
  struct Cost {
    double of_flop = 0; // seconds
    double of_byte = 0;
  };

  Cost cpu_;
  Cost gpu_; // 0: no GPU
};

} // namespace arafat2016
