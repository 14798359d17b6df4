// SPDX-License-Identifier: MIT
#pragma once
// Spawns the tasks of a multifrontal factorisation.

#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
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

/// The data of a tiled front's parts.
template <class T>
struct FrontData {
  using Tile = Handle<TileView<T>>;

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

/// Spawns the tasks of a tiled front behind its assembly.
template <Form F>
struct FrontProgram;

template <>
struct FrontProgram<Form::general> {
  /// `urgency(k)` is the priority of a task that is k above the front's least urgent.
  template <class Rt, class T, class Urgency>
  static TaskCount spawn(Rt& rt,
                         Factorisation<T, Form::general> const& work,
                         Index s,
                         FrontData<T> const& data,
                         Urgency const& urgency) {
    auto const& front = work.plan.fronts[at(s)];
    std::size_t const* const pivots = work.numbers.pivots.data() + front.first;
    FrontFlops const work_of(front);
    auto const p = front.panels.count;
    auto const q = data.lower.size();
    for (std::size_t k = 0; k < p; ++k) {
      rt.template spawn<FactorPanel<T, Form::general>>(
          urgency(3), flops(work_of.panel(k)), SetArch(ArchHost))(&work, s, k, data.panels[k]);
      for (auto j = k + 1; j < p; ++j) {
        rt.template spawn<Eliminate<T>>(urgency(j == k + 1 ? 3 : 2), flops(work_of.update(k, j)))(
            front.panels.begin(k), pivots, std::span(&data.panels[k], 1), data.panels[j]);
      }
    }
    for (std::size_t i = 0; i < q; ++i) {
      auto const side = flops(work_of.side(i));
      rt.template spawn<Eliminate<T>>(urgency(1),
                                      side)(std::size_t{0}, pivots, data.panels, data.upper[i]);
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

/// The data of a factorisation's tasks, and the tasks. To be destroyed after a sync.
///
/// A unit that is not tiled is one task on a core. Of a tiled front, every part is filled by a task
/// on a core; panels are factored on cores; everything else runs on cores and GPUs. Updates of one
/// datum are in program order, so the result does not depend on the scheduler or the number of
/// workers where all workers compute alike.
template <class Rt, class T, Form F>
class FactorisationTasks {
public:
  /// Registers the data.
  FactorisationTasks(Rt& rt, Factorisation<T, F> const& work)
      : rt_(rt), work_(work), plan_(work.plan), units_(work.units), done_(units_.units.size()),
        done_handles_(units_.units.size()), data_(units_.units.size()),
        urgency_(plan_.fronts.size()) {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      if (units_.units[u].tiled) {
        register_front(u, units_.units[u].begin);
      } else {
        done_handles_[u] = rt_.data(done_[u]);
      }
    }
    find_urgencies();
  }

  /// Returns at once.
  void spawn() {
    for (std::size_t u = 0; u < units_.units.size(); ++u) {
      auto const& unit = units_.units[u];
      if (unit.tiled) {
        auto const s = unit.begin;
        assemble_front(s, data_[u]);
        auto const count = FrontProgram<F>::spawn(
            rt_, work_, s, data_[u], [&](std::int32_t among) { return urgency(s, among); });
        count_.tasks += count.tasks;
        count_.products += count.products;
      } else {
        spawn_unit(static_cast<Index>(u));
      }
    }
  }

  [[nodiscard]] TaskCount count() const noexcept { return count_; }

private:
  using Tile = Handle<TileView<T>>;

  using Data = FrontData<T>;

  /// Where the data of a part come from.
  struct Sources {
    std::vector<Handle<Token>> units;
    std::vector<Tile> tiles;
  };

  [[nodiscard]] Tile registered(TileView<T> tile) {
    return rt_.data(tile.data(), tile.rows(), tile.cols(), tile.ld());
  }

  void register_front(std::size_t u, Index s) {
    auto const& front = plan_.fronts[at(s)];
    auto const& numbers = work_.numbers;
    auto& data = data_[u];
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      data.panels.push_back(registered(numbers.panel(front, k)));
    }
    for (std::size_t i = 0; i < front.blocks_below(); ++i) {
      if constexpr (F == Form::general) {
        data.upper.push_back(registered(numbers.upper(front, i)));
      }
      data.lower.push_back(registered(numbers.lower(front, i)));
    }
    auto* const f22 = numbers.contributions[at(s)].data;
    for (std::size_t j = 0; j < front.blocks_below(); ++j) {
      for (std::size_t i = 0; i < front.blocks_below(); ++i) {
        data.tiles.push_back(i < front.first_tile(j) ? Tile()
                                                     : registered(f22_tile(front, f22, i, j)));
      }
    }
  }

  /// By the flops from a front to the root: the longer the way, the more urgent.
  void find_urgencies() {
    auto const path = plan_.paths();
    auto const longest = path.empty() ? 1 : *std::max_element(path.begin(), path.end());
    constexpr double steps = 1e6;
    for (std::size_t s = 0; s < path.size(); ++s) {
      urgency_[s] = 4 * static_cast<std::int32_t>(steps * path[s] / longest);
    }
  }

  [[nodiscard]] auto urgency(Index s, std::int32_t among = 0) const {
    return priority(urgency_[at(s)] + among);
  }

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
    ++count_.tasks;
  }

  void assemble_front(Index s, Data const& data) {
    using Kind = FrontPart::Kind;
    auto const& front = plan_.fronts[at(s)];
    auto const q = front.blocks_below();
    expect_readers(s, front.panels.count + 2 * q + data.upper.size());
    for (std::size_t k = 0; k < front.panels.count; ++k) {
      spawn_assembly({s, Kind::panel, k}, {&data.panels[k], 1});
    }
    for (std::size_t i = 0; i < q; ++i) {
      if constexpr (F == Form::general) {
        spawn_assembly({s, Kind::upper, i}, {&data.upper[i], 1});
      }
      spawn_assembly({s, Kind::lower, i}, {&data.lower[i], 1});
    }
    for (std::size_t j = 0; j < q; ++j) {
      auto const first = front.first_tile(j);
      spawn_assembly({s, Kind::tiles, j}, {&data.tiles[first + j * q], q - first});
    }
  }

  Rt& rt_;
  Factorisation<T, F> const& work_;
  Fronts const& plan_;
  Units const& units_;
  std::vector<Token> done_;
  std::vector<Handle<Token>> done_handles_;
  std::vector<Data> data_; // of each tiled unit
  std::vector<std::int32_t> urgency_;
  TaskCount count_;
};

/// Spawns a sweep up the tree and one down; to be destroyed after a sync.
template <class Rt, class S>
class SweepTasks {
public:
  SweepTasks(Rt& rt, Units const& units, S& sweeps)
      : rt_(rt), units_(units), sweeps_(sweeps), done_(2 * units.units.size()) {
    for (auto& token : done_) {
      handles_.push_back(rt.data(token));
    }
  }

  /// Returns at once.
  void spawn() {
    auto const count = units_.units.size();
    auto const spawn_one = [&](std::size_t u, bool up, std::vector<Handle<Token>> const& before) {
      rt_.template spawn<SweepUnit<S>>(SetArch(ArchHost))(
          &sweeps_, static_cast<Index>(u), up, before, handles_[up ? u : count + u]);
    };
    for (std::size_t u = 0; u < count; ++u) {
      std::vector<Handle<Token>> before;
      for (auto const child : units_.children[u]) {
        before.push_back(handles_[at(child)]);
      }
      spawn_one(u, true, before);
    }
    for (auto u = count; u-- > 0;) {
      auto const parent = units_.units[u].parent;
      spawn_one(
          u,
          false,
          {parent == no_index ? handles_[u] : handles_[count + at(units_.unit_of[at(parent)])]});
    }
  }

private:
  Rt& rt_;
  Units const& units_;
  S& sweeps_;
  std::vector<Token> done_; // up, then down
  std::vector<Handle<Token>> handles_;
};

} // namespace hetsched::sparse::detail
