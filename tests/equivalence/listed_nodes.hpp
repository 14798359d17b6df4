// SPDX-License-Identifier: MIT
#pragma once
// Nodes of random programs whose arguments are given in lists, one for each mode: any node can be
// one of them.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "random_program.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace equivalence {

namespace hs = hetsched;

struct Run;

using Tile = hs::TileView<std::uint64_t>;

struct Xor {
  static constexpr std::uint64_t neutral() { return 0; }

  static constexpr std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a ^ b; }
};

using Tiles = hs::Each<Tile>;
using ConstTiles = hs::Each<hs::TileView<std::uint64_t const>>;

/// A node in lists, one for each mode, in the order of `Mode`.
struct Listed : hs::Task<8>::Signature<hs::V<Run*>,
                                       hs::V<Node const*>,
                                       hs::R<Tiles>,
                                       hs::W<Tiles>,
                                       hs::RW<Tiles>,
                                       hs::Commute<Tiles>,
                                       hs::CW<Tiles, hs::Sum<std::uint64_t>>,
                                       hs::CW<Tiles, Xor>> {};

/// The same, spawning nothing and without contributions: it may be begun anew.
struct ListedLeaf : hs::Task<6>::Signature<hs::V<Run*>,
                                           hs::V<Node const*>,
                                           hs::R<Tiles>,
                                           hs::W<Tiles>,
                                           hs::RW<Tiles>,
                                           hs::Commute<Tiles>> {};

template <class E>
Block block_of(Mode mode, hs::TileView<E> view) {
  return {mode, const_cast<std::uint64_t*>(view.data()), view.rows(), view.cols(), view.ld()};
}

/// The arguments of a node, in its order, from the lists that a body was given.
template <class... Lists>
[[nodiscard]] std::vector<Block> blocks_of(Node const& node, Lists const&... lists) {
  std::array<std::size_t, mode_count> next{};
  std::vector<Block> blocks;
  for (auto const& argument : node.arguments) {
    auto mode = Mode::read;
    auto const take = [&](auto const& list) {
      if (mode == argument.mode) {
        blocks.push_back(block_of(mode, list[next[static_cast<std::size_t>(mode)]++]));
      }
      mode = static_cast<Mode>(static_cast<int>(mode) + 1);
    };
    (take(lists), ...);
  }
  return blocks;
}

/// The handles of a node's arguments by modes.
[[nodiscard]] inline std::array<std::vector<hs::Handle<Tile>>, mode_count>
listed_handles(std::vector<hs::Handle<Tile>> const& handles, Node const& node) {
  std::array<std::vector<hs::Handle<Tile>>, mode_count> lists;
  for (auto const& argument : node.arguments) {
    lists[static_cast<std::size_t>(argument.mode)].push_back(
        handles[static_cast<std::size_t>(argument.slot)]);
  }
  return lists;
}

[[nodiscard]] inline bool contributes(Node const& node) {
  for (auto const& argument : node.arguments) {
    if (argument.mode == Mode::add || argument.mode == Mode::exclusive_or) {
      return true;
    }
  }
  return false;
}

[[nodiscard]] inline bool writes_some(Node const& node) {
  for (auto const& argument : node.arguments) {
    if (argument.mode != Mode::read) {
      return true;
    }
  }
  return false;
}

} // namespace equivalence
