// SPDX-License-Identifier: MIT
#pragma once
// Spawns the tasks of a multifrontal factorisation.

#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/sparse/front_flops.hpp>
#include <hetsched/detail/sparse/front_parts.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/linalg/gemm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::sparse::detail {

/// The data of a tiled front's parts. `Tile`: a Handle or DistributedHandle of a TileView.
template <class Tile>
struct FrontData {
  std::vector<Tile> panels;
  std::vector<Tile> upper; // none if symmetric
  std::vector<Tile> lower;
  std::vector<Tile> tiles; // by columns; only those of the lower triangle if symmetric
};

/// How many tasks were spawned, and how many of these are products of tiles of F22.
struct TaskCount {
  std::size_t tasks = 0;
  std::size_t products = 0;
};

/// What the factors are like, of all ranks.
struct FactorFacts {
  std::uint64_t replaced = 0; // pivots
  double largest = 0;         // modulus
};

/// What RankSolver says of a factorisation.
struct RankFactors {
  TaskCount tasks;
  FactorFacts facts;
  std::size_t numbers_here = 0; // on this rank
};

/// What is done on several ranks: sparse/on_ranks.hpp.
template <class Rt, class T, Form F>
struct RankSolver;

/// Spawns the tasks of a tiled front behind its assembly.
template <Form F>
struct FrontProgram;

/// Spawns the tasks that choose a front's pivots and that apply them, which all are in the memory
/// of one process.
template <class Rt, class T, Form F>
class OwnPivots {
public:
  OwnPivots(Rt& rt, Factorisation<T, F> const& work, Index s)
      : rt_(rt), work_(work), front_(work.plan.fronts[at(s)]), s_(s) {}

  template <class Tile, class... A>
  void factor(std::size_t k, Tile const& panel, A const&... attributes) const {
    rt_.template spawn<FactorPanel<T, F>>(attributes..., SetArch(ArchHost))(&work_, s_, k, panel);
  }

  /// Applies panels, from number `first` on, to columns on their right.
  template <class Panels, class Tile, class... A>
  void eliminate(std::size_t first,
                 Panels const& panels,
                 Tile const& columns,
                 A const&... attributes) const {
    std::size_t const* const pivots = work_.numbers.pivots.data() + front_.first;
    rt_.template spawn<Eliminate<T>>(attributes...)(
        front_.panels.begin(first), pivots, panels, columns);
  }

private:
  Rt& rt_;
  Factorisation<T, F> const& work_;
  Front const& front_;
  Index s_;
};

template <>
struct FrontProgram<Form::general> {
  /// `urgency(k)` is the priority of a task that is k above the front's least urgent.
  template <class T, class Rt, class Tile, class Pivots, class Urgency>
  static TaskCount spawn(Rt& rt,
                         Front const& front,
                         FrontData<Tile> const& data,
                         Pivots const& pivots,
                         Urgency const& urgency) {
    FrontFlops const work_of(front);
    auto const p = front.panels.count;
    auto const q = data.lower.size();
    for (std::size_t k = 0; k < p; ++k) {
      pivots.factor(k, data.panels[k], urgency(3), flops(work_of.panel(k)));
      for (auto j = k + 1; j < p; ++j) {
        pivots.eliminate(k,
                         std::span(&data.panels[k], 1),
                         data.panels[j],
                         urgency(j == k + 1 ? 3 : 2),
                         flops(work_of.update(k, j)));
      }
    }
    for (std::size_t i = 0; i < q; ++i) {
      auto const side = flops(work_of.side(i));
      pivots.eliminate(0, data.panels, data.upper[i], urgency(1), side);
      rt.template spawn<SolveRows<T>>(urgency(1), side)(data.panels, data.lower[i]);
    }
    for (std::size_t j = 0; j < q; ++j) {
      for (std::size_t i = 0; i < q; ++i) {
        rt.template spawn<linalg::Gemm<T>>(urgency(0), flops(work_of.product(i, j)))(
            T(-1), data.lower[i], data.upper[j], T(1), data.tiles[i + j * q]);
      }
    }
    return {p * (p + 1) / 2 + 2 * q + q * q, q * q};
  }
};

/// The data of the tiled fronts of a factorisation, and the priorities of all tasks. `Homes`: on
/// which rank each part is.
template <class Rt, class T, Form F, class Homes>
class FrontTasks {
public:
  using Tile = hetsched::detail::TileOn<Rt, T>;
  using Data = FrontData<Tile>;

  FrontTasks(Rt& rt, Factorisation<T, F> const& work, Homes const& homes)
      : rt_(rt), work_(work), plan_(work.plan), units_(work.units), homes_(homes),
        urgency_(plan_.fronts.size()) {
    find_urgencies();
  }

  [[nodiscard]] TaskCount count() const noexcept { return count_; }

protected:
  [[nodiscard]] Tile registered(std::int32_t home, TileView<T> tile) {
    return hetsched::detail::data_on(
        rt_, home, tile.data(), tile.rows(), tile.cols(), std::max<std::size_t>(tile.ld(), 1));
  }

  /// Of front s: those that FrontProgram works on.
  [[nodiscard]] Data register_front(Index s) {
    auto const& front = plan_.fronts[at(s)];
    auto const& numbers = work_.numbers;
    Data data;
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      data.panels.push_back(registered(homes_.panel(s, k), numbers.panel(front, k)));
    }
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      if constexpr (F == Form::general) {
        data.upper.push_back(registered(homes_.upper(s, i), numbers.upper(front, i)));
      }
      data.lower.push_back(registered(homes_.lower(s, i), numbers.lower(front, i)));
    }
    data.tiles = register_tiles(s);
    return data;
  }

  /// What front s contributes.
  [[nodiscard]] std::vector<Tile> register_tiles(Index s) {
    auto const& front = plan_.fronts[at(s)];
    auto* const f22 = work_.numbers.contributions[at(s)].data; // null if it is elsewhere
    std::vector<Tile> tiles;
    for (std::size_t j = 0; j < front.blocks_below(); ++j) {
      for (std::size_t i = 0; i < front.blocks_below(); ++i) {
        if (i < front.first_tile(j)) {
          tiles.emplace_back();
          continue;
        }
        auto const rows = front.blocks.size(i);
        tiles.push_back(registered(homes_.tile(s, i, j),
                                   f22 == nullptr
                                       ? TileView<T>(nullptr, rows, front.blocks.size(j), rows)
                                       : f22_tile(front, f22, i, j)));
      }
    }
    return tiles;
  }

  [[nodiscard]] auto urgency(Index s, std::int32_t among = 0) const {
    return priority(urgency_[at(s)] + among);
  }

  /// `assemble(part, targets)` spawns the task that fills a part; the others follow.
  template <class Assemble, class Pivots>
  void spawn_front(Index s, Data const& data, Pivots const& pivots, Assemble const& assemble) {
    using Kind = FrontPart::Kind;
    auto const& front = plan_.fronts[at(s)];
    auto const q = front.blocks_below();
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      assemble({s, Kind::panel, k}, std::span(&data.panels[k], 1));
    }
    for (std::size_t i = 0; i < q; ++i) {
      if constexpr (F == Form::general) {
        assemble({s, Kind::upper, i}, std::span(&data.upper[i], 1));
      }
      assemble({s, Kind::lower, i}, std::span(&data.lower[i], 1));
    }
    for (std::size_t j = 0; j < q; ++j) {
      auto const first = front.first_tile(j);
      assemble({s, Kind::tiles, j}, std::span(&data.tiles[first + j * q], q - first));
    }
    auto const count = FrontProgram<F>::template spawn<T>(
        rt_, front, data, pivots, [&](std::int32_t among) { return urgency(s, among); });
    count_.tasks += count.tasks + front.panels.count + 2 * q + data.upper.size();
    count_.products += count.products;
  }

  Rt& rt_;
  Factorisation<T, F> const& work_;
  Fronts const& plan_;
  Units const& units_;
  Homes const& homes_;
  TaskCount count_;

private:
  /// By the flops from a front to the root: the longer the way, the more urgent.
  void find_urgencies() {
    auto const path = plan_.paths();
    auto const longest = path.empty() ? 1 : *std::max_element(path.begin(), path.end());
    constexpr double steps = 1e6;
    for (std::size_t s = 0; s < path.size(); ++s) {
      urgency_[s] = 4 * static_cast<std::int32_t>(steps * path[s] / longest);
    }
  }

  std::vector<std::int32_t> urgency_;
};

/// Everything is on rank 0.
struct OneHome {
  [[nodiscard]] static std::int32_t panel(Index, std::size_t) noexcept { return 0; }

  [[nodiscard]] static std::int32_t upper(Index, std::size_t) noexcept { return 0; }

  [[nodiscard]] static std::int32_t lower(Index, std::size_t) noexcept { return 0; }

  [[nodiscard]] static std::int32_t tile(Index, std::size_t, std::size_t) noexcept { return 0; }
};

inline constexpr OneHome one_home;

/// The data of a factorisation's tasks, and the tasks. To be destroyed after a sync.
///
/// A unit that is not tiled is one task on a core. Of a tiled front, every part is filled by a task
/// on a core; panels are factored on cores; everything else runs on cores and GPUs. Updates of one
/// datum are in program order, so the result does not depend on the scheduler or the number of
/// workers where all workers compute alike.
template <class Rt, class T, Form F>
class FactorisationTasks : public FrontTasks<Rt, T, F, OneHome> {
  using Base = FrontTasks<Rt, T, F, OneHome>;

public:
  /// Registers the data.
  FactorisationTasks(Rt& rt, Factorisation<T, F> const& work)
      : Base(rt, work, one_home), done_(units_.units.size()), done_handles_(units_.units.size()),
        data_(units_.units.size()) {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      if (units_.units[u].tiled) {
        data_[u] = this->register_front(units_.units[u].begin);
      } else {
        done_handles_[u] = rt_.data(done_[u]);
      }
    }
  }

  /// Returns at once.
  void spawn() {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const& unit = units_.units[u];
      if (!unit.tiled) {
        spawn_unit(static_cast<Index>(u));
        continue;
      }
      auto const s = unit.begin;
      auto const& front = plan_.fronts[at(s)];
      expect_readers(s, front.panels.count + 2 * front.blocks_below() + data_[u].upper.size());
      this->spawn_front(s,
                        data_[u],
                        OwnPivots<Rt, T, F>(rt_, work_, s),
                        [&](FrontPart const& part, std::span<Tile const> targets) {
                          spawn_assembly(part, targets);
                        });
    }
  }

private:
  using Base::count_;
  using Base::plan_;
  using Base::rt_;
  using Base::units_;
  using Base::urgency;
  using Base::work_;
  using typename Base::Data;
  using typename Base::Tile;

  /// Where the data of a part come from.
  struct Sources {
    std::vector<Handle<Token>> units;
    std::vector<Tile> tiles;
  };

  /// What contributes to a region of front s.
  [[nodiscard]] Sources sources(Index s, Region const& region) const {
    Sources result;
    for_each_source(
        plan_,
        units_,
        s,
        region,
        [&](Index u) { result.units.push_back(done_handles_[at(u)]); },
        [&](Index c, std::size_t i, std::size_t j) {
          auto const& tiles = data_[at(units_.unit_of[at(c)])].tiles;
          result.tiles.push_back(tiles[i + j * plan_.fronts[at(c)].blocks_below()]);
        });
    return result;
  }

  void spawn_unit(Index u) {
    auto const& unit = units_.units[at(u)];
    Sources from;
    if (unit.end == unit.begin + 1) {
      auto const size = plan_.fronts[at(unit.begin)].size();
      from = sources(unit.begin, {{0, size}, {0, size}});
    }
    for (auto s = unit.begin; s < unit.end; ++s) {
      expect_readers(s, 1);
    }
    rt_.template spawn<FactorUnit<T, F>>(urgency(unit.begin), flops(unit.flops), SetArch(ArchHost))(
        &work_, u, from.units, from.tiles, done_handles_[at(u)]);
    ++count_.tasks;
  }

  void expect_readers(Index s, std::size_t count) {
    for (auto const c : plan_.children[at(s)]) {
      work_.numbers.contributions[at(c)].readers.store(count, std::memory_order_relaxed);
    }
  }

  void spawn_assembly(FrontPart const& part, std::span<Tile const> targets) {
    auto const region = region_of(plan_.fronts[at(part.front)], part);
    auto const from = sources(part.front, region);
    rt_.template spawn<Assemble<T, F>>(
        urgency(part.front, 1), flops(assembled_numbers(region)), SetArch(ArchHost))(
        &work_, part, from.units, from.tiles, targets);
  }

  std::vector<Token> done_;
  std::vector<Handle<Token>> done_handles_;
  std::vector<Data> data_; // of each tiled unit
};

} // namespace hetsched::sparse::detail
