// SPDX-License-Identifier: MIT
#pragma once
// Random collections of tasks, with what the arrays must hold afterwards. Whole numbers, so sums
// are exact in any order.

#include <hetsched/collections/task_collection.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/dice.hpp"
#include "../support/launch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace random_collection {

namespace hs = hetsched;

using Sums = hs::Patch<double>;
using Counts = hs::Patch<std::int64_t>;
using Marks = hs::Patch<float>;

/// A number that depends on nothing else.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t k) {
  auto z = seed * 0x9e3779b97f4a7c15U + k * 0xbf58476d1ce4e5b9U + 1;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// What all ranks know of one collection.
struct Plan {
  std::uint64_t seed;
  std::uint32_t ranks;
  std::uint32_t nodes; // of a tree: node n has the children branches * n + 1 ...
  std::uint32_t branches;
  std::uint32_t rows; // of the sums
  std::uint32_t cols;

  /// A rectangle within the sums, for task `id` and its k-th patch.
  struct Rectangle {
    std::size_t row;
    std::size_t col;
    std::size_t height;
    std::size_t width;
  };

  [[nodiscard]] Rectangle rectangle(std::uint64_t id, std::uint64_t k) const {
    auto const one = [&](std::uint64_t from, std::size_t size, std::size_t& first) {
      first = mixed(seed + from, 4 * id + k) % size;
      return 1 + mixed(seed + from + 1, 4 * id + k) % std::min<std::size_t>(size - first, 9);
    };
    Rectangle r{};
    r.height = one(10, rows, r.row);
    r.width = one(20, cols, r.col);
    return r;
  }

  /// Whether node `id` has its k-th possible child.
  [[nodiscard]] bool has_child(std::uint64_t id, std::uint64_t k) const {
    return branches * id + k + 1 < nodes && mixed(seed + 30, branches * id + k) % 8 != 0;
  }

  [[nodiscard]] double factor(std::uint64_t id) const {
    return static_cast<double>(mixed(seed + 40, id) % 7) - 3;
  }

  [[nodiscard]] double element(std::size_t i, std::size_t j) const {
    return static_cast<double>(mixed(seed + 50, i * cols + j) % 10);
  }

  [[nodiscard]] int rank_of(std::uint64_t id) const {
    return static_cast<int>(mixed(seed + 60, id) % ranks);
  }
};

[[nodiscard]] inline Sums patch_in(Sums const& all, Plan::Rectangle const& r) {
  return all.part(r.row, r.col, r.height, r.width);
}

/// c += factor * (a, repeated, + the first element of b).
struct Leaf
    : hs::Task<5>::Signature<hs::R<Sums>, hs::R<Sums>, hs::Acc<Sums>, hs::Acc<Counts>, double> {
  static void compute(hs::TileView<double const> a,
                      hs::TileView<double const> b,
                      hs::TileView<double> c,
                      hs::TileView<std::int64_t> count,
                      double factor) {
    for (std::size_t j = 0; j < c.cols(); ++j) {
      for (std::size_t i = 0; i < c.rows(); ++i) {
        c(i, j) = factor * (a(i % a.rows(), j % a.cols()) + b(0, 0));
      }
    }
    count(0, 0) = 1;
  }

  static void cpu(hs::TileView<double const> a,
                  hs::TileView<double const> b,
                  hs::TileView<double> c,
                  hs::TileView<std::int64_t> count,
                  double factor) {
    compute(a, b, c, count, factor);
  }

  static void gpu(hs::GpuStream& stream,
                  hs::TileView<double const> a,
                  hs::TileView<double const> b,
                  hs::TileView<double> c,
                  hs::TileView<std::int64_t> count,
                  double factor) {
    support::launch(stream, [=] { compute(a, b, c, count, factor); });
  }
};

/// Overwrites its own element.
struct Mark : hs::Task<2>::Signature<hs::W<Marks>, std::uint32_t> {
  static void cpu(hs::TileView<float> mark, std::uint32_t id) {
    mark(0, 0) = static_cast<float>(id + 1);
  }
};

/// A node of the tree: adds its children, and for each node a Leaf and a Mark.
struct Node : hs::Task<7>::Signature<hs::TaskAdder,
                                     Plan,
                                     std::uint64_t,
                                     hs::V<Sums>,
                                     hs::V<Sums>,
                                     hs::V<Counts>,
                                     hs::V<Marks>> {
  static void cpu(hs::TaskAdder const& tasks,
                  Plan const& plan,
                  std::uint64_t id,
                  Sums const& in,
                  Sums const& out,
                  Counts const& counts,
                  Marks const& marks);
};

/// `add<T>(place)` for the k-th task of node `id`, and f(that).
template <class T, class Tasks, class F>
void add_somewhere(Tasks& tasks, Plan const& plan, std::uint64_t id, F const& f) {
  auto const key = 8 * id + sizeof(T) % 7;
  if (mixed(plan.seed + 70, key) % 3 == 0) {
    f(tasks.template add<T>(hs::near(plan.rank_of(key))));
  } else {
    f(tasks.template add<T>());
  }
}

/// The Leaf and the Mark of node `id`.
template <class Tasks>
void add_leaves(Tasks& tasks,
                Plan const& plan,
                std::uint64_t id,
                Sums const& in,
                Sums const& out,
                Counts const& counts,
                Marks const& marks) {
  auto const add = [&](auto&& adds) {
    adds(patch_in(in, plan.rectangle(id, 0)),
         patch_in(in, plan.rectangle(id, 1)),
         patch_in(out, plan.rectangle(id, 2)),
         counts.part(0, id, 1, 1),
         plan.factor(id));
  };
  if (id % 4 == 0) {
    add(tasks.template add<Leaf>(hs::near_output));
  } else {
    add_somewhere<Leaf>(tasks, plan, id, add);
  }
  add_somewhere<Mark>(tasks, plan, id, [&](auto&& adds) {
    adds(marks.part(0, id, 1, 1), static_cast<std::uint32_t>(id));
  });
}

inline void Node::cpu(hs::TaskAdder const& tasks,
                      Plan const& plan,
                      std::uint64_t id,
                      Sums const& in,
                      Sums const& out,
                      Counts const& counts,
                      Marks const& marks) {
  for (std::uint64_t k = 0; k < plan.branches; ++k) {
    if (plan.has_child(id, k)) {
      auto const child = plan.branches * id + k + 1;
      add_somewhere<Node>(
          tasks, plan, child, [&](auto&& adds) { adds(plan, child, in, out, counts, marks); });
    }
  }
  add_leaves(tasks, plan, id, in, out, counts, marks);
}

using Types = hs::TaskTypes<Leaf, Mark, Node>;

/// The arrays of one collection.
struct Arrays {
  hs::GlobalArray<double> in;
  hs::GlobalArray<double> out;
  hs::GlobalArray<std::int64_t> counts;
  hs::GlobalArray<float> marks;

  static Arrays make(hs::GlobalArrays& arrays, Plan const& plan) {
    auto const where = [plan](std::size_t i, std::size_t j) { return plan.rank_of(1000 * i + j); };
    auto const tile = [&plan](std::uint64_t k) { return 1 + mixed(plan.seed + 80, k) % 9; };
    return {arrays.make<double>(plan.rows, plan.cols, tile(0), where),
            arrays.make<double>(plan.rows, plan.cols, tile(1), where),
            arrays.make<std::int64_t>(1, plan.nodes, tile(2), where),
            arrays.make<float>(1, plan.nodes, tile(3), where)};
  }

  void destroy(hs::GlobalArrays& arrays) const {
    arrays.destroy(counts);
    arrays.destroy(in);
    arrays.destroy(marks);
    arrays.destroy(out);
  }
};

[[nodiscard]] inline Plan plan_of(std::uint64_t seed, int ranks) {
  support::Dice dice(seed);
  return {.seed = seed,
          .ranks = static_cast<std::uint32_t>(ranks),
          .nodes = static_cast<std::uint32_t>(1 + dice.below(200)),
          .branches = static_cast<std::uint32_t>(1 + dice.below(4)),
          .rows = static_cast<std::uint32_t>(1 + dice.below(30)),
          .cols = static_cast<std::uint32_t>(1 + dice.below(30))};
}

/// The whole array, on any rank.
template <class T>
[[nodiscard]] std::vector<T> all_of(hs::GlobalArray<T> const& array) {
  std::vector<T> all(array.rows() * array.cols());
  array.get(0, 0, hs::TileView<T>(all.data(), array.rows(), array.cols(), array.rows()));
  return all;
}

/// What the arrays must hold after the collection was processed `times` times.
struct Expected {
  std::vector<double> out;
  std::vector<std::int64_t> counts;
  std::vector<float> marks;
  std::uint64_t tasks = 0;

  Expected(Plan const& plan, int times)
      : out(std::size_t{plan.rows} * plan.cols), counts(plan.nodes), marks(plan.nodes) {
    std::vector<std::uint64_t> open{0};
    while (!open.empty()) {
      auto const id = open.back();
      open.pop_back();
      for (std::uint64_t k = 0; k < plan.branches; ++k) {
        if (plan.has_child(id, k)) {
          open.push_back(plan.branches * id + k + 1);
        }
      }
      auto const a = plan.rectangle(id, 0);
      auto const b = plan.rectangle(id, 1);
      auto const c = plan.rectangle(id, 2);
      for (std::size_t j = 0; j < c.width; ++j) {
        for (std::size_t i = 0; i < c.height; ++i) {
          out[c.row + i + (c.col + j) * plan.rows] +=
              times * plan.factor(id) *
              (plan.element(a.row + i % a.height, a.col + j % a.width) +
               plan.element(b.row, b.col));
        }
      }
      counts[id] = times;
      marks[id] = static_cast<float>(id + 1);
      tasks += 3 * static_cast<std::uint64_t>(times);
    }
  }
};

/// Runs one on this rank; what is wrong, or "". All ranks at the same time.
template <class Steal, class Distribution = hs::AsAdded, class Rt>
std::string
run_with(hs::GlobalArrays& arrays, Rt& rt, std::uint64_t seed, hs::CollectionOptions options) {
  auto const plan = plan_of(seed, arrays.ranks());
  constexpr int times = 2;
  auto all = Arrays::make(arrays, plan);
  all.in.fill([&plan](std::size_t i, std::size_t j) { return plan.element(i, j); });
  options.seed = seed;
  hs::TaskCollection<Types, Rt, Steal, Distribution> tasks(arrays, rt, options);
  if (seed % 2 == 0) {
    tasks.template estimate<Leaf>(
        [&plan](Sums const& a, Sums const&, Sums const&, Counts const&, double) {
          return hs::EstimatedTimes{
              {1000}, {1 + static_cast<std::int64_t>(mixed(plan.seed, a.rows()) % 2000)}};
        });
  }
  for (int time = 0; time < times; ++time) {
    if (plan.rank_of(1234) == arrays.rank()) {
      tasks.template add<Node>()(plan,
                                 std::uint64_t{0},
                                 all.in.patch(0, 0, plan.rows, plan.cols),
                                 all.out.patch(0, 0, plan.rows, plan.cols),
                                 all.counts.patch(0, 0, 1, plan.nodes),
                                 all.marks.patch(0, 0, 1, plan.nodes));
    }
    tasks.process();
  }
  Expected const expected(plan, times);
  std::string wrong;
  if (all_of(all.out) != expected.out) {
    wrong += " sums";
  }
  if (all_of(all.counts) != expected.counts) {
    wrong += " counts";
  }
  if (all_of(all.marks) != expected.marks) {
    wrong += " marks";
  }
  auto const stats = tasks.stats();
  auto const all_tasks =
      arrays.space().sum({.created = static_cast<std::int64_t>(stats.added),
                          .completed = static_cast<std::int64_t>(stats.completed)});
  if (static_cast<std::uint64_t>(all_tasks.completed) != expected.tasks ||
      static_cast<std::uint64_t>(all_tasks.created) != expected.tasks) {
    wrong += " number of tasks";
  }
  all.destroy(arrays);
  return wrong;
}

/// A policy of this test's own.
struct Chunks {
  static constexpr hs::StealRule rule{.trigger = hs::StealTrigger::either,
                                      .threshold = 2,
                                      .amount = hs::StealAmount::chunk,
                                      .chunk = 3,
                                      .victim = hs::StealVictim::round_robin,
                                      .retries = 0};
};

/// With the policy that the seed says.
template <class Rt>
std::string run(hs::GlobalArrays& arrays, Rt& rt, std::uint64_t seed) {
  hs::CollectionOptions options;
  if (seed % 3 == 0) {
    options.shared_tasks = 1 + seed % 5;
    options.inbox_tasks = 1 + seed % 4;
    options.cpu_tasks = 1 + static_cast<int>(seed % 2);
    options.kept_bytes = 1000 * (seed % 2);
    options.keep_kind = seed % 3 == 0;
    options.leave_to_faster = seed % 4 == 0;
  }
  switch (seed / 2 % 10) {
  case 0:
    return run_with<hs::SingleEnded>(arrays, rt, seed, options);
  case 1:
    return run_with<hs::DoubleQueue, hs::NearOutputs>(arrays, rt, seed, options);
  case 2:
    return run_with<hs::DoubleEnded<>, hs::InBlocks>(arrays, rt, seed, options);
  case 3:
    return run_with<hs::GpuEnded<1>>(arrays, rt, seed, options);
  case 4:
    return run_with<hs::CpuEnded<>, hs::LongestFirst>(arrays, rt, seed, options);
  case 5:
    return run_with<hs::EitherEnd<2>>(arrays, rt, seed, options);
  case 6:
    return run_with<hs::DataAware<>>(arrays, rt, seed, options);
  case 7:
    return run_with<hs::DataAware<hs::GpuEnded<1>>>(arrays, rt, seed, options);
  case 8:
    return run_with<hs::DataAware<hs::DoubleQueue>, hs::InBlocks>(arrays, rt, seed, options);
  default:
    return run_with<Chunks>(arrays, rt, seed, options);
  }
}

} // namespace random_collection
