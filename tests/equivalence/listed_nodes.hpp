// SPDX-License-Identifier: MIT
#pragma once
// Nodes of random programs whose arguments are given in lists, one for each mode and kind of data:
// any node can be one of them.

#include <hetsched/core/array_view.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "random_program.hpp"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace equivalence {

namespace hs = hetsched;

struct Run;

using Tile = hs::TileView<std::uint64_t>;
using Rows = hs::ArrayView<std::uint64_t, 2>;
using Cube = hs::ArrayView<std::uint64_t, 3>;

/// The handle of a slot, of its kind.
class AnyHandle {
public:
  AnyHandle() = default;

  template <class D>
  AnyHandle(hs::Handle<D> handle) : handle_(std::move(handle)) {} // NOLINT: is one

  template <class D>
  [[nodiscard]] hs::Handle<D> const& as() const {
    return std::get<hs::Handle<D>>(handle_);
  }

  [[nodiscard]] explicit operator bool() const {
    return std::visit([](auto const& handle) { return static_cast<bool>(handle); }, handle_);
  }

  /// Calls use with the handle as it is.
  template <class Use>
  decltype(auto) visit(Use const& use) const {
    return std::visit(use, handle_);
  }

private:
  std::variant<hs::Handle<Tile>, hs::Handle<Rows>, hs::Handle<Cube>> handle_;
};

struct Xor {
  static constexpr std::uint64_t neutral() { return 0; }

  static constexpr std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a ^ b; }
};

using Tiles = hs::Each<Tile>;
using RowMatrices = hs::Each<Rows>;
using Cubes = hs::Each<Cube>;
using Sum = hs::Sum<std::uint64_t>;

/// A node in lists, for each kind one for each mode, in the order of `Mode`.
struct Listed : hs::Task<20>::Signature<hs::V<Run*>,
                                        hs::V<Node const*>,
                                        hs::R<Tiles>,
                                        hs::W<Tiles>,
                                        hs::RW<Tiles>,
                                        hs::Commute<Tiles>,
                                        hs::CW<Tiles, Sum>,
                                        hs::CW<Tiles, Xor>,
                                        hs::R<RowMatrices>,
                                        hs::W<RowMatrices>,
                                        hs::RW<RowMatrices>,
                                        hs::Commute<RowMatrices>,
                                        hs::CW<RowMatrices, Sum>,
                                        hs::CW<RowMatrices, Xor>,
                                        hs::R<Cubes>,
                                        hs::W<Cubes>,
                                        hs::RW<Cubes>,
                                        hs::Commute<Cubes>,
                                        hs::CW<Cubes, Sum>,
                                        hs::CW<Cubes, Xor>> {};

/// The same, spawning nothing and without contributions: it may be begun anew.
struct ListedLeaf : hs::Task<14>::Signature<hs::V<Run*>,
                                            hs::V<Node const*>,
                                            hs::R<Tiles>,
                                            hs::W<Tiles>,
                                            hs::RW<Tiles>,
                                            hs::Commute<Tiles>,
                                            hs::R<RowMatrices>,
                                            hs::W<RowMatrices>,
                                            hs::RW<RowMatrices>,
                                            hs::Commute<RowMatrices>,
                                            hs::R<Cubes>,
                                            hs::W<Cubes>,
                                            hs::RW<Cubes>,
                                            hs::Commute<Cubes>> {};

template <class E>
Block block_of(Mode mode, hs::TileView<E> view) {
  return {mode, const_cast<std::uint64_t*>(view.data()), view.rows(), view.cols(), view.ld()};
}

template <class E>
Block block_of(Mode mode, hs::ArrayView<E, 2> view) {
  return block_of(mode, hs::transposed(view));
}

template <class E>
Block block_of(Mode mode, hs::ArrayView<E, 3> view) {
  auto const slices = view.extent(0) * view.extent(1);
  return {mode, const_cast<std::uint64_t*>(&view(0, 0, 0)), view.extent(2), slices, view.stride(1)};
}

/// The arguments of a node, in its order, from the lists that a body was given.
template <class... Lists>
[[nodiscard]] std::vector<Block>
blocks_of(std::vector<Slot> const& slots, Node const& node, Lists const&... lists) {
  constexpr auto modes = sizeof...(Lists) / kind_count;
  std::array<std::size_t, sizeof...(Lists)> next{};
  std::vector<Block> blocks;
  for (auto const& argument : node.arguments) {
    auto const kind = slots[static_cast<std::size_t>(argument.slot)].kind;
    auto const place =
        static_cast<std::size_t>(kind) * modes + static_cast<std::size_t>(argument.mode);
    std::size_t number = 0;
    auto const take = [&](auto const& list) {
      if (number == place) {
        blocks.push_back(block_of(argument.mode, list[next[place]++]));
      }
      ++number;
    };
    (take(lists), ...);
  }
  return blocks;
}

/// The handles of those arguments of a node whose data are of D, by modes.
template <class D>
[[nodiscard]] std::array<std::vector<hs::Handle<D>>, mode_count>
listed_handles(std::vector<AnyHandle> const& handles, Node const& node) {
  std::array<std::vector<hs::Handle<D>>, mode_count> lists;
  for (auto const& argument : node.arguments) {
    handles[static_cast<std::size_t>(argument.slot)].visit([&]<class Own>(Own const& handle) {
      if constexpr (std::is_same_v<Own, hs::Handle<D>>) {
        lists[static_cast<std::size_t>(argument.mode)].push_back(handle);
      }
    });
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
