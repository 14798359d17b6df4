// SPDX-License-Identifier: MIT
#pragma once
// A multifrontal factorisation on several ranks.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/front_parts.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/numbers.hpp>
#include <hetsched/detail/sparse/rank_layout.hpp>
#include <hetsched/detail/sparse/spawn_factorisation.hpp>
#include <hetsched/detail/sparse/units.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hetsched {

namespace sparse::detail {

/// FactorUnit, where what contributes may have come from other ranks, and what the unit contributes
/// is for them.
template <class T, Form F>
struct FactorUnitOnRank : Task<4>::Signature<V<Factorisation<T, F> const*>,
                                             V<Index>,
                                             R<Each<TileView<T>>>,
                                             W<Each<TileView<T>>>> {
  static constexpr std::string_view name = FactorUnit<T, F>::name;
};

template <class T, Form F>
struct AssembleOnRank : Task<4>::Signature<V<Factorisation<T, F> const*>,
                                           V<FrontPart>,
                                           R<Each<TileView<T>>>,
                                           W<Each<TileView<T>>>> {
  static constexpr std::string_view name = Assemble<T, F>::name;
};

/// The pivots are a datum, as other ranks need them.
using Pivots = VectorView<std::size_t>;

template <class T, Form F>
struct FactorPanelOnRank : Task<5>::Signature<V<Factorisation<T, F> const*>,
                                              V<Index>,
                                              V<std::size_t>,
                                              RW<TileView<T>>,
                                              W<Pivots>> {
  static constexpr std::string_view name = FactorPanel<T, F>::name;
};

template <class T>
struct EliminateOnRank
    : Task<4>::Signature<V<std::size_t>, R<Each<Pivots>>, R<Each<TileView<T>>>, RW<TileView<T>>> {
  static constexpr std::string_view name = Eliminate<T>::name;
};

/// A rank says how many pivots it replaced, and the largest modulus of its factors.
struct SumUp : Task<4>::Signature<V<std::uint64_t>,
                                  V<double>,
                                  CW<std::uint64_t, Sum<std::uint64_t>>,
                                  CW<double, Max<double>>> {
  static constexpr std::string_view name = "sum_up";
};

/// As OwnPivots, with pivots that are data.
template <class Rt, class T, class Handle>
class RankPivots {
public:
  RankPivots(Rt& rt,
             Factorisation<T, Form::general> const& work,
             Index s,
             std::vector<Handle> const& pivots)
      : rt_(rt), work_(work), s_(s), pivots_(pivots) {}

  template <class Tile, class... A>
  void factor(std::size_t k, Tile const& panel, A const&... attributes) const {
    rt_.template spawn<FactorPanelOnRank<T, Form::general>>(attributes..., SetArch(ArchHost))(
        &work_, s_, k, panel, pivots_[k]);
  }

  template <class Panels, class Tile, class... A>
  void eliminate(std::size_t first,
                 Panels const& panels,
                 Tile const& columns,
                 A const&... attributes) const {
    rt_.template spawn<EliminateOnRank<T>>(attributes..., SetArch(ArchHost))(
        work_.plan.fronts[at(s_)].panels.begin(first),
        std::span(pivots_).subspan(first, panels.size()),
        panels,
        columns);
  }

private:
  Rt& rt_;
  Factorisation<T, Form::general> const& work_;
  Index s_;
  std::vector<Handle> const& pivots_;
};

/// FactorisationTasks on several ranks: the same tasks, with the parts at home as a layout says.
/// What fronts contribute is data. A tile of it goes to each rank whose parts of the parent it
/// meets. Made, called and destroyed by all ranks.
template <class Rt, class T, Form F>
class RankFactorisationTasks : public FrontTasks<Rt, T, F, RankLayout> {
  using Base = FrontTasks<Rt, T, F, RankLayout>;

public:
  RankFactorisationTasks(Rt& rt, Factorisation<T, F> const& work, RankLayout const& layout)
      : Base(rt, work, layout), data_(units_.units.size()), pivots_(units_.units.size()),
        given_(plan_.fronts.size()) {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const& unit = units_.units[u];
      if (unit.tiled) {
        data_[u] = this->register_front(unit.begin);
        if constexpr (F == Form::general) {
          register_pivots(u);
        }
        continue;
      }
      for (auto s = unit.begin; s < unit.end; ++s) {
        if (units_.leaves(plan_, s)) {
          have_memory(s, layout.unit(u) == rt.rank());
          given_[at(s)] = this->register_tiles(s);
        }
      }
    }
  }

  /// Returns at once.
  void spawn() {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const& unit = units_.units[u];
      if (!unit.tiled) {
        spawn_unit(u);
        continue;
      }
      auto const assemble = [&](FrontPart const& part, std::span<Tile const> targets) {
        auto const region = region_of(plan_.fronts[at(part.front)], part);
        rt_.template spawn<AssembleOnRank<T, F>>(
            urgency(part.front, 1), flops(assembled_numbers(region)), SetArch(ArchHost))(
            &work_, part, sources(part.front, region), targets);
      };
      if constexpr (F == Form::general) {
        RankPivots<Rt, T, PivotsHandle> const pivots(rt_, work_, unit.begin, pivots_[u]);
        this->spawn_front(unit.begin, data_[u], pivots, assemble);
      } else {
        OwnPivots<Rt, T, F> const panels(rt_, work_, unit.begin);
        this->spawn_front(unit.begin, data_[u], panels, assemble);
      }
    }
  }

private:
  using Base::count_;
  using Base::homes_;
  using Base::plan_;
  using Base::rt_;
  using Base::units_;
  using Base::urgency;
  using Base::work_;
  using typename Base::Data;
  using typename Base::Tile;
  using PivotsHandle = typename hetsched::detail::OfSameKind<Tile, Pivots>::Type;

  void register_pivots(std::size_t u) {
    auto const s = units_.units[u].begin;
    auto const& front = plan_.fronts[at(s)];
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      auto const chosen = work_.numbers.pivots_of(front, k);
      pivots_[u].push_back(rt_.data(homes_.panel(s, k), chosen.data(), chosen.size()));
    }
  }

  /// For what front s contributes, on the rank where that is at home.
  void have_memory(Index s, bool here) {
    auto& given = work_.numbers.contributions[at(s)];
    auto const m = plan_.fronts[at(s)].m;
    if (here) {
      given.own = work_.numbers.pool.take(m * m);
      given.data = given.own.data();
    }
  }

  [[nodiscard]] std::vector<Tile> sources(Index s, Region const& region) const {
    std::vector<Tile> result;
    for_each_given(plan_, s, region, [&](Index c, std::size_t i, std::size_t j) {
      auto const u = at(units_.unit_of[at(c)]);
      auto const& tiles = units_.units[u].tiled ? data_[u].tiles : given_[at(c)];
      result.push_back(tiles[i + j * plan_.fronts[at(c)].blocks_below()]);
    });
    return result;
  }

  void spawn_unit(std::size_t u) {
    auto const& unit = units_.units[u];
    std::vector<Tile> from;
    if (unit.end == unit.begin + 1) {
      auto const size = plan_.fronts[at(unit.begin)].size();
      from = sources(unit.begin, {{0, size}, {0, size}});
    }
    std::vector<Tile> to;
    for (auto s = unit.begin; s < unit.end; ++s) {
      for (auto const& tile : given_[at(s)]) {
        if (tile) {
          to.push_back(tile);
        }
      }
    }
    hetsched::detail::spawn_on<FactorUnitOnRank<T, F>>(
        rt_, homes_.unit(u), urgency(unit.begin), flops(unit.flops), SetArch(ArchHost))(
        &work_, static_cast<Index>(u), from, to);
    ++count_.tasks;
  }

  std::vector<Data> data_;                        // of each tiled unit
  std::vector<std::vector<PivotsHandle>> pivots_; // of each tiled unit
  std::vector<std::vector<Tile>> given_; // of each front of others that contributes to others
};

/// Collective, after a sync. The same on all ranks.
template <class Rt, class T, Form F>
[[nodiscard]] FactorFacts
facts_of_all(Rt& rt, Factorisation<T, F> const& work, RankLayout const& layout) {
  FactorFacts own{work.numbers.replaced.load(std::memory_order_relaxed), 0};
  layout.for_each_part(rt.rank(), [&](std::size_t begin, std::size_t size) {
    for (auto k = begin; k < begin + size; ++k) {
      own.largest = std::max(own.largest, double(std::abs(work.numbers.factors.data()[k])));
    }
  });
  FactorFacts all;
  auto const replaced = rt.data(0, all.replaced);
  auto const largest = rt.data(0, all.largest);
  for (std::int32_t r = 0; r < rt.ranks(); ++r) {
    hetsched::detail::spawn_on<SumUp>(rt, r, SetArch(ArchHost))(
        own.replaced, own.largest, replaced, largest);
  }
  return {rt.value(replaced), rt.value(largest)};
}

/// Numbers of the factors, and of what fronts contribute, that are at home on a rank.
template <class T, Form F>
[[nodiscard]] std::size_t
numbers_at_home(RankLayout const& layout, Factorisation<T, F> const& work, std::int32_t rank) {
  std::size_t count = 0;
  layout.for_each_part(rank, [&](std::size_t, std::size_t size) { count += size; });
  for (auto const& unit : work.units.units) {
    auto const& front = work.plan.fronts[at(unit.begin)];
    for (std::size_t j = 0; unit.tiled && j < front.blocks_below(); ++j) {
      for (auto i = front.first_tile(j); i < front.blocks_below(); ++i) {
        bool const here = layout.tile(unit.begin, i, j) == rank;
        count += here ? front.blocks.size(i) * front.blocks.size(j) : 0;
      }
    }
  }
  for (auto const& given : work.numbers.contributions) {
    count += given.own.size();
  }
  return count;
}

} // namespace sparse::detail

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::FactorUnitOnRank<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::Index u,
                  Each<TileView<T const>> from,
                  Each<TileView<T>> /*to*/) const {
    namespace detail = sparse::detail;
    auto const& plan = work->plan;
    auto const& unit = work->units.units[detail::at(u)];
    if (from.empty()) {
      detail::OwnContributions const given(plan, work->numbers);
      detail::factor_unit(plan, work->units, work->numbers, given, unit);
    } else {
      auto const size = plan.fronts[detail::at(unit.begin)].size();
      detail::GivenContributions<T> const given(plan, unit.begin, {{0, size}, {0, size}}, from);
      detail::factor_unit(plan, work->units, work->numbers, given, unit);
    }
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::AssembleOnRank<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::FrontPart const& part,
                  Each<TileView<T const>> from,
                  Each<TileView<T>> to) const {
    namespace detail = sparse::detail;
    auto const region = region_of(work->plan.fronts[detail::at(part.front)], part);
    detail::GivenContributions<T> const given(work->plan, part.front, region, from);
    detail::assemble_part(*work, given, part, to);
  }
};

template <class T, sparse::detail::Form F>
struct TaskBodyCPU<sparse::detail::FactorPanelOnRank<T, F>> {
  void operator()(sparse::detail::Factorisation<T, F> const* work,
                  sparse::detail::Index s,
                  std::size_t k,
                  TileView<T> panel,
                  sparse::detail::Pivots pivots) const {
    factor_panel(work->plan, work->numbers, s, k, panel, pivots);
  }
};

template <class T>
struct TaskBodyCPU<sparse::detail::EliminateOnRank<T>> {
  void operator()(std::size_t first,
                  Each<VectorView<std::size_t const>> pivots,
                  Each<TileView<T const>> panels,
                  TileView<T> columns) const {
    for (std::size_t k = 0; k < panels.size(); ++k) {
      linalg::detail::lu_update<T>(first, panels[k], pivots[k], columns);
      first += panels[k].cols();
    }
  }
};

template <>
struct TaskBodyCPU<sparse::detail::SumUp> {
  void operator()(std::uint64_t own_replaced,
                  double own_largest,
                  std::uint64_t& replaced,
                  double& largest) const {
    replaced += own_replaced;
    largest = std::max(largest, own_largest);
  }
};

} // namespace hetsched
