// SPDX-License-Identifier: MIT
// The collections of figures 8, 11 and 12, really run: the contractions of CCSD(T) and products of
// two sizes, scaled down, on a few ranks. Every result is checked. Under mpirun the ranks are
// processes; with --ranks they are threads of this process. What a GPU is here, if there is one, is
// emulated unless a real one is named. Queues are ordered by what the paper's nodes would take for
// the tasks of full size.

#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "../../../examples/common/ranks.hpp"
#include "ccsd_t.hpp"
#include "node_times.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace {

using arafat2016::Contraction;

/// C += A B of blocks that lie densely in arrays of one column; `number` of the contraction.
struct Contract : hs::Task<7>::Signature<hs::R<hs::Patch<double>>,
                                         hs::R<hs::Patch<double>>,
                                         hs::Acc<hs::Patch<double>>,
                                         std::uint32_t,
                                         std::size_t,
                                         std::size_t,
                                         std::size_t> {};

/// Its elements as a matrix.
template <class T>
hs::TileView<T> as_matrix(T* elements, std::size_t rows, std::size_t columns) {
  return {elements, rows, columns, rows};
}

} // namespace

template <>
struct hs::TaskBodyCPU<Contract> {
  void operator()(hs::TileView<double const> a,
                  hs::TileView<double const> b,
                  hs::TileView<double> c,
                  std::uint32_t /*number*/,
                  std::size_t m,
                  std::size_t n,
                  std::size_t k) const {
    hs::linalg::kernels::gemm(
        1.0, as_matrix(a.data(), m, k), as_matrix(b.data(), k, n), 0.0, as_matrix(c.data(), m, n));
  }
};

template <>
struct hs::TaskBodyGPU<Contract> {
  void operator()(hs::GpuStream& stream,
                  hs::TileView<double const> a,
                  hs::TileView<double const> b,
                  hs::TileView<double> c,
                  std::uint32_t /*number*/,
                  std::size_t m,
                  std::size_t n,
                  std::size_t k) const {
    hs::gpu::gemm(stream,
                  'N',
                  'N',
                  1.0,
                  as_matrix(a.data(), m, k),
                  as_matrix(b.data(), k, n),
                  0.0,
                  as_matrix(c.data(), m, n));
  }
};

namespace {

struct Options {
  std::string platform = "benchmarks/platforms/scioto_node.json";
  std::string devices = "emu:1";
  std::vector<std::size_t> occupied{6, 3};
  std::vector<std::size_t> unoccupied{8, 4};
  int cpus = 1;
};

/// A collection, small enough to be run here.
struct Work {
  std::string name;
  std::vector<std::size_t> begins; // of the blocks, in elements; one more than there are
  std::vector<Contraction> tasks;
  std::vector<hs::EstimatedTimes> expected;
  std::vector<double> sums; // that all tasks add up to
  double skew = 0;          // of the tasks begin on the last rank
};

double element(std::size_t i) {
  return std::sin(0.5 + static_cast<double>(i % 1009));
}

/// Says where the blocks lie, and computes the sums one task after the other.
void lay_out(Work& work, std::vector<arafat2016::Block> const& blocks) {
  work.begins.push_back(0);
  for (auto const& block : blocks) {
    work.begins.push_back(work.begins.back() + block.bytes / sizeof(double));
  }
  std::vector<double> from(work.begins.back());
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = element(i);
  }
  work.sums.resize(from.size());
  for (auto const& task : work.tasks) {
    hs::linalg::kernels::gemm(
        1.0,
        as_matrix<double const>(&from[work.begins[task.left]], task.m, task.k),
        as_matrix<double const>(&from[work.begins[task.right]], task.k, task.n),
        1.0,
        as_matrix(&work.sums[work.begins[task.output]], task.m, task.n));
  }
}

Work ccsd_t_of(Options const& options, hs::Platform const& node) {
  using arafat2016::PointSymmetry;
  auto const small = arafat2016::ccsd_t(
      PointSymmetry::none,
      {{options.occupied[0], options.occupied[1]}, {options.unoccupied[0], options.unoccupied[1]}});
  auto const full = arafat2016::ccsd_t(PointSymmetry::none);
  arafat2016::ContractionTimes const times(node);
  Work work;
  work.name = "CCSD(T)";
  work.tasks = small.contractions;
  lay_out(work, small.blocks);
  for (auto const& contraction : full.contractions) {
    work.expected.push_back(times.estimate(node, full, contraction));
  }
  return work;
}

/// 16 small ones, for cores, for each large one.
Work products_of(hs::Platform const& node, double skew) {
  Work work;
  work.name = "products, skew " + std::to_string(skew).substr(0, 4);
  work.skew = skew;
  std::vector<arafat2016::Block> blocks;
  for (std::uint32_t t = 0; t < 170; ++t) {
    std::size_t const n = t % 17 == 0 ? 40 : 8;
    auto const first = 3 * t;
    blocks.insert(blocks.end(), 3, {n * n * sizeof(double)});
    work.tasks.push_back({.task = t,
                          .output = first + 2,
                          .left = first,
                          .right = first + 1,
                          .m = n,
                          .n = n,
                          .k = n});
    work.expected.push_back(arafat2016::product_estimate(node, t % 17 == 0 ? 1000 : 100));
  }
  lay_out(work, blocks);
  return work;
}

/// What one rank runs.
class Rank {
public:
  Rank(hs::GlobalArrays& arrays, Options const& options) : arrays_(arrays), options_(options) {}

  template <class Steal, class Distribution>
  void run(Work const& work, char const* rule, char const* distribution) {
    constexpr std::size_t tile = 256; // elements
    auto const elements = work.begins.back();
    auto const where = [this](std::size_t i, std::size_t) {
      return static_cast<int>(i % static_cast<std::size_t>(arrays_.ranks()));
    };
    auto const from = arrays_.make<double>(elements, 1, tile, where);
    auto const sums = arrays_.make<double>(elements, 1, tile, where);
    from.fill([](std::size_t i, std::size_t) { return element(i); });
    sums.fill([](std::size_t, std::size_t) { return 0.0; });
    hs::Runtime<> rt({.cpus = options_.cpus, .bind = hs::Bind::none, .devices = options_.devices});
    hs::TaskCollection<hs::TaskTypes<Contract>, hs::Runtime<>, Steal, Distribution> tasks(
        arrays_, rt, {.keep_kind = true});
    tasks.template estimate<Contract>(
        [&work](auto const&, auto const&, auto const&, std::uint32_t number, auto, auto, auto) {
          return work.expected[number];
        });
    auto const patch = [&work](auto const& array, std::uint32_t block) {
      return array.patch(work.begins[block], 0, work.begins[block + 1] - work.begins[block], 1);
    };
    bool const by_program = std::is_same_v<Distribution, hs::AsAdded>; // placed
    for (std::uint32_t t = 0; t < work.tasks.size(); ++t) {
      auto const& task = work.tasks[t];
      if (arrays_.rank() == (by_program ? first_rank(t, work.skew) : 0)) {
        tasks.template add<Contract>()(patch(from, task.left),
                                       patch(from, task.right),
                                       patch(sums, task.output),
                                       t,
                                       task.m,
                                       task.n,
                                       task.k);
      }
    }
    arrays_.sync();
    auto const begin = std::chrono::steady_clock::now();
    tasks.process();
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
    std::vector<double> found(elements);
    sums.get(0, 0, hs::TileView<double>(found.data(), elements, 1, elements));
    auto const counts = gathered(tasks.stats());
    auto const error = error_of(found, work.sums);
    arrays_.sync();
    if (arrays_.rank() == 0) {
      std::printf("%-20s %-13s %-10s %8.3f %6zu %7zu %7zu  %.2g\n",
                  work.name.c_str(),
                  rule,
                  distribution,
                  time.count(),
                  counts[0],
                  counts[1],
                  counts[2],
                  error);
    }
    if (counts[0] != work.tasks.size()) {
      throw hs::Error(hs::ErrorCode::numerical, rule, "has not run each task once");
    }
    if (!(error <= 1e-10)) {
      throw hs::Error(hs::ErrorCode::numerical, rule, "has another result than one thread");
    }
  }

private:
  [[nodiscard]] int first_rank(std::size_t task, double skew) const {
    auto const turn = static_cast<double>(task * 7919 % 1000) / 1000;
    return turn < skew ? arrays_.ranks() - 1
                       : static_cast<int>(task % static_cast<std::size_t>(arrays_.ranks()));
  }

  /// Of all ranks: tasks, steals, stolen tasks.
  [[nodiscard]] std::array<std::size_t, 3> gathered(hs::CollectionStats const& own) {
    auto const all =
        arrays_.make<std::int64_t>(3, 1, 3, [](std::size_t, std::size_t) { return 0; });
    all.fill([](std::size_t, std::size_t) { return std::int64_t{0}; });
    std::array<std::int64_t, 3> counts{static_cast<std::int64_t>(own.completed),
                                       static_cast<std::int64_t>(own.steals),
                                       static_cast<std::int64_t>(own.stolen)};
    arrays_.sync();
    all.accumulate(0, 0, hs::TileView<std::int64_t const>(counts.data(), 3, 1, 3));
    arrays_.sync();
    all.get(0, 0, hs::TileView<std::int64_t>(counts.data(), 3, 1, 3));
    arrays_.sync();
    std::array<std::size_t, 3> sums{};
    std::transform(counts.begin(), counts.end(), sums.begin(), [](std::int64_t count) {
      return static_cast<std::size_t>(count);
    });
    return sums;
  }

  /// The largest error, relative to the largest sum.
  [[nodiscard]] static double error_of(std::vector<double> const& found,
                                       std::vector<double> const& expected) {
    double error = 0;
    double largest = 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      error = std::max(error, std::abs(found[i] - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
    return error / largest;
  }

  hs::GlobalArrays& arrays_;
  Options const& options_;
};

void run_all(hs::GlobalArrays& arrays, Options const& options, char const* where) {
  auto const node = hs::read_platform(options.platform).in_groups(arafat2016::team_cores);
  if (arrays.rank() == 0) {
    std::printf("%d ranks %s, devices of each: %s\n%-20s %-13s %-10s %8s %6s %7s %7s  %s\n",
                arrays.ranks(),
                where,
                options.devices.c_str(),
                "",
                "steal",
                "placed",
                "s",
                "tasks",
                "steals",
                "stolen",
                "error");
  }
  Rank rank(arrays, options);
  for (auto const skew : {1.0, 0.0}) {
    auto const work = products_of(node, skew);
    rank.run<hs::DoubleQueue, hs::AsAdded>(work, "DoubleQueue", "-");
    rank.run<hs::EitherEnd<>, hs::AsAdded>(work, "EitherEnd", "-");
    rank.run<hs::GpuEnded<2>, hs::AsAdded>(work, "GpuEnded<2>", "-");
    rank.run<hs::DoubleEnded<8>, hs::AsAdded>(work, "DoubleEnded<8>", "-");
  }
  auto const work = ccsd_t_of(options, node);
  rank.run<hs::GpuEnded<2>, hs::InBlocks>(work, "GpuEnded<2>", "block");
  rank.run<hs::GpuEnded<2>, hs::NearOutputs>(work, "GpuEnded<2>", "affinity");
  rank.run<hs::GpuEnded<2>, hs::LongestFirst>(work, "GpuEnded<2>", "heuristic");
  rank.run<hs::DoubleEnded<8>, hs::LongestFirst>(work, "DoubleEnded<8>", "heuristic");
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Really runs the collections of Arafat et al. 2016, scaled down, and checks them.");
  app.add_option("--platform", options.platform, "whose times order queues");
  app.add_option("--devices", options.devices, "of each rank (emu:1)");
  app.add_option("--occupied", options.occupied, "orbitals in the two tiles (6 3)")
      ->expected(2)
      ->check(CLI::Range(1, 16));
  app.add_option("--virtual", options.unoccupied, "orbitals in the two tiles (8 4)")
      ->expected(2)
      ->check(CLI::Range(1, 40));
  return example::run_ranks(
      argc, argv, app, "arafat2016_ranks", options.cpus, [&](auto& messages, char const* where) {
        hs::RmaOverMessages transport(messages);
        hs::GlobalArrays arrays(transport);
        run_all(arrays, options, where);
      });
}
