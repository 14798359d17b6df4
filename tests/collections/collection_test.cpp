// SPDX-License-Identifier: MIT
// Task collections between ranks in one process.
//
// HETSCHED_TEST_GRAPHS: how many random collections are run (default 60), from seed
// HETSCHED_TEST_SEED (default 1).

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../cluster/on_ranks.hpp"
#include "../support/env_or.hpp"
#include "random_collection.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace collection_test {

using Rt = hs::Runtime<>;

/// `f(arrays, runtime)` on each rank.
template <class F>
std::vector<std::string>
on_arrays(hs::LoopbackRmaNetwork& net, hs::Config const& config, F const& f) {
  return on_ranks::each(net.ranks(), [&](int rank) {
    auto transport = net.transport(rank);
    Rt rt(config);
    hs::GlobalArrays arrays(transport);
    f(arrays, rt);
  });
}

/// All lines that are not empty.
std::string lines_of(std::vector<std::string> const& all) {
  std::string lines;
  for (auto const& line : all) {
    lines += line.empty() ? "" : line + "\n";
  }
  return lines;
}

/// Knows that the wider a patch is, the better is a GPU for it.
class Knows : public hs::policies::NoModel {
public:
  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& task,
                                                      hs::Arch arch) const {
    auto const bytes = static_cast<std::int64_t>(task.bytes());
    return hs::Prediction{.mean = {arch == hs::ArchHost ? 100 * bytes : 100}, .spread = {}};
  }
};

struct Sized : hs::Task<2>::Signature<hs::R<hs::Patch<double>>, hs::V<std::vector<int>*>> {
  static void cpu(hs::TileView<double const> x, std::vector<int>* order) {
    order->push_back(static_cast<int>(x.cols()));
  }

  static void gpu(hs::GpuStream& /*stream*/, hs::TileView<double const>, std::vector<int>*) {}
};

TEST_SUITE_BEGIN("collections");

TEST_CASE("collections: random ones run each task once, and sums are exact") {
  auto const first = support::env_or("HETSCHED_TEST_SEED", 1);
  auto const count = support::env_or("HETSCHED_TEST_GRAPHS", 60);
  for (auto seed = first; seed < first + count; ++seed) {
    INFO("reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" << seed);
    support::Dice dice(seed + 1000);
    int const ranks = seed % 16 == 0 ? 1 + dice.below(64) : 1 + dice.below(6);
    auto config = on_ranks::one_core();
    if (seed % 5 == 0) {
      config.cpus = 2;
    }
    if (seed % 7 == 0) {
      config.max_live_tasks = 1; // which what the collection spawns may pass
    }
    if (seed % 4 == 1 && ranks < 5) {
      config.devices = "emu@1MB";
    }
    std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
    auto const body = [&](hs::GlobalArrays& arrays, Rt& rt) {
      wrong[static_cast<std::size_t>(arrays.rank())] = random_collection::run(arrays, rt, seed);
    };
    std::vector<std::string> thrown;
    if (seed % 3 == 1) {
      hs::LoopbackNetwork net(ranks, {.seed = seed, .head_delay = 2, .payload_delay = 2});
      thrown = on_ranks::each(ranks, [&](int rank) {
        auto messages = net.transport(rank);
        hs::RmaOverMessages transport(messages);
        Rt rt(config);
        hs::GlobalArrays arrays(transport);
        body(arrays, rt);
      });
    } else {
      hs::LoopbackRmaNetwork net(ranks, {.seed = seed, .delay = dice.below(5)});
      thrown = on_arrays(net, config, body);
    }
    CHECK(lines_of(thrown) == "");
    CHECK(lines_of(wrong) == "");
  }
}

TEST_CASE("collections: one that is empty is processed") {
  hs::LoopbackRmaNetwork net(3);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<random_collection::Types> tasks(arrays, rt);
    tasks.process();
    tasks.process();
    CHECK(tasks.stats().completed == 0);
  });
  CHECK(lines_of(thrown) == "");
}

/// Throws for some numbers.
struct Fails : hs::Task<2>::Signature<hs::Acc<hs::Patch<double>>, int> {
  static void cpu(hs::TileView<double> x, int k) {
    x(0, 0) = 1;
    if (k == 7) {
      throw std::runtime_error("seven");
    }
  }
};

TEST_CASE("collections: a body that throws is told on all ranks, and the others run") {
  hs::LoopbackRmaNetwork net(3);
  std::vector<double> sums(3);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [&](hs::GlobalArrays& arrays, Rt& rt) {
    auto const x = arrays.make<double>(1, 1, 1, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Fails>> tasks(arrays, rt);
    if (arrays.rank() == 1) {
      for (int k = 0; k < 20; ++k) {
        tasks.add<Fails>()(x.tile(0, 0), k);
      }
    }
    std::string said;
    try {
      tasks.process();
    } catch (std::exception const& error) {
      said = error.what();
    }
    x.get(0, 0, {&sums[static_cast<std::size_t>(arrays.rank())], 1, 1, 1});
    arrays.sync();
    if (arrays.rank() == 1) {
      tasks.add<Fails>()(x.tile(0, 0), 1);
    }
    tasks.process(); // as if nothing had happened
    throw std::runtime_error(said);
  });
  CHECK(sums == std::vector<double>(3, 19));
  CHECK(std::count(thrown.begin(), thrown.end(), "seven") == 1);
  for (auto const& line : thrown) {
    CHECK_MESSAGE((line == "seven" ||
                   (line.starts_with("hetsched: rank ") &&
                    line.ends_with(": a task failed there (1 of the collection's on all ranks)"))),
                  line);
  }
}

TEST_CASE("collections: what is outside an array, of other arrays, or for no rank is refused") {
  hs::LoopbackRmaNetwork net(1);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    auto const x = arrays.make<double>(6, 4, 3, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Fails>> tasks(arrays, rt);
    CHECK_THROWS_WITH_AS((void)x.patch(5, 3, 2, 1),
                         "hetsched: patch: 2 x 1 elements from (5, 3) on are not within 6 x 4",
                         hs::Error);
    CHECK_THROWS_WITH_AS((void)x.patch(1, 1, 0, 1),
                         "hetsched: patch: 0 x 1 elements from (1, 1) on are none of 6 x 4",
                         hs::Error);
    CHECK_THROWS_WITH_AS((void)x.patch(0, 2, 2, 2).part(0, 1, 1, 2),
                         "hetsched: patch: 1 x 2 elements from (0, 1) on are not within 2 x 2",
                         hs::Error);
    CHECK_THROWS_WITH_AS(tasks.add<Fails>(hs::near(1))(x.tile(0, 0), 1),
                         "hetsched: add: there is no rank 1",
                         hs::Error);
    CHECK_THROWS_WITH_AS(tasks.add<Fails>(hs::near(-1))(x.tile(0, 0), 1),
                         "hetsched: add: there is no rank -1",
                         hs::Error);
    CHECK_THROWS_WITH_AS((void)arrays.make<float>(1, 1, 0, hs::BlockCyclic{}),
                         "hetsched: make: tile size is 0",
                         hs::Error);
    CHECK_THROWS_WITH_AS((void)arrays.make<float>(4, 4, 2, hs::BlockCyclic{2, 1}),
                         "hetsched: make: the distribution names rank 1 of 1",
                         hs::Error);
    hs::LoopbackRmaNetwork other_net(1);
    auto other_transport = other_net.transport(0);
    hs::GlobalArrays others(other_transport);
    [[maybe_unused]] auto const first = others.make<float>(2, 2, 1, hs::BlockCyclic{});
    auto const second = others.make<double>(2, 2, 1, hs::BlockCyclic{});
    CHECK_THROWS_WITH_AS(tasks.add<Fails>()(second.tile(0, 0), 1),
                         doctest::Contains("patch 0 is not of these global arrays"),
                         hs::Error);
    tasks.process();
    CHECK(tasks.stats().completed == 0);
  });
  CHECK(lines_of(thrown) == "");
}

TEST_CASE("collections: of a destroyed array nothing is left, of the others all") {
  hs::LoopbackRmaNetwork net(2);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    auto const x = arrays.make<double>(6, 4, 3, hs::BlockCyclic{2, 1});
    auto const y = arrays.make<double>(3, 3, 3, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Fails>> tasks(arrays, rt);
    auto const of_x = x.tile(1, 0);
    tasks.add<Fails>()(of_x, 1);
    tasks.add<Fails>()(y.tile(0, 0), 1);
    tasks.process();
    arrays.destroy(x);
    CHECK(x.rows() == 0);
    CHECK_THROWS_WITH_AS(tasks.add<Fails>()(of_x, 1),
                         doctest::Contains("patch 0 is not of these global arrays"),
                         hs::Error);
    CHECK_THROWS_WITH_AS((void)x.tile(0, 0), doctest::Contains("0 x 0"), hs::Error);
    CHECK_THROWS_WITH_AS(
        arrays.destroy(x), "hetsched: destroy: the array is destroyed already", hs::Error);
    auto const z = arrays.make<double>(1, 1, 1, hs::BlockCyclic{});
    tasks.add<Fails>()(z.tile(0, 0), 1);
    tasks.process();
    double sums[2] = {};
    y.get(0, 0, {&sums[0], 1, 1, 1});
    z.get(0, 0, {&sums[1], 1, 1, 1});
    CHECK(sums[0] == 2); // one of each rank
    CHECK(sums[1] == 2);
  });
  CHECK(lines_of(thrown) == "");
}

TEST_CASE("collections: a task that was left over from before its array was destroyed fails") {
  hs::LoopbackRmaNetwork net(1);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    auto const x = arrays.make<double>(6, 4, 3, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Fails>> tasks(arrays, rt);
    tasks.add<Fails>()(x.tile(1, 0), 1);
    arrays.destroy(x);
    tasks.process();
  });
  CHECK(lines_of(thrown) == "hetsched: patch: it is not of these global arrays\n");
}

struct OnlyGpu : hs::Task<1>::Signature<int> {
  static void gpu(hs::GpuStream& /*stream*/, int /*k*/) {}
};

TEST_CASE("collections: all ranks refuse one that some rank cannot run") {
  hs::LoopbackRmaNetwork net(2);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<hs::TaskTypes<OnlyGpu>> const tasks(arrays, rt);
  });
  for (auto const& line : thrown) {
    CHECK_MESSAGE(line.find("can run it, and tasks of a collection may go to any rank") !=
                      std::string::npos,
                  line);
  }
  auto const bad = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    hs::CollectionOptions options;
    options.shared_tasks = arrays.rank() == 0 ? 0 : 10;
    hs::TaskCollection<hs::TaskTypes<Fails>> const tasks(arrays, rt, options);
  });
  CHECK(bad[0] == "hetsched: TaskCollection: shared_tasks is 0 and inbox_tasks 1024: must be 1 to "
                  "65535, and at least 1");
  CHECK(bad[1] == "hetsched: rank 0: refuses the collection");
}

/// Calls what a body may not, and says what it was told.
struct Asks : hs::Task<1>::Signature<hs::V<hs::GlobalArrays*>> {
  static void cpu(hs::GlobalArrays* arrays) { arrays->sync(); }
};

TEST_CASE("collections: bodies may not use the arrays themselves") {
  hs::LoopbackRmaNetwork net(1);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<hs::TaskTypes<Asks>> tasks(arrays, rt);
    tasks.add<Asks>()(&arrays);
    tasks.process();
  });
  CHECK(thrown[0].find("not allowed while a collection is processed") != std::string::npos);
}

/// Takes a while on a core.
struct Sleeps : hs::Task<1>::Signature<int> {
  static void cpu(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
};

template <class Steal>
void steals(char const* name, std::string const& devices) {
  CAPTURE(name);
  CAPTURE(devices);
  hs::LoopbackRmaNetwork net(2);
  auto config = on_ranks::one_core();
  config.devices = devices;
  std::vector<std::uint64_t> completed(2);
  auto const thrown = on_arrays(net, config, [&](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<hs::TaskTypes<Sleeps>, Rt, Steal> tasks(arrays, rt);
    for (int k = 0; k < 30 && arrays.rank() == 1; ++k) {
      tasks.template add<Sleeps>()(2);
    }
    tasks.process();
    completed[static_cast<std::size_t>(arrays.rank())] = tasks.stats().completed;
  });
  CHECK(lines_of(thrown) == "");
  CHECK(completed[0] != 0);
  CHECK(completed[0] + completed[1] == 30);
}

TEST_CASE("collections: a rank without tasks gets some, whatever the rule and what others lack") {
  for (std::string const devices : {"none", "emu"}) {
    steals<hs::SingleEnded>("single-ended", devices);
    steals<hs::DoubleQueue>("double queue", devices);
    steals<hs::DoubleEnded<>>("double-ended", devices);
    steals<hs::GpuEnded<>>("GPU-ended", devices);
    steals<hs::CpuEnded<>>("CPU-ended", devices);
    steals<hs::EitherEnd<>>("either end", devices);
  }
}

/// Says in which order it ran.
struct Ordered : hs::Task<2>::Signature<hs::V<std::vector<int>*>, int> {
  static void cpu(std::vector<int>* order, int k) { order->push_back(k); }

  static void gpu(hs::GpuStream& stream, std::vector<int>* order, int k) {
    support::launch(stream, [=] { order->push_back(k); });
  }
};

template <class Steal>
std::vector<int> order_of(std::vector<int> const& added) {
  std::vector<int> order;
  hs::LoopbackRmaNetwork net(1);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [&](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<hs::TaskTypes<Ordered>, Rt, Steal> tasks(arrays, rt, {.cpu_tasks = 1});
    tasks.template estimate<Ordered>([](std::vector<int>*, int k) {
      return hs::EstimatedTimes{.cpu = {1000 + k}, .gpu = {1000}};
    });
    for (int const k : added) {
      tasks.template add<Ordered>()(&order, k);
    }
    tasks.process();
  });
  CHECK(lines_of(thrown) == "");
  return order;
}

TEST_CASE("collections: a core takes what a core does best first, and of equals the last") {
  std::vector<int> const added{5, -7, 0, 40, -7, 2};
  CHECK(order_of<hs::EitherEnd<>>(added) == std::vector<int>{-7, -7, 0, 2, 5, 40});
  CHECK(order_of<hs::DoubleQueue>(added) == std::vector<int>{-7, 0, -7, 2, 40, 5});
  CHECK(order_of<hs::SingleEnded>(added) == std::vector<int>{2, -7, 40, 0, -7, 5});
}

TEST_CASE("collections: a performance model orders tasks, too") {
  std::vector<int> order;
  hs::LoopbackRmaNetwork net(1);
  using Learned = hs::Runtime<hs::policies::WorkStealing<>, hs::policies::Lru, Knows>;
  auto const thrown = on_ranks::each(1, [&](int rank) {
    auto transport = net.transport(rank);
    Learned rt(on_ranks::one_core());
    hs::GlobalArrays arrays(transport);
    auto const x = arrays.make<double>(1, 10, 10, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Sized>, Learned, hs::EitherEnd<>> tasks(
        arrays, rt, {.cpu_tasks = 1});
    for (std::size_t const width : {3U, 9U, 1U, 6U}) {
      tasks.add<Sized>()(x.patch(0, 0, 1, width), &order);
    }
    tasks.process();
  });
  CHECK(lines_of(thrown) == "");
  CHECK(order == std::vector<int>{1, 3, 6, 9});
}

/// Notes whether a GPU ran it.
struct Noted : hs::Task<2>::Signature<hs::Acc<hs::Patch<double>>, hs::V<int*>> {
  static void cpu(hs::TileView<double> x, int* on_gpu) {
    *on_gpu = 0;
    x(0, 0) = 1;
  }

  static void gpu(hs::GpuStream& stream, hs::TileView<double> x, int* on_gpu) {
    support::launch(stream, [=] {
      *on_gpu = 1;
      x(0, 0) = 1;
    });
  }
};

/// Runs a task that is expected to be faster on a GPU, and one that is faster on a core. Their
/// patches have so many elements. Returns where they ran.
std::vector<int> two_kinds(std::size_t elements, hs::CollectionOptions const& options) {
  std::vector<int> on_gpu{-1, -1};
  hs::LoopbackRmaNetwork net(1);
  auto config = on_ranks::one_core();
  config.devices = "emu@1MB";
  auto const thrown = on_arrays(net, config, [&](hs::GlobalArrays& arrays, Rt& rt) {
    auto const x = arrays.make<double>(elements, 2, elements, hs::BlockCyclic{});
    hs::TaskCollection<hs::TaskTypes<Noted>, Rt, hs::EitherEnd<>> tasks(arrays, rt, options);
    tasks.estimate<Noted>([&](auto const&, int* of) {
      return of == on_gpu.data() ? hs::EstimatedTimes{.cpu = {2000}, .gpu = {1000}}
                                 : hs::EstimatedTimes{.cpu = {1000}, .gpu = {2000}};
    });
    for (std::size_t k = 0; k < 2; ++k) {
      tasks.add<Noted>()(x.patch(0, k, elements, 1), &on_gpu[k]);
    }
    tasks.process();
    for (std::size_t k = 0; k < 2; ++k) {
      double sum = 0;
      x.get(0, k, hs::TileView<double>(&sum, 1, 1, 1));
      CHECK(sum == 1);
    }
  });
  CHECK(lines_of(thrown) == "");
  return on_gpu;
}

TEST_CASE("collections: a task runs on what it left the queue for, if that is to be kept") {
  for (int k = 0; k < 50; ++k) {
    CHECK(two_kinds(1, {.cpu_tasks = 1, .gpu_tasks = 1, .keep_kind = true}) ==
          std::vector<int>{1, 0});
  }
}

TEST_CASE("collections: a patch that is too large for a device is worked on by a core") {
  constexpr std::size_t two_megabytes = 250'000;
  for (bool const keep_kind : {false, true}) {
    CHECK(two_kinds(two_megabytes, {.keep_kind = keep_kind}) == std::vector<int>{0, 0});
  }
}

/// Has no body for a core.
struct FillsOnGpu : hs::Task<1>::Signature<hs::Acc<hs::Patch<double>>> {
  static void gpu(hs::GpuStream& stream, hs::TileView<double> x) {
    support::launch(stream, [=] { x(0, 0) = 1; });
  }
};

TEST_CASE("collections: a patch that is too large for the only device that could, is told") {
  for (bool const keep_kind : {false, true}) {
    hs::LoopbackRmaNetwork net(1);
    auto config = on_ranks::one_core();
    config.devices = "emu@1MB";
    auto const thrown = on_arrays(net, config, [&](hs::GlobalArrays& arrays, Rt& rt) {
      auto const x = arrays.make<double>(250'000, 1, 1000, hs::BlockCyclic{});
      hs::TaskCollection<hs::TaskTypes<FillsOnGpu>> tasks(arrays, rt, {.keep_kind = keep_kind});
      tasks.add<FillsOnGpu>()(x.patch(0, 0, 250'000, 1));
      tasks.process();
    });
    CHECK(lines_of(thrown).find("do not fit into") != std::string::npos);
  }
}

/// The k-th task on rank (3 - k) mod 3, and what it was shown.
struct Backwards {
  static void place(std::span<hs::TaskToPlace> tasks, int ranks) {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      shown().push_back(tasks[k]);
      tasks[k].rank = static_cast<int>((99 - k) % static_cast<std::size_t>(ranks));
    }
  }

  static std::vector<hs::TaskToPlace>& shown() {
    static std::vector<hs::TaskToPlace> all;
    return all;
  }
};

struct Nowhere {
  static void place(std::span<hs::TaskToPlace> tasks, int ranks) {
    for (auto& task : tasks) {
      task.rank = ranks;
    }
  }
};

/// How many tasks each rank completes, if they are not stolen: rank r adds `added[r]` of them, for
/// patch r of an array with one on each of three ranks.
template <class Distribution>
std::vector<std::uint64_t> completed_by_rank(std::vector<int> const& added) {
  hs::LoopbackRmaNetwork net(3);
  std::vector<std::uint64_t> completed(3);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [&](hs::GlobalArrays& arrays, Rt& rt) {
    auto const rank = static_cast<std::size_t>(arrays.rank());
    auto const x = arrays.make<double>(
        3, 1, 1, [](std::size_t i, std::size_t) { return static_cast<int>(2 - i); });
    hs::TaskCollection<hs::TaskTypes<Fails>, Rt, hs::NoStealing, Distribution> tasks(arrays, rt);
    tasks.template estimate<Fails>([](hs::Patch<double> const&, int k) {
      return hs::EstimatedTimes{.cpu = {1000 * (k + 1)}, .gpu = {}};
    });
    for (int k = 0; k < added[rank]; ++k) {
      tasks.template add<Fails>()(x.tile(rank, 0), 0);
    }
    if (rank == 0) {
      tasks.template add<Fails>(hs::near(1))(x.tile(0, 0), 99); // where it says, and long
    }
    tasks.process();
    completed[rank] = tasks.stats().completed;
  });
  CHECK(lines_of(thrown) == "");
  return completed;
}

TEST_CASE("collections: tasks begin where the distribution says") {
  using Counts = std::vector<std::uint64_t>;
  std::vector<int> const added{5, 0, 4};
  CHECK(completed_by_rank<hs::AsAdded>(added) == Counts{5, 1, 4});
  CHECK(completed_by_rank<hs::InBlocks>(added) == Counts{3, 4, 3});
  CHECK(completed_by_rank<hs::NearOutputs>(added) == Counts{4, 1, 5});
  CHECK(completed_by_rank<hs::LongestFirst>(added) == Counts{3, 4, 3});
  CHECK(completed_by_rank<hs::InBlocks>({0, 0, 0}) == Counts{0, 1, 0});
  Backwards::shown().clear();
  CHECK(completed_by_rank<Backwards>({3, 1, 0}) == Counts{2, 2, 1});
  auto const& shown = Backwards::shown();
  REQUIRE(shown.size() == 4);
  CHECK(shown[2].rank == 0);
  CHECK(shown[2].output == 2);
  CHECK(shown[3].rank == 1);
  CHECK(shown[3].output == 1);
  CHECK(shown[3].cpu == hs::Duration{1000});

  hs::LoopbackRmaNetwork net(2);
  auto const thrown = on_arrays(net, on_ranks::one_core(), [&](hs::GlobalArrays& arrays, Rt& rt) {
    hs::TaskCollection<hs::TaskTypes<Sleeps>, Rt, hs::NoStealing, Nowhere> tasks(arrays, rt);
    tasks.add<Sleeps>()(0);
    tasks.process();
  });
  CHECK(thrown ==
        std::vector<std::string>(2, "hetsched: process: the distribution names rank 2 of 2"));
}

/// The largest load of a rank, by kind.
std::pair<std::int64_t, std::int64_t> loads_of(std::vector<hs::TaskToPlace> const& tasks,
                                               int ranks) {
  std::vector<std::int64_t> cpu(static_cast<std::size_t>(ranks));
  auto gpu = cpu;
  for (auto const& task : tasks) {
    auto const rank = static_cast<std::size_t>(task.rank);
    if (task.cpu > task.gpu) {
      gpu[rank] += task.gpu.ns;
    } else {
      cpu[rank] += task.cpu.ns;
    }
  }
  return {*std::max_element(cpu.begin(), cpu.end()), *std::max_element(gpu.begin(), gpu.end())};
}

TEST_CASE("collections: the longest first is within 4/3 of a lower bound for each kind") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    support::Dice dice(seed);
    int const ranks = 1 + dice.below(9);
    std::vector<hs::TaskToPlace> tasks;
    std::int64_t sums[2] = {};
    std::int64_t longest[2] = {};
    for (int k = 0; k < 20 * ranks; ++k) {
      hs::TaskToPlace task;
      task.cpu = {1 + dice.below(1000)};
      task.gpu = {1 + dice.below(1000)};
      bool const gpu = task.cpu > task.gpu;
      auto const ns = gpu ? task.gpu.ns : task.cpu.ns;
      sums[gpu ? 1 : 0] += ns;
      longest[gpu ? 1 : 0] = std::max(longest[gpu ? 1 : 0], ns);
      tasks.push_back(task);
    }
    hs::LongestFirst::place(tasks, ranks);
    auto const [cpu, gpu] = loads_of(tasks, ranks);
    auto const most = [&](int kind) {
      auto const bound = std::max(longest[kind], (sums[kind] + ranks - 1) / ranks);
      return bound * 4 / 3;
    };
    CHECK(cpu <= most(0));
    CHECK(gpu <= most(1));
  }
}

/// Batches with so many tasks of each kind; what a thief gets of each.
TEST_CASE("collections: thieves take what sections 3.3 and 4.2 of Arafat et al. say") {
  hs::detail::BatchState const batch{.low = 2, .high = 12, .gpu_from = 8, .batch = 1}; // 6 and 4
  auto const loot = [&](hs::StealRule const& rule, bool cpu, bool gpu, bool nothing) {
    auto const taken = hs::detail::choose_loot(rule, batch, cpu, gpu, nothing);
    return std::pair(taken.low, taken.high);
  };
  using Both = std::pair<std::size_t, std::size_t>;
  CHECK(loot(hs::SingleEnded::rule, true, true, true) == Both(5, 0));
  CHECK(loot(hs::DoubleQueue::rule, true, false, false) == Both(5, 0));
  CHECK(loot(hs::DoubleEnded<>::rule, true, true, true) == Both(2, 3));
  CHECK(loot(hs::GpuEnded<>::rule, false, true, false) == Both(0, 2));
  CHECK(loot(hs::CpuEnded<>::rule, true, false, false) == Both(3, 0));
  CHECK(loot(hs::EitherEnd<>::rule, true, false, false) == Both(3, 0));
  CHECK(loot(hs::EitherEnd<>::rule, false, true, false) == Both(0, 2));
  CHECK(loot(hs::EitherEnd<>::rule, true, true, true) == Both(2, 3));
  CHECK(loot(random_collection::Chunks::rule, true, false, false) == Both(3, 0));
  CHECK(loot(random_collection::Chunks::rule, false, true, false) == Both(0, 3));
  hs::detail::BatchState const only_cpu{.low = 0, .high = 5, .gpu_from = 5, .batch = 1};
  CHECK(hs::detail::choose_loot(hs::GpuEnded<>::rule, only_cpu, false, true, false).size() == 0);
  CHECK(hs::detail::choose_loot(hs::GpuEnded<>::rule, only_cpu, false, true, true).high == 3);
  CHECK(hs::detail::BatchState::of(batch.word()).word() == batch.word());
}

/// Kills a rank when it runs as the k-th task on it.
struct Deadly : hs::Task<2>::Signature<hs::V<hs::LoopbackRmaNetwork*>, int> {
  static void cpu(hs::LoopbackRmaNetwork* net, int victim) {
    if (victim >= 0) {
      net->kill(victim);
    }
  }
};

TEST_CASE("collections: a rank that is gone is named by all others, wherever it was") {
  for (int at = 0; at < 20; ++at) {
    CAPTURE(at);
    hs::LoopbackRmaNetwork net(3,
                               {.seed = static_cast<std::uint64_t>(at), .delay = 3, .quiet = true});
    auto const thrown = on_arrays(net, on_ranks::one_core(), [&](hs::GlobalArrays& arrays, Rt& rt) {
      hs::TaskCollection<hs::TaskTypes<Deadly>> tasks(arrays, rt);
      for (int k = 0; k < 40; ++k) {
        tasks.add<Deadly>(hs::near(k % 3))(&net, arrays.rank() == 1 && k == 2 * at ? 2 : -1);
      }
      tasks.process();
    });
    CHECK(thrown[0] == "hetsched: rank 2: was killed");
    CHECK(thrown[1] == "hetsched: rank 2: was killed");
    CHECK(!thrown[2].empty());
  }
}

TEST_SUITE_END();

} // namespace collection_test
