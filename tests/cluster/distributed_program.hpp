// SPDX-License-Identifier: MIT
#pragma once
// Random programs on several ranks, and what running their bodies one after the other gives.
//
// Elements are 64-bit integers, so that sums are exact. A body's result depends on the order of
// everything that the access modes order, and on nothing that they leave open.

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "support/dice.hpp"
#include "support/launch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distributed_program {

namespace hs = hetsched;

using Number = std::uint64_t;
using Tile = hs::TileView<Number>;
using ConstTile = hs::TileView<Number const>;
template <class Transport>
using RuntimeOn = hs::DistributedRuntime<hs::policies::Priority<>,
                                         hs::policies::Lru,
                                         hs::policies::NoModel,
                                         hs::OwnerComputes,
                                         Transport>;

struct Dice : support::Dice {
  using support::Dice::Dice;

  int pick(int least, int most) { return least + below(most - least + 1); }
};

inline Number mixed(Number a, Number b) {
  auto const z = (a ^ b) * 0x9e3779b97f4a7c15U + 0x632be59bd9b4e019U;
  return z ^ z >> 29U;
}

inline Number sum_of(ConstTile x) {
  Number sum = 1;
  for (std::size_t j = 0; j < x.cols(); ++j) {
    for (std::size_t i = 0; i < x.rows(); ++i) {
      sum = mixed(sum, x(i, j));
    }
  }
  return sum;
}

template <class F>
void for_each_element(Tile y, F const& f) {
  for (std::size_t j = 0; j < y.cols(); ++j) {
    for (std::size_t i = 0; i < y.rows(); ++i) {
      y(i, j) = f(y(i, j), 31 * j + i);
    }
  }
}

struct Update : hs::Task<3>::Signature<hs::R<Tile>, hs::RW<Tile>, hs::V<Number>> {
  static void cpu(ConstTile x, Tile y, Number constant) {
    auto const sum = mixed(sum_of(x), constant);
    for_each_element(y, [sum](Number old, Number place) { return mixed(old, sum + place); });
  }

  static void gpu(hs::GpuStream& stream, ConstTile x, Tile y, Number constant) {
    support::launch(stream, [=] { cpu(x, y, constant); });
  }
};

struct Set : hs::Task<3>::Signature<hs::W<Tile>, hs::R<Tile>, hs::V<Number>> {
  static void cpu(Tile y, ConstTile x, Number constant) {
    auto const sum = mixed(sum_of(x), constant);
    for_each_element(y, [sum](Number /*old*/, Number place) { return mixed(sum, place); });
  }

  static void gpu(hs::GpuStream& stream, Tile y, ConstTile x, Number constant) {
    support::launch(stream, [=] { cpu(y, x, constant); });
  }
};

struct Join : hs::Task<4>::Signature<hs::R<Tile>, hs::R<Tile>, hs::RW<Number>, hs::V<Number>> {
  static void cpu(ConstTile x, ConstTile y, Number& z, Number constant) {
    z = mixed(z + sum_of(x), sum_of(y) ^ constant);
  }
};

struct Commuting : hs::Task<2>::Signature<hs::Commute<Tile>, hs::V<Number>> {
  static void cpu(Tile y, Number constant) {
    for_each_element(y, [=](Number old, Number place) { return old + constant * (place + 1); });
  }
};

struct Contribute
    : hs::Task<3>::Signature<hs::R<Number>, hs::CW<Number, hs::Sum<Number>>, hs::V<Number>> {
  static void cpu(Number x, Number& y, Number constant) { y += x * constant; }
};

struct ContributeTile : hs::Task<2>::Signature<hs::CW<Tile, hs::Sum<Number>>, hs::V<Number>> {
  static void cpu(Tile y, Number constant) { Commuting::cpu(y, constant); }
};

struct Toggle {
  static Number neutral() { return 0; }

  static Number combine(Number a, Number b) { return a ^ b; }
};

struct ContributeToggle : hs::Task<2>::Signature<hs::CW<Tile, Toggle>, hs::V<Number>> {
  static void cpu(Tile y, Number constant) {
    for_each_element(y, [=](Number old, Number place) { return old ^ constant * (place + 1); });
  }
};

/// Lists: of some tiles that are read, and of some that are written; a tile may be there twice.
struct Mix
    : hs::Task<4>::
          Signature<hs::R<hs::Each<Tile>>, hs::RW<Number>, hs::RW<hs::Each<Tile>>, hs::V<Number>> {
  template <class Read, class Written>
  static void compute(Read const& x, Number& z, Written const& y, Number constant) {
    auto sum = mixed(z, constant);
    for (std::size_t k = 0; k < x.size(); ++k) {
      sum = mixed(sum, sum_of(x[k]));
    }
    for (std::size_t k = 0; k < y.size(); ++k) {
      for_each_element(y[k], [&](Number old, Number place) { return mixed(old + k, sum + place); });
    }
    z = mixed(z, sum);
  }

  static void
  cpu(hs::Each<ConstTile> const& x, Number& z, hs::Each<Tile> const& y, Number constant) {
    compute(x, z, y, constant);
  }
};

class Program {
public:
  explicit Program(std::uint64_t seed) {
    Dice dice(seed);
    int const tiles = dice.pick(2, 7);
    for (int t = 0; t < tiles; ++t) {
      auto const rows = static_cast<std::size_t>(dice.pick(1, 5));
      tiles_.push_back({rows,
                        static_cast<std::size_t>(dice.pick(1, 4)),
                        rows + static_cast<std::size_t>(dice.pick(0, 2)),
                        dice.pick(0, 63)});
    }
    int const scalars = dice.pick(1, 4);
    for (int s = 0; s < scalars; ++s) {
      scalar_homes_.push_back(dice.pick(0, 63));
    }
    int const steps = dice.pick(1, 120);
    for (int k = 0; k < steps; ++k) {
      Step step{};
      int const kind = dice.pick(0, 99);
      step.kind = kind < 2    ? Kind::sync
                  : kind < 4  ? Kind::value
                  : kind < 8  ? Kind::cut
                  : kind < 14 ? Kind::mix
                              : Kind(dice.pick(2, 8));
      step.a = dice.pick(0, tiles - 1);
      step.b = dice.pick(0, tiles - 1);
      step.c = dice.pick(0, scalars - 1);
      step.d = dice.pick(0, scalars - 1);
      step.rank = dice.chance(60) ? -1 : dice.pick(0, 63);
      step.priority = dice.pick(-3, 3);
      step.constant = static_cast<Number>(dice.pick(1, 1 << 20));
      steps_.push_back(step);
    }
    devices_ = dice.pick(0, 3);
    cpus_ = dice.pick(1, 2);
    most_live_ = dice.chance(25) ? 4 : 0;
    keep_ = dice.chance(40) ? dice.pick(0, 30) : -1;
  }

  /// The values at the syncs and of `value`, in order.
  [[nodiscard]] std::vector<Number> run_alone() const {
    std::vector<Number> seen;
    Memory memory(*this);
    for (auto const& step : steps_) {
      auto const a = memory.tile(step.a);
      auto const b = memory.tile(step.b);
      auto& c = memory.scalars[static_cast<std::size_t>(step.c)];
      auto& d = memory.scalars[static_cast<std::size_t>(step.d)];
      switch (step.kind) {
      case Kind::sync:
        seen.push_back(memory.sum());
        memory.edit(step.constant);
        break;
      case Kind::value:
        seen.push_back(c);
        break;
      case Kind::update:
        Update::cpu(a, b, step.constant);
        break;
      case Kind::set:
        if (step.a != step.b) {
          Set::cpu(a, b, step.constant);
        }
        break;
      case Kind::join:
        Join::cpu(a, b, c, step.constant);
        break;
      case Kind::commuting:
        Commuting::cpu(a, step.constant);
        break;
      case Kind::contribute:
        if (step.c != step.d) {
          Contribute::cpu(c, d, step.constant);
        }
        break;
      case Kind::contribute_tile:
        ContributeTile::cpu(a, step.constant);
        break;
      case Kind::toggle:
        ContributeToggle::cpu(a, step.constant);
        break;
      case Kind::cut: {
        Dice dice(step.constant);
        cut_alone(a, dice, 0);
        break;
      }
      case Kind::mix: {
        auto const [x, y] = draw_lists(step);
        std::vector<ConstTile> read;
        std::vector<Tile> written;
        for (auto const t : x) {
          read.push_back(memory.tile(t));
        }
        for (auto const t : y) {
          written.push_back(memory.tile(t));
        }
        Mix::compute(read, c, written, step.constant);
        break;
      }
      }
    }
    seen.push_back(memory.sum());
    return seen;
  }

  /// Runs on one rank. Returns what was wrong there, or "".
  template <class Transport>
  [[nodiscard]] std::string run(Transport& transport, std::vector<Number> const& expected) const {
    hs::Config config;
    config.cpus = cpus_;
    config.max_live_tasks = most_live_;
    if (devices_ > 1 && transport.rank() % 2 == 1) {
      config.devices = devices_ == 2 ? "emu:1@8KB" : "emu:2@64KB";
    } else {
      config.devices = "none";
    }
    std::string wrong;
    try {
      Memory memory(*this);
      RuntimeOn<Transport> rt(transport, config);
      if (keep_ >= 0) {
        rt.keep_copies(static_cast<std::uint64_t>(keep_));
      }
      run(rt, memory, expected, wrong);
    } catch (std::exception const& error) {
      wrong = error.what();
    }
    return wrong;
  }

private:
  enum class Kind : std::uint8_t {
    sync,
    value,
    update,
    set,
    join,
    commuting,
    contribute,
    contribute_tile,
    toggle,
    mix, // lists
    cut  // into parts that are used on their own, and joined
  };

  struct Step {
    Kind kind;
    int a, b, c, d;
    int rank, priority;
    Number constant;
  };

  struct Shape {
    std::size_t rows, cols, ld;
    int home;
  };

  /// What one process has of the data.
  struct Memory {
    Program const& program;
    std::vector<std::vector<Number>> tiles;
    std::vector<Number> scalars;

    explicit Memory(Program const& its) : program(its), scalars(its.scalar_homes_.size(), 3) {
      for (auto const& shape : program.tiles_) {
        tiles.emplace_back(shape.ld * shape.cols, tiles.size() + 1);
      }
    }

    [[nodiscard]] Tile tile(int t) {
      auto const at = static_cast<std::size_t>(t);
      auto const& shape = program.tiles_[at];
      return {tiles[at].data(), shape.rows, shape.cols, shape.ld};
    }

    /// Adds up, so that ranks can each give their part.
    [[nodiscard]] Number sum(int rank = -1, int ranks = 1) {
      Number all = 0;
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        if (rank < 0 || program.tiles_[t].home % ranks == rank) {
          all += mixed(sum_of(tile(static_cast<int>(t))), t);
        }
      }
      for (std::size_t s = 0; s < scalars.size(); ++s) {
        if (rank < 0 || program.scalar_homes_[s] % ranks == rank) {
          all += mixed(scalars[s], s + 1000);
        }
      }
      return all;
    }

    /// What the program does between two phases.
    void edit(Number constant, int rank = -1, int ranks = 1) {
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        if (rank < 0 || program.tiles_[t].home % ranks == rank) {
          tile(static_cast<int>(t))(0, 0) += constant;
        }
      }
    }
  };

  struct Add : hs::Task<2>::Signature<hs::R<Number>, hs::RW<Number>> {
    static void cpu(Number x, Number& y) { y += x; }
  };

  template <class Runtime>
  void
  run(Runtime& rt, Memory& memory, std::vector<Number> const& expected, std::string& wrong) const {
    int const ranks = rt.ranks();
    std::vector<hs::DistributedHandle<Tile>> tiles;
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      auto const& shape = tiles_[t];
      auto* const first = shape.home % ranks == rt.rank() ? memory.tiles[t].data() : nullptr;
      tiles.push_back(rt.data(shape.home % ranks, first, shape.rows, shape.cols, shape.ld));
    }
    std::vector<hs::DistributedHandle<Number>> scalars;
    for (std::size_t s = 0; s < memory.scalars.size(); ++s) {
      scalars.push_back(rt.data(scalar_homes_[s] % ranks, memory.scalars[s]));
    }
    std::vector<Number> parts(static_cast<std::size_t>(ranks));
    Number total = 0;
    auto const h_total = rt.data(0, total);
    std::vector<hs::DistributedHandle<Number>> h_parts;
    for (int r = 0; r < ranks; ++r) {
      h_parts.push_back(rt.data(r, parts[static_cast<std::size_t>(r)]));
    }
    std::size_t seen = 0;
    auto const check = [&](Number value) {
      if (seen >= expected.size() || expected[seen] != value) {
        wrong += "value " + std::to_string(seen) + " differs; ";
      }
      ++seen;
    };
    auto const check_all = [&] { // each rank's part, added up on rank 0
      rt.sync();
      parts[static_cast<std::size_t>(rt.rank())] = memory.sum(rt.rank(), ranks);
      total = 0;
      for (auto const& part : h_parts) {
        rt.template spawn<Add>()(part, h_total);
      }
      check(rt.value(h_total));
      rt.sync();
    };
    for (auto const& step : steps_) {
      auto const on = hs::on_rank(step.rank < 0 ? -1 : step.rank % ranks);
      auto const urgency = hs::priority(step.priority);
      auto const& a = tiles[static_cast<std::size_t>(step.a)];
      auto const& b = tiles[static_cast<std::size_t>(step.b)];
      auto const& c = scalars[static_cast<std::size_t>(step.c)];
      auto const& d = scalars[static_cast<std::size_t>(step.d)];
      switch (step.kind) {
      case Kind::sync:
        check_all();
        memory.edit(step.constant, rt.rank(), ranks);
        break;
      case Kind::value:
        check(rt.value(c));
        break;
      case Kind::update:
        rt.template spawn<Update>(on, urgency)(a, b, step.constant);
        break;
      case Kind::set:
        if (step.a != step.b) {
          rt.template spawn<Set>(on, urgency)(a, b, step.constant);
        }
        break;
      case Kind::join:
        rt.template spawn<Join>(urgency, on)(a, b, c, step.constant);
        break;
      case Kind::commuting:
        rt.template spawn<Commuting>(on)(a, step.constant);
        break;
      case Kind::contribute:
        if (step.c != step.d) {
          rt.template spawn<Contribute>(on, urgency)(c, d, step.constant);
        }
        break;
      case Kind::contribute_tile:
        rt.template spawn<ContributeTile>(on)(a, step.constant);
        break;
      case Kind::toggle:
        rt.template spawn<ContributeToggle>(on)(a, step.constant);
        break;
      case Kind::cut: {
        Dice dice(step.constant);
        cut(rt, a, dice, 0);
        break;
      }
      case Kind::mix: {
        auto const [x, y] = draw_lists(step);
        std::vector<hs::DistributedHandle<Tile>> read;
        std::vector<hs::DistributedHandle<Tile>> written;
        for (auto const t : x) {
          read.push_back(tiles[static_cast<std::size_t>(t)]);
        }
        for (auto const t : y) {
          written.push_back(tiles[static_cast<std::size_t>(t)]);
        }
        if (step.constant % 2 == 0) {
          rt.template spawn<Mix>(on, urgency)(read, c, written, step.constant);
        } else {
          rt.spawn(on, urgency)([](hs::Each<ConstTile> const& from,
                                   Number& z,
                                   hs::Each<Tile> const& to,
                                   Number constant) { Mix::compute(from, z, to, constant); },
                                hs::read(read),
                                hs::read_write(c),
                                hs::read_write(written),
                                step.constant);
        }
        break;
      }
      }
    }
    check_all();
    if (seen != expected.size()) {
      wrong += "so many values: " + std::to_string(seen);
    }
  }

  // ---- lists: which tiles are read, and which are written ----

  [[nodiscard]] std::pair<std::vector<int>, std::vector<int>> draw_lists(Step const& step) const {
    Dice dice(step.constant);
    std::pair<std::vector<int>, std::vector<int>> lists;
    int const tiles = static_cast<int>(tiles_.size());
    for (int t = 0; t < tiles; ++t) { // none is read and written: the order would count
      (dice.chance(50) ? lists.first : lists.second).push_back(t);
    }
    lists.first.resize(std::min(lists.first.size(), static_cast<std::size_t>(dice.below(4))));
    lists.second.resize(std::min(lists.second.size(), static_cast<std::size_t>(dice.below(3))));
    if (!lists.first.empty() && dice.chance(30)) {
      lists.first.push_back(lists.first.front());
    }
    return lists;
  }

  // ---- partitions: the same draws alone and on ranks ----

  struct PartStep {
    Kind kind; // cut: once more
    std::size_t p, q;
    int rank;
    Number constant;
  };

  [[nodiscard]] static hs::Blocks draw_blocks(Dice& dice) {
    return {static_cast<std::size_t>(dice.pick(1, 4)), static_cast<std::size_t>(dice.pick(1, 4))};
  }

  [[nodiscard]] static PartStep draw_part_step(Dice& dice, std::size_t parts, int depth) {
    auto const kind = dice.of({Kind::update,
                               Kind::update,
                               Kind::set,
                               Kind::commuting,
                               Kind::contribute_tile,
                               Kind::toggle,
                               depth == 0 ? Kind::cut : Kind::update});
    auto const part = [&] { return static_cast<std::size_t>(dice.below(static_cast<int>(parts))); };
    auto const p = part();
    auto const q = part();
    int const rank = dice.chance(50) ? -1 : dice.pick(0, 63);
    return {kind, p, q, rank, static_cast<Number>(dice.pick(1, 1 << 20))};
  }

  static void cut_alone(Tile whole, Dice& dice, int depth) {
    auto const blocks = draw_blocks(dice);
    std::vector<Tile> parts;
    for (std::size_t j = 0; j < whole.cols(); j += blocks.cols) {
      for (std::size_t i = 0; i < whole.rows(); i += blocks.rows) {
        parts.emplace_back(&whole(i, j),
                           std::min(blocks.rows, whole.rows() - i),
                           std::min(blocks.cols, whole.cols() - j),
                           whole.ld());
      }
    }
    for (int left = dice.pick(0, 8); left != 0; --left) {
      auto const step = draw_part_step(dice, parts.size(), depth);
      auto const p = parts[step.p];
      switch (step.kind) {
      case Kind::cut:
        cut_alone(p, dice, depth + 1);
        break;
      case Kind::set:
        if (step.p != step.q) {
          Set::cpu(p, parts[step.q], step.constant);
        }
        break;
      case Kind::commuting:
        Commuting::cpu(p, step.constant);
        break;
      case Kind::contribute_tile:
        ContributeTile::cpu(p, step.constant);
        break;
      case Kind::toggle:
        ContributeToggle::cpu(p, step.constant);
        break;
      default:
        Update::cpu(parts[step.q], p, step.constant);
      }
    }
    (void)dice.chance(50);
  }

  template <class Runtime>
  static void cut(Runtime& rt, hs::DistributedHandle<Tile> const& whole, Dice& dice, int depth) {
    auto parts = rt.partition(whole, draw_blocks(dice));
    for (int left = dice.pick(0, 8); left != 0; --left) {
      auto const step = draw_part_step(dice, parts.size(), depth);
      auto const on = hs::on_rank(step.rank < 0 ? -1 : step.rank % rt.ranks());
      auto const& p = parts[step.p];
      switch (step.kind) {
      case Kind::cut:
        cut(rt, p, dice, depth + 1);
        break;
      case Kind::set:
        if (step.p != step.q) {
          rt.template spawn<Set>(on)(p, parts[step.q], step.constant);
        }
        break;
      case Kind::commuting:
        rt.template spawn<Commuting>(on)(p, step.constant);
        break;
      case Kind::contribute_tile:
        rt.template spawn<ContributeTile>(on)(p, step.constant);
        break;
      case Kind::toggle:
        rt.template spawn<ContributeToggle>(on)(p, step.constant);
        break;
      default:
        rt.template spawn<Update>(on)(parts[step.q], p, step.constant);
      }
    }
    if (dice.chance(50)) {
      rt.join(parts);
    }
  }

  std::vector<Shape> tiles_;
  std::vector<int> scalar_homes_;
  std::vector<Step> steps_;
  int devices_ = 0;
  int cpus_ = 1;
  int keep_ = -1; // copies, for so many calls; -1: for ever
  std::uint64_t most_live_ = 0;
};

} // namespace distributed_program
