// SPDX-License-Identifier: MIT
// Random programs give bit for bit what running their bodies in program order gives.
//
// HETSCHED_TEST_GRAPHS: how many (default 10000, under a sanitizer 500).
// HETSCHED_TEST_SEED: the first seed (default 1); graph k has seed first + k.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/queues/mailbox.hpp>

#include "../support/schedulers.hpp"
#include "../support/strategies.hpp"
#include "covering_array.hpp"
#include "random_program.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace hs = hetsched;

namespace {

using equivalence::Argument;
using equivalence::Block;
using equivalence::Memory;
using equivalence::Mode;
using equivalence::Node;
using equivalence::Program;
using equivalence::Step;
using Element = std::uint64_t;
using Tile = hs::TileView<Element>;

struct Xor {
  static constexpr Element neutral() { return 0; }

  static constexpr Element combine(Element a, Element b) { return a ^ b; }
};

/// A program being run: its memory and the handles of its slots.
struct Run {
  Program const* program;
  Memory* memory;
  std::vector<hs::Handle<Tile>> handles;
  bool devices = false; // there are some
  bool pins = false;    // and room for one datum that is pinned there
  std::atomic<bool> pinning{false};
};

template <Mode M>
struct Declared;

template <>
struct Declared<Mode::read> {
  using Type = hs::R<Tile>;
};

template <>
struct Declared<Mode::write> {
  using Type = hs::W<Tile>;
};

template <>
struct Declared<Mode::read_write> {
  using Type = hs::RW<Tile>;
};

template <>
struct Declared<Mode::commute> {
  using Type = hs::Commute<Tile>;
};

template <>
struct Declared<Mode::add> {
  using Type = hs::CW<Tile, hs::Sum<Element>>;
};

template <>
struct Declared<Mode::exclusive_or> {
  using Type = hs::CW<Tile, Xor>;
};

/// A task with these modes; its values say which node of which run it is.
template <Mode... M>
struct Work
    : hs::Task<2 + static_cast<int>(sizeof...(M))>::
          template Signature<hs::V<Run*>, hs::V<Node const*>, typename Declared<M>::Type...> {};

/// The same, spawning nothing; for some modes, each being a type more to compile.
template <Mode... M>
struct Leaf
    : hs::Task<2 + static_cast<int>(sizeof...(M))>::
          template Signature<hs::V<Run*>, hs::V<Node const*>, typename Declared<M>::Type...> {};

template <Mode... M>
inline constexpr bool has_leaf = false;
template <>
inline constexpr bool has_leaf<Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::write> = true;
template <>
inline constexpr bool has_leaf<Mode::commute> = true;
template <>
inline constexpr bool has_leaf<Mode::read, Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::write, Mode::read> = true;
template <>
inline constexpr bool has_leaf<Mode::read_write, Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::read_write, Mode::commute> = true;

template <class Rt>
void run_steps(Rt& rt, Run& run, std::vector<Step> const& steps);

template <class E>
Block block_of(Mode mode, hs::TileView<E> view) {
  return {mode, const_cast<Element*>(view.data()), view.rows(), view.cols(), view.ld()};
}

} // namespace

template <Mode... M>
struct hetsched::TaskBodyCPU<Work<M...>> {
  template <class Rt, class... Views>
  void operator()(Rt& rt, Run* run, Node const* node, Views... views) const {
    std::vector<Block> const blocks{block_of(M, views)...};
    equivalence::effect(node->constant, blocks);
    for (int const local : node->locals) {
      auto const& slot = run->program->slots[static_cast<std::size_t>(local)];
      run->handles[static_cast<std::size_t>(local)] =
          rt.data(run->memory->at(local), slot.rows, slot.cols, slot.ld);
    }
    run_steps(rt, *run, node->steps);
    if (node->effect_after || !node->locals.empty()) {
      rt.sync();
    }
    for (int const local : node->locals) {
      run->handles[static_cast<std::size_t>(local)] = {};
    }
    if (node->effect_after) {
      equivalence::effect(node->constant + 1, blocks);
    }
  }
};

/// Some take their time, so that they are begun anew, and some of those look whether they were.
template <Mode... M>
struct hetsched::TaskBodyCPU<Leaf<M...>> {
  template <class... Views>
  void operator()(Run*, Node const* node, Views... views) const {
    bool stop = false;
    for (std::uint64_t k = 0; !stop && k < node->constant / 1024 % 32; ++k) {
      sched_yield();
      stop = node->constant / 32768 % 2 == 0 && hs::stop_requested();
    }
    equivalence::effect(stop ? 0 : node->constant, {block_of(M, views)...});
  }
};

template <Mode... M>
struct hetsched::TaskBodyGPU<Leaf<M...>> {
  template <class... Views>
  void operator()(hs::GpuStream& stream, Run*, Node const* node, Views... views) const {
    auto const constant = node->constant;
    std::vector<Block> blocks{block_of(M, views)...};
    REQUIRE(stream.run_emulated([constant, blocks = std::move(blocks)] {
      for (std::uint64_t k = 0; k < constant / 1024 % 32; ++k) {
        sched_yield();
      }
      equivalence::effect(constant, blocks);
    }));
  }
};

/// On a device, where no task spawns others: the effect alone.
template <Mode... M>
struct hetsched::TaskBodyGPU<Work<M...>> {
  template <class... Views>
  void operator()(hs::GpuStream& stream, Run*, Node const* node, Views... views) const {
    auto const constant = node->constant;
    std::vector<Block> blocks{block_of(M, views)...};
    REQUIRE(stream.run_emulated(
        [constant, blocks = std::move(blocks)] { equivalence::effect(constant, blocks); }));
  }
};

namespace {

/// One of the cache policies, as the test has drawn it: one type of runtime serves for all.
class DrawnCache {
public:
  static constexpr bool wants_next_use = true;
  static inline std::size_t drawn = 0;

  DrawnCache() {
    switch (drawn % 4) {
    case 0:
      break;
    case 1:
      cache_.emplace<hs::policies::FifoCache>();
      break;
    case 2:
      cache_.emplace<hs::policies::ReuseGuided>();
      break;
    default:
      cache_.emplace<hs::policies::NextUse>();
    }
  }

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    std::visit([&](auto& cache) { cache.insert(block, use); }, cache_);
  }

  void access(hs::BlockId block, hs::BlockUse const& use) {
    std::visit([&](auto& cache) { cache.access(block, use); }, cache_);
  }

  void pin(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.pin(block); }, cache_);
  }

  void release(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.release(block); }, cache_);
  }

  void erase(hs::BlockId block) {
    std::visit([&](auto& cache) { cache.erase(block); }, cache_);
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) {
    return std::visit([&](auto& cache) { return cache.victim(dirty); }, cache_);
  }

private:
  std::variant<hs::policies::Lru,
               hs::policies::FifoCache,
               hs::policies::ReuseGuided,
               hs::policies::NextUse>
      cache_;
};

/// Spawns a node whose arguments have the modes M..., found by trying one mode after the other.
template <class Rt, Mode... M>
void spawn_node(Rt& rt, Run& run, Node const& node) {
  constexpr auto known = sizeof...(M);
  if (node.arguments.size() == known) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto const spawn = [&](auto const&... attributes) {
        rt.template spawn<Work<M...>>(hs::priority(node.priority), attributes...)(
            &run, &node, run.handles[static_cast<std::size_t>(node.arguments[I].slot)]...);
      };
      bool const leaf = node.steps.empty() && node.locals.empty() && !node.effect_after;
      if constexpr (has_leaf<M...>) {
        if (leaf && node.constant / 4 % 2 == 0) {
          rt.template spawn<Leaf<M...>>(hs::priority(node.priority), hs::abortable)(
              &run, &node, run.handles[static_cast<std::size_t>(node.arguments[I].slot)]...);
          return;
        }
      }
      auto const kind = leaf ? node.constant % 4 : 0;
      if (kind == 0) {
        spawn(hs::SetArch(hs::ArchHost));
      } else if (kind == 1 && run.devices) {
        spawn(hs::SetArch(hs::ArchCUDA));
      } else {
        spawn();
      }
    }(std::make_index_sequence<known>{});
    return;
  }
  if constexpr (known < 2) {
    switch (node.arguments[known].mode) {
    case Mode::read:
      return spawn_node<Rt, M..., Mode::read>(rt, run, node);
    case Mode::write:
      return spawn_node<Rt, M..., Mode::write>(rt, run, node);
    case Mode::read_write:
      return spawn_node<Rt, M..., Mode::read_write>(rt, run, node);
    case Mode::commute:
      return spawn_node<Rt, M..., Mode::commute>(rt, run, node);
    case Mode::add:
      return spawn_node<Rt, M..., Mode::add>(rt, run, node);
    case Mode::exclusive_or:
      return spawn_node<Rt, M..., Mode::exclusive_or>(rt, run, node);
    }
  } else if constexpr (known == 2 && equivalence::takes_third(M...)) {
    if (node.arguments[2].mode == Mode::add) {
      return spawn_node<Rt, M..., Mode::add>(rt, run, node);
    }
    return spawn_node<Rt, M..., Mode::read_write>(rt, run, node);
  }
}

/// Where data are is nobody's business but the program's speed.
template <class Rt>
void give_hint(Rt& rt, Run& run, std::uint64_t number, Argument const& argument) {
  auto const& handle = run.handles[static_cast<std::size_t>(argument.slot)];
  hs::NodeId const node{static_cast<std::int32_t>(number % rt.nodes().size())};
  bool const may_read = argument.mode != Mode::add && argument.mode != Mode::exclusive_or;
  if (!may_read) {
    return;
  }
  switch (number / 8 % 4) {
  case 0:
    rt.prefetch(handle, node);
    break;
  case 1:
    rt.evict(handle, node);
    break;
  case 2:
    if (run.pins && !run.pinning.exchange(true)) {
      rt.pin(handle, node);
      rt.unpin(handle, node);
      rt.sync(handle);
      run.pinning = false;
    }
    break;
  default:
    break;
  }
}

template <class Rt>
void run_steps(Rt& rt, Run& run, std::vector<Step> const& steps) {
  std::map<int, hs::Partition<Tile>> partitions; // by first part
  for (auto const& step : steps) {
    auto const slot = static_cast<std::size_t>(step.slot);
    switch (step.kind) {
    case Step::spawn: {
      auto const& node = run.program->nodes[static_cast<std::size_t>(step.node)];
      if (run.devices && !node.arguments.empty() && node.constant / 64 % 4 == 0) {
        give_hint(rt, run, node.constant / 256, node.arguments.front());
      }
      spawn_node(rt, run, node);
      break;
    }
    case Step::sync:
      rt.sync();
      break;
    case Step::sync_datum:
      rt.sync(run.handles[slot]);
      break;
    case Step::partition: {
      auto parts = rt.partition(run.handles[slot], hs::tiles(step.block_rows, step.block_cols));
      for (std::size_t k = 0; k < parts.size(); ++k) {
        run.handles[static_cast<std::size_t>(step.first_part) + k] = parts[k];
      }
      partitions[step.first_part] = std::move(parts);
      break;
    }
    case Step::join:
      rt.join(partitions.at(step.first_part));
      break;
    }
  }
}

struct Knobs {
  int cpus;
  std::uint64_t max_live;
};

std::uint64_t env_or(char const* name, std::uint64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

#ifdef HETSCHED_TEST_FEW
constexpr std::uint64_t default_graphs = 500;
#else
constexpr std::uint64_t default_graphs = 10000;
#endif

/// Ends the process with a dump if one graph takes too long.
class Watchdog {
public:
  explicit Watchdog(std::string what) : what_(std::move(what)), thread_([this] { watch(); }) {}

  ~Watchdog() {
    done_ = true;
    thread_.join();
  }

  void begin(std::uint64_t seed, std::function<std::string()> dump) {
    std::lock_guard const guard(mutex_);
    seed_ = seed;
    dump_ = std::move(dump);
    begin_ = std::chrono::steady_clock::now();
  }

private:
  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::lock_guard const guard(mutex_);
      if (dump_ && std::chrono::steady_clock::now() - begin_ > std::chrono::seconds(60)) {
        std::fprintf(stderr,
                     "hang: %s\n%sreproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=%llu\n",
                     what_.c_str(),
                     dump_().c_str(),
                     static_cast<unsigned long long>(seed_));
        std::_Exit(3);
      }
    }
  }

  std::string what_;
  std::mutex mutex_;
  std::uint64_t seed_ = 0;
  std::function<std::string()> dump_;
  std::chrono::steady_clock::time_point begin_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

/// Begins anew, now and then, what another worker runs.
struct Restless : OldestFirst {
  static inline std::atomic<std::uint64_t> aborted{0};

  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    auto const workers = ctx.workers();
    auto const& other = workers[ctx.random(worker) % workers.size()];
    auto const task = ctx.running(other.id);
    return other.id != worker && task && ctx.task(task).abortable && ctx.can_run(task, worker)
               ? task
               : hs::no_task;
  }
};

/// Runs a program in a runtime and compares.
template <class Rt>
bool same_as_sequential(Rt& rt, Program const& program, bool pins = false) {
  Memory expected(program);
  equivalence::Interpreter(program, expected).run();
  Memory memory(program);
  Run run{&program,
          &memory,
          std::vector<hs::Handle<Tile>>(program.slots.size()),
          rt.workers().back().arch == hs::ArchCUDA,
          pins};
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    auto const& slot = program.slots[s];
    bool local = slot.part_of >= 0;
    for (auto const& node : program.nodes) {
      for (int const l : node.locals) {
        local = local || l == static_cast<int>(s);
      }
    }
    auto* const first = memory.at(static_cast<int>(s));
    auto const node = s % (2 * rt.nodes().size()); // some of the data live on devices
    if (!local && node != 0 && node < rt.nodes().size() && slot.ld == slot.rows) {
      run.handles[s] =
          rt.device_data(hs::NodeId{static_cast<std::int32_t>(node)}, first, slot.rows, slot.cols);
    } else if (!local) {
      run.handles[s] = rt.data(first, slot.rows, slot.cols, slot.ld);
    }
  }
  run_steps(rt, run, program.steps);
  rt.sync();
  Restless::aborted += rt.stats().aborted;
  return memory.contents() == expected.contents();
}

/// Every `stride`-th of half the graphs, from `first` on, with this scheduler and without devices;
/// workers and limits are drawn from the seed.
template <class Scheduler, class Model = hs::policies::NoModel>
void check_scheduler(std::uint64_t first, std::uint64_t stride) {
  auto const all = env_or("HETSCHED_TEST_GRAPHS", default_graphs);
  auto const seed0 = env_or("HETSCHED_TEST_SEED", 1);
  bool const single = all == 1;
  auto const graphs = (all + 1) / 2;
  Watchdog watchdog("sequential equivalence");
  for (int const cpus : {1, 2, 8}) {
    for (std::uint64_t const max_live : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{64}}) {
      hs::Config config;
      config.cpus = cpus;
      config.max_live_tasks = max_live;
      config.bind = hs::Bind::none;
      config.devices = "none";
      hs::Runtime<Scheduler, DrawnCache, Model> rt(config);
      std::uint64_t const lane = (cpus == 1   ? 0
                                  : cpus == 2 ? 1
                                              : 2) *
                                     3 +
                                 (max_live == 0   ? 0
                                  : max_live == 3 ? 1
                                                  : 2);
      for (std::uint64_t k = 0; k < graphs; ++k) {
        if (!single && (k % stride != first || k / stride % 9 != lane)) {
          continue;
        }
        auto const seed = seed0 + k;
        watchdog.begin(seed, [&rt] { return rt.dump(); });
        CAPTURE(cpus);
        CAPTURE(max_live);
        INFO("reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" << seed);
        REQUIRE(same_as_sequential(rt, equivalence::Generator(seed).draw(500)));
      }
    }
  }
}

/// What the largest leaf task needs of a device's memory, places rounded as there.
std::size_t largest_footprint(Program const& program) {
  std::size_t largest = 256;
  for (auto const& node : program.nodes) {
    std::map<int, std::size_t> slots;
    for (auto const& argument : node.arguments) {
      auto const& slot = program.slots[static_cast<std::size_t>(argument.slot)];
      slots[argument.slot] = (slot.rows * slot.cols * sizeof(Element) + 255) / 256 * 256;
    }
    std::size_t bytes = 0;
    for (auto const& [slot, size] : slots) {
      bytes += size;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

/// What a run with devices is made of; each row of a covering array is one.
struct DeviceKnobs {
  static constexpr std::array<int, 8> choices{2, 2, 3, 3, 4, 2, 2, 2};

  explicit DeviceKnobs(std::array<int, 8> const& row)
      : cpus(1 + row[0]), max_live(row[1] * 16), devices(1 + row[2]), percent(105 + row[3] * 95),
        cache(row[4]), window(1 + row[5] * 3), streams(1 + row[6] * 2), pins(row[7] != 0) {}

  int cpus;
  int max_live;
  int devices;
  int percent; // of the largest task's footprint that a device's memory holds
  int cache;
  int window;
  int streams;
  bool pins;
};

/// The other half of the graphs, on 1 to 3 emulated devices with little memory.
template <class Scheduler, class Model = hs::policies::NoModel>
void check_devices(std::uint64_t first, std::uint64_t stride) {
  auto const all = env_or("HETSCHED_TEST_GRAPHS", default_graphs);
  auto const seed0 = env_or("HETSCHED_TEST_SEED", 1);
  auto const rows = equivalence::covering_array(DeviceKnobs::choices, seed0);
  Watchdog watchdog("sequential equivalence with devices");
  for (std::uint64_t k = 0; k < (all + 1) / 2; ++k) {
    if (all > 1 && k % stride != first) {
      continue;
    }
    auto const seed = seed0 + k;
    DeviceKnobs const knobs(rows[k / stride % rows.size()]);
    auto const program = equivalence::Generator(seed).draw(300);
    auto const largest = largest_footprint(program);
    auto bytes = largest * static_cast<std::size_t>(knobs.percent) / 100;
    if (knobs.pins) { // wherever one datum is pinned, the largest task fits beside it
      bytes = std::max(bytes, 3 * largest);
    }
    hs::Config config;
    config.cpus = knobs.cpus;
    config.max_live_tasks = static_cast<std::uint64_t>(knobs.max_live);
    config.bind = hs::Bind::none;
    config.window = knobs.window;
    config.streams = knobs.streams;
    config.devices =
        "emu:" + std::to_string(knobs.devices) + "@" + std::to_string((bytes + 255) / 256 * 256);
    DrawnCache::drawn = static_cast<std::size_t>(knobs.cache);
    CAPTURE(knobs.cpus);
    CAPTURE(config.devices);
    CAPTURE(knobs.cache);
    CAPTURE(knobs.window);
    CAPTURE(knobs.streams);
    CAPTURE(knobs.pins);
    INFO("reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" << seed);
    hs::Runtime<Scheduler, DrawnCache, Model> rt(config);
    watchdog.begin(seed, [&rt] { return rt.dump(); });
    REQUIRE(same_as_sequential(rt, program, knobs.pins));
    watchdog.begin(seed, {});
  }
}

} // namespace

TEST_CASE("sequential equivalence with devices: schedulers that look at data and times") {
  for (ChosenStrategy::chosen = 0; ChosenStrategy::chosen < ChosenStrategy::count;
       ++ChosenStrategy::chosen) {
    CAPTURE(ChosenStrategy::chosen);
    check_devices<ChosenStrategy, InventedTimes>(ChosenStrategy::chosen, 40);
  }
}

TEST_CASE("sequential equivalence: schedulers that look at data and times") {
  for (ChosenStrategy::chosen = 0; ChosenStrategy::chosen < ChosenStrategy::count;
       ++ChosenStrategy::chosen) {
    CAPTURE(ChosenStrategy::chosen);
    check_scheduler<ChosenStrategy, InventedTimes>(ChosenStrategy::chosen, 40);
  }
}

TEST_CASE("sequential equivalence with devices: tasks begun anew at random") {
  Restless::aborted = 0;
  check_devices<Restless>(0, 8);
  CHECK(Restless::aborted > 0);
}

TEST_CASE("sequential equivalence: tasks begun anew at random") {
  Restless::aborted = 0;
  check_scheduler<Restless>(0, 8);
  CHECK(Restless::aborted > 0);
}

TEST_CASE("sequential equivalence with devices: WorkStealing") {
  check_devices<hs::policies::WorkStealing<>>(0, 4);
}

TEST_CASE("sequential equivalence with devices: Eager") {
  check_devices<hs::policies::Eager<>>(1, 4);
}

TEST_CASE("sequential equivalence with devices: Random") {
  check_devices<hs::policies::Random<>>(2, 4);
}

TEST_CASE("sequential equivalence with devices: Priority") {
  check_devices<hs::policies::Priority<>>(3, 4);
}

TEST_CASE("sequential equivalence: WorkStealing") {
  check_scheduler<hs::policies::WorkStealing<>>(0, 5);
}

TEST_CASE("sequential equivalence: Eager") {
  check_scheduler<hs::policies::Eager<>>(1, 5);
}

TEST_CASE("sequential equivalence: Random") {
  check_scheduler<hs::policies::Random<>>(2, 5);
}

TEST_CASE("sequential equivalence: Random with mailboxes") {
  check_scheduler<hs::policies::Random<hs::policies::Mailbox>>(3, 5);
}

TEST_CASE("sequential equivalence: Priority") {
  check_scheduler<hs::policies::Priority<>>(4, 5);
}
