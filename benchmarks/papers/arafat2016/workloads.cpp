// SPDX-License-Identifier: MIT
#include "workloads.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace arafat2016 {

namespace {

constexpr auto get = hs::AccessMode::read;
constexpr auto add_to = hs::AccessMode::reduce;

/// Where task k of `tasks` begins.
std::int32_t beginning(int k, int tasks, int ranks, double skew) {
  auto const others = static_cast<int>(std::lround((1 - skew) * ranks));
  auto const even = static_cast<int>(std::lround((1 - skew) * tasks));
  return k < even && others != 0 ? k % others : others % ranks;
}

/// Products of matrices that no other one has.
class OwnMatrices {
public:
  void add(std::size_t n, std::int32_t home, std::int32_t on) {
    auto& node = nodes_.emplace_back();
    node.type = "dgemm";
    for (auto const mode : {get, get, add_to}) {
      node.accesses.push_back({static_cast<std::uint32_t>(bytes_.size()), mode, nullptr});
      bytes_.push_back(n * n * sizeof(double));
      made_.homes.push_back(home);
    }
    made_.on.push_back(on);
  }

  [[nodiscard]] Workload made() {
    made_.graph = hs::TaskGraph(std::move(nodes_), std::move(bytes_));
    return std::move(made_);
  }

private:
  std::vector<hs::TaskGraph::Node> nodes_;
  std::vector<std::size_t> bytes_;
  Workload made_;
};

/// Arrays of blocks that lie end to end. Each rank has an equal part of each array, so a block may
/// be in pieces.
class EvenlyCut {
public:
  explicit EvenlyCut(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  void add(std::span<Block const> blocks) {
    std::size_t all = 0;
    for (auto const& block : blocks) {
      all += block.bytes;
    }
    std::size_t at = 0;
    for (auto const& block : blocks) {
      auto& pieces = pieces_.emplace_back();
      for (auto const end = at + block.bytes; at != end;) {
        auto const rank = std::min(at * ranks_ / all, ranks_ - 1);
        auto const part_end = rank + 1 == ranks_ ? all : ((rank + 1) * all + ranks_ - 1) / ranks_;
        auto const piece = std::min(end, part_end) - at;
        pieces.push_back(static_cast<std::uint32_t>(bytes_.size()));
        bytes_.push_back(piece);
        homes_.push_back(static_cast<std::int32_t>(rank));
        at += piece;
      }
    }
  }

  /// Of a block, by its number among all that were added.
  [[nodiscard]] std::vector<std::uint32_t> const& pieces(std::size_t block) const {
    return pieces_[block];
  }

  [[nodiscard]] std::vector<std::size_t> const& bytes() const { return bytes_; }

  [[nodiscard]] std::vector<std::int32_t> const& homes() const { return homes_; }

private:
  std::size_t ranks_;
  std::vector<std::vector<std::uint32_t>> pieces_;
  std::vector<std::size_t> bytes_;
  std::vector<std::int32_t> homes_;
};

} // namespace

Workload products(Products const& sizes, int ranks, double skew) {
  OwnMatrices all;
  auto const add = [&](std::size_t n, int tasks) {
    for (int k = 0; k < tasks; ++k) {
      all.add(n, k % ranks, beginning(k, tasks, ranks, skew));
    }
  };
  add(sizes.small, sizes.small_tasks);
  add(sizes.large, sizes.large_tasks);
  return all.made();
}

Workload equal_products(std::size_t n, int tasks, int ranks) {
  OwnMatrices all;
  for (int k = 0; k < tasks; ++k) {
    all.add(n, ranks == 1 ? 0 : 1 + k % (ranks - 1), 0);
  }
  return all.made();
}

Workload contractions(CcsdT const& input, int ranks) {
  EvenlyCut data(ranks);
  std::span<Block const> const blocks(input.blocks);
  data.add(blocks.first(input.tasks));
  data.add(blocks.subspan(input.tasks));
  std::vector<hs::TaskGraph::Node> nodes;
  Workload made;
  auto const count = input.contractions.size();
  for (auto const& contraction : input.contractions) {
    made.on.push_back(
        static_cast<std::int32_t>(nodes.size() * static_cast<std::size_t>(ranks) / count));
    auto& node = nodes.emplace_back();
    node.type = "dgemm";
    node.flops = static_cast<float>(contraction.flops());
    for (auto const& [block, mode] : {std::pair(contraction.left, get),
                                      {contraction.right, get},
                                      {contraction.output, add_to}}) {
      for (auto const piece : data.pieces(block)) {
        node.accesses.push_back({piece, mode, nullptr});
      }
    }
  }
  made.homes = data.homes();
  made.graph = hs::TaskGraph(std::move(nodes), data.bytes());
  return made;
}

} // namespace arafat2016
