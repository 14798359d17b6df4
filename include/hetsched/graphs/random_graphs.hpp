// SPDX-License-Identifier: MIT
#pragma once
// Random task graphs, for experiments with schedulers.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

// In all graphs, each task has one of the types, drawn uniformly. Every task writes one datum of
// `bytes` bytes and reads the data of its predecessors. The same seed gives the same graph with
// every compiler. `types` must outlive the graph. Each function throws Error(bad_call) if there are
// no types or a number makes no sense.

/// What random graphs have in common.
struct RandomGraph {
  std::span<std::string_view const> types;
  std::uint64_t seed = 1;
  std::size_t bytes = 8;
};

namespace detail {

class GraphMaker {
public:
  explicit GraphMaker(RandomGraph const& common) : common_(common), dice_(common.seed) {
    if (common.types.empty()) {
      throw Error(ErrorCode::bad_call, "RandomGraph::types", "has no type of task");
    }
  }

  /// Adds a task and returns its number.
  std::uint32_t add() {
    auto const v = static_cast<std::uint32_t>(nodes_.size());
    auto& node = nodes_.emplace_back();
    node.type = common_.types[below(common_.types.size())];
    node.archs = ArchMask{0xff};
    node.accesses.push_back({v, AccessMode::write, nullptr});
    return v;
  }

  void connect(std::uint32_t from, std::uint32_t to) {
    nodes_[to].accesses.push_back({from, AccessMode::read, nullptr});
  }

  /// From 0 to below `limit`, which is far below 2^53.
  [[nodiscard]] std::size_t below(std::size_t limit) noexcept {
    return static_cast<std::size_t>(unit() * static_cast<double>(limit));
  }

  [[nodiscard]] bool happens(double probability) noexcept { return unit() < probability; }

  [[nodiscard]] TaskGraph finish() {
    std::vector<std::size_t> bytes(nodes_.size(), common_.bytes);
    return {std::move(nodes_), std::move(bytes)};
  }

private:
  /// From 0 to below 1.
  [[nodiscard]] double unit() noexcept {
    return static_cast<double>(dice_.next() >> 11U) * 0x1p-53;
  }

  RandomGraph const common_;
  RandomStream dice_;
  std::vector<TaskGraph::Node> nodes_;
};

inline void check_probability(double probability) {
  if (!(probability >= 0 && probability <= 1)) {
    throw Error(
        ErrorCode::bad_call, "probability", std::to_string(probability) + " is not from 0 to 1");
  }
}

inline void check_sizes(std::size_t a, std::size_t b) {
  constexpr std::size_t most = 10'000'000;
  if (a == 0 || b == 0 || a > most / b) {
    throw Error(ErrorCode::bad_call,
                "random graph",
                std::to_string(a) + " x " + std::to_string(b) + " is not from 1 to 10000000 tasks");
  }
}

} // namespace detail

/// Each pair of tasks has an edge, from the lower to the higher number, with the same probability
/// (Erdos and Renyi 1959). Cost: O(tasks^2).
[[nodiscard]] inline TaskGraph
erdos_graph(RandomGraph const& common, std::size_t tasks, double probability) {
  detail::check_sizes(tasks, 1);
  detail::check_probability(probability);
  detail::GraphMaker graph(common);
  for (std::size_t k = 0; k < tasks; ++k) {
    auto const v = graph.add();
    for (std::uint32_t u = 0; u < v; ++u) {
      if (graph.happens(probability)) {
        graph.connect(u, v);
      }
    }
  }
  return graph.finish();
}

/// Layers of `width` tasks. Each task beyond the first layer has each task of the layer before it
/// as a predecessor with the same probability. If it gets none, it has one drawn at random.
[[nodiscard]] inline TaskGraph layered_graph(RandomGraph const& common,
                                             std::size_t layers,
                                             std::size_t width,
                                             double probability) {
  detail::check_sizes(layers, width);
  detail::check_probability(probability);
  detail::GraphMaker graph(common);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t k = 0; k < width; ++k) {
      auto const v = graph.add();
      if (layer == 0) {
        continue;
      }
      auto const before = static_cast<std::uint32_t>((layer - 1) * width);
      bool any = false;
      for (std::uint32_t u = before; u < before + width; ++u) {
        if (graph.happens(probability)) {
          graph.connect(u, v);
          any = true;
        }
      }
      if (!any) {
        graph.connect(before + static_cast<std::uint32_t>(graph.below(width)), v);
      }
    }
  }
  return graph.finish();
}

/// Stages one after the other. A stage is one task, `width` tasks that follow it, and one task that
/// follows all of these and precedes the next stage.
[[nodiscard]] inline TaskGraph
fork_join_graph(RandomGraph const& common, std::size_t stages, std::size_t width) {
  detail::check_sizes(stages, width + 2);
  detail::GraphMaker graph(common);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    auto const fork = graph.add();
    if (stage != 0) {
      graph.connect(fork - 1, fork);
    }
    for (std::size_t k = 0; k < width; ++k) {
      graph.connect(fork, graph.add());
    }
    auto const join = graph.add();
    for (auto v = fork + 1; v < join; ++v) {
      graph.connect(v, join);
    }
    if (width == 0) {
      graph.connect(fork, join);
    }
  }
  return graph.finish();
}

} // namespace hetsched
