// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a solve on several ranks.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/rank_layout.hpp>
#include <hetsched/detail/sparse/rank_sweeps.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hetsched {

namespace sparse::detail {

/// Where a sweep is: up or down, in a unit; and of a tiled front, in a panel or block.
struct SweepStep {
  std::size_t unit;
  bool up;
  std::size_t part = 0;
};

/// A sweep through a unit that is one task.
template <class T, Form F>
struct SweepUnitOnRank : Task<5>::Signature<V<RankSweeps<T, F> const*>,
                                            V<SweepStep>,
                                            R<Each<TileView<T>>>,
                                            RW<TileView<T>>,
                                            W<Each<TileView<T>>>> {
  static constexpr std::string_view name = "solve";
};

/// A tiled front's own rows get what children add to them.
template <class T, Form F>
struct GatherOwn : Task<4>::Signature<V<RankSweeps<T, F> const*>,
                                      V<std::size_t>,
                                      R<Each<TileView<T>>>,
                                      RW<TileView<T>>> {
  static constexpr std::string_view name = "solve_gather";
};

/// Rows below a block of a tiled front: on the way up, what children add; on the way down, their
/// solution.
template <class T, Form F>
struct GatherBelow : Task<4>::Signature<V<RankSweeps<T, F> const*>,
                                        V<SweepStep>,
                                        R<Each<TileView<T>>>,
                                        W<TileView<T>>> {
  static constexpr std::string_view name = "solve_gather";
};

/// A tiled front's panel with the front's own rows.
template <class T, Form F>
struct SweepPanel : Task<3>::Signature<V<RankSweeps<T, F> const*>, V<SweepStep>, RW<TileView<T>>> {
  static constexpr std::string_view name = "solve_panel";
};

/// A tiled front's block: from its own rows to those below, or the other way.
template <class T, Form F>
struct SweepBlock
    : Task<
          4>::Signature<V<RankSweeps<T, F> const*>, V<SweepStep>, R<TileView<T>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "solve_block";
};

/// A rank takes the solution.
template <class T, Form F>
struct TakeSolution : Task<2>::Signature<V<RankSweeps<T, F> const*>, R<Each<TileView<T>>>> {
  static constexpr std::string_view name = "solve_take";
};

/// Spawns a sweep up the tree, one down, and what brings the solution to all ranks. Made, called
/// and, after a sync, destroyed by all ranks.
template <class Rt, class T, Form F>
class RankSweepTasks {
public:
  RankSweepTasks(Rt& rt,
                 Fronts const& plan,
                 Units const& units,
                 RankLayout const& layout,
                 RankSweeps<T, F> const& sweeps)
      : rt_(rt), plan_(plan), units_(units), layout_(layout), sweeps_(sweeps),
        below_(units.units.size()) {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const own = sweeps.own(u);
      own_.push_back(rt_.data(layout.unit(u), own.data(), own.rows(), own.cols(), own.ld()));
      auto const& unit = units_.units[u];
      if (sweeps.is_front(u)) {
        auto const& front = sweeps.front(u);
        for (std::size_t i = 0; i < front.blocks_below(); ++i) {
          auto const home = unit.tiled ? layout.lower(unit.begin, i) : layout.unit(u);
          below_[u].emplace_back(rt_, home, front.blocks.size(i), sweeps.columns());
        }
      } else if (unit.parent != no_index) {
        auto const rows = plan_.fronts[at(unit.parent)].size();
        below_[u].emplace_back(rt_, layout.unit(u), rows, sweeps.columns());
      }
    }
  }

  /// Returns at once.
  void spawn() {
    auto const count = units_.units.size();
    for (std::size_t u = 0; u < count; ++u) {
      units_.units[u].tiled ? front_up(u) : unit_up(u);
    }
    for (auto u = count; u-- > 0;) {
      units_.units[u].tiled ? front_down(u) : unit_down(u);
    }
    for (std::int32_t r = 0; r < rt_.ranks(); ++r) {
      on<TakeSolution<T, F>>(r)(&sweeps_, own_);
    }
  }

private:
  using Tile = hetsched::detail::TileOn<Rt, T>;
  using Memory = hetsched::detail::HomeMemory<Tile, TileView<T>>;

  template <class Type>
  [[nodiscard]] auto on(std::int32_t rank) {
    return hetsched::detail::spawn_on<Type>(rt_, rank, SetArch(ArchHost));
  }

  [[nodiscard]] std::vector<Tile> below(std::size_t u) const {
    std::vector<Tile> tiles;
    for (auto const& one : below_[u]) {
      tiles.push_back(one.handle());
    }
    return tiles;
  }

  /// What adds to these rows of unit u's front.
  [[nodiscard]] std::vector<Tile> given(std::size_t u, Range rows) const {
    std::vector<Tile> tiles;
    sweeps_.for_each_given(
        u, rows, [&](std::size_t v, std::size_t i) { tiles.push_back(below_[v][i].handle()); });
    return tiles;
  }

  /// All rows of the parent's front.
  [[nodiscard]] std::vector<Tile> above(std::size_t u) const {
    auto const parent = units_.units[u].parent;
    if (parent == no_index) {
      return {};
    }
    auto const p = at(units_.unit_of[at(parent)]);
    auto tiles = below(p);
    tiles.insert(tiles.begin(), own_[p]);
    return tiles;
  }

  void unit_up(std::size_t u) {
    std::vector<Tile> from;
    if (sweeps_.is_front(u)) {
      from = given(u, {0, sweeps_.front(u).size()});
    }
    on<SweepUnitOnRank<T, F>>(layout_.unit(u))(
        &sweeps_, SweepStep{u, true}, from, own_[u], below(u));
  }

  void unit_down(std::size_t u) {
    auto const to = sweeps_.is_front(u) ? below(u) : std::vector<Tile>();
    on<SweepUnitOnRank<T, F>>(layout_.unit(u))(
        &sweeps_, SweepStep{u, false}, above(u), own_[u], to);
  }

  [[nodiscard]] std::int32_t rank_of_block(std::size_t u, std::size_t i, bool up) const {
    auto const s = units_.units[u].begin;
    return sweeps_.fronts().takes_upper(up) ? layout_.upper(s, i) : layout_.lower(s, i);
  }

  void front_up(std::size_t u) {
    auto const s = units_.units[u].begin;
    auto const& front = plan_.fronts[at(s)];
    if (auto const from = given(u, {0, front.w}); !from.empty()) {
      on<GatherOwn<T, F>>(layout_.unit(u))(&sweeps_, u, from, own_[u]);
    }
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      on<SweepPanel<T, F>>(layout_.panel(s, k))(&sweeps_, SweepStep{u, true, k}, own_[u]);
    }
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      auto const& tile = below_[u][i].handle();
      on<GatherBelow<T, F>>(tile.home())(
          &sweeps_, SweepStep{u, true, i}, given(u, range_below(front, i)), tile);
      on<SweepBlock<T, F>>(rank_of_block(u, i, true))(
          &sweeps_, SweepStep{u, true, i}, own_[u], tile);
    }
  }

  void front_down(std::size_t u) {
    auto const s = units_.units[u].begin;
    auto const& front = plan_.fronts[at(s)];
    auto const from = above(u);
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      auto const& tile = below_[u][i].handle();
      on<GatherBelow<T, F>>(tile.home())(&sweeps_, SweepStep{u, false, i}, from, tile);
      on<SweepBlock<T, F>>(rank_of_block(u, i, false))(
          &sweeps_, SweepStep{u, false, i}, tile, own_[u]);
    }
    for (auto k = front.panels.count; k-- > 0;) {
      on<SweepPanel<T, F>>(layout_.panel(s, k))(&sweeps_, SweepStep{u, false, k}, own_[u]);
    }
  }

  Rt& rt_;
  Fronts const& plan_;
  Units const& units_;
  RankLayout const& layout_;
  RankSweeps<T, F> const& sweeps_;
  std::vector<Tile> own_;
  std::vector<std::vector<Memory>> below_;
};

} // namespace sparse::detail

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::SweepUnitOnRank<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  sparse::detail::SweepStep const& step,
                  Each<TileView<T const>> from,
                  TileView<T> own,
                  Each<TileView<T>> to) const {
    step.up ? sweeps->up(step.unit, from, own, to) : sweeps->down(step.unit, from, own, to);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::GatherOwn<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  std::size_t u,
                  Each<TileView<T const>> from,
                  TileView<T> own) const {
    sparse::detail::Range const rows{0, own.rows()};
    sweeps->add_given(u, rows, from, rows, own);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::GatherBelow<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  sparse::detail::SweepStep const& step,
                  Each<TileView<T const>> from,
                  TileView<T> below) const {
    if (!step.up) {
      sweeps->take_above(step.unit, step.part, from, below);
      return;
    }
    auto const rows = range_below(sweeps->front(step.unit), step.part);
    linalg::kernels::scale(T(0), below);
    sweeps->add_given(step.unit, rows, from, rows, below);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::SweepPanel<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  sparse::detail::SweepStep const& step,
                  TileView<T> own) const {
    auto const& front = sweeps->front(step.unit);
    step.up ? sweeps->fronts().up_panel(front, step.part, own)
            : sweeps->fronts().down_panel(front, step.part, own);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::SweepBlock<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  sparse::detail::SweepStep const& step,
                  TileView<T const> from,
                  TileView<T> to) const {
    auto const& front = sweeps->front(step.unit);
    step.up ? sweeps->fronts().up_block(front, step.part, from, to)
            : sweeps->fronts().down_block(front, step.part, from, to);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::TakeSolution<T, F>> {
  void operator()(sparse::detail::RankSweeps<T, F> const* sweeps,
                  Each<TileView<T const>> solutions) const {
    sweeps->take(solutions);
  }
};

} // namespace hetsched
