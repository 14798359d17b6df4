// SPDX-License-Identifier: MIT

#include "simulated.hpp"

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/block_lu.hpp>

#include "round_robin.hpp"

#include <string>
#include <string_view>

namespace multigrain {

namespace {

constexpr char const* algorithm = "block_lu";
constexpr std::size_t cpus = 0; // classes of worker
constexpr std::size_t gpus = 1;

bool updates_many(std::string_view type) {
  return type == "super_block" || type == "super_task";
}

bool is_update(std::string_view type) {
  return type == "gemm" || updates_many(type);
}

double blocks_of(hs::TaskView const& task) {
  double blocks = 0;
  for (std::size_t k = 0; k < task.arguments; ++k) {
    blocks += hs::writes(task.argument(k).mode) ? 1 : 0;
  }
  return blocks;
}

double gpu_seconds(hs::Platform const& machine, char const* name) {
  for (auto const& kernel : machine.kernels) {
    if (kernel.name == name && kernel.is_part_of(algorithm) && kernel.on(gpus)) {
      return kernel.on(gpus)->mean.seconds();
    }
  }
  throw hs::Error(hs::ErrorCode::bad_input,
                  "platform '" + machine.name + "'",
                  std::string("has no time of block_lu's ") + name + " on a GPU");
}

/// The machine of the strategy: without GPU, or with cores that do not update, or all of it.
hs::Platform machine_for(hs::Platform machine, Strategy const& strategy, std::size_t memory) {
  if (strategy.where == Strategy::Where::cpus) {
    machine.classes[gpus].workers = 0;
  }
  for (auto& kernel : machine.kernels) {
    if (strategy.where == Strategy::Where::gpu && is_update(kernel.name)) {
      kernel.times[cpus].reset();
    }
  }
  machine.nodes[1].capacity_bytes = memory;
  return machine;
}

/// Sums up the time of step 3: barriers lie around it, so that the time between two ends is that of
/// the step of the later one.
struct Steps {
  hs::Instant last;
  double step3 = 0;
  double blocks[2] = {}; // updated on cores, on the GPU

  void ended(hs::SimulatedTask const& task, hs::WorkerId first_gpu) {
    if (is_update(task.type)) {
      step3 += (task.end - last).seconds();
      blocks[0] += task.worker.value < first_gpu.value && task.type == "gemm" ? 1 : 0;
    }
    last = task.end;
  }
};

template <class Scheduler, class Cache, class... Knobs>
Outcome factorise(hs::Simulation config,
                  Settings const& settings,
                  Strategy const& strategy,
                  hs::sparse::BlockPattern const& filled,
                  Knobs const&... knobs) {
  Steps steps;
  hs::WorkerId const first_gpu{config.platform.classes[cpus].workers};
  config.on_task = [&](hs::SimulatedTask const& task) { steps.ended(task, first_gpu); };
  hs::SimulatedRuntime<Scheduler, Cache> rt(config, knobs...);
  hs::sparse::BlockMatrix<float> const a(rt, filled, settings.block, settings.super);
  using hs::sparse::Grain;
  hs::sparse::block_lu(rt,
                       a,
                       {.grain = strategy.tasks == Strategy::Tasks::fine     ? Grain::fine
                                 : strategy.tasks == Strategy::Tasks::coarse ? Grain::coarse
                                                                             : Grain::both,
                        .barriers = true,
                        .solves_on_cores = true});
  rt.wait();
  auto const stats = rt.stats();
  Outcome outcome;
  outcome.step3_seconds = steps.step3;
  outcome.all_seconds = stats.elapsed.seconds();
  for (auto const& device : stats.devices) {
    outcome.bytes_in += static_cast<double>(device.bytes_from_host);
    outcome.bytes_out += static_cast<double>(device.bytes_to_host);
    outcome.transfer_seconds += device.transfers.seconds();
    outcome.kernel_seconds += device.kernels.seconds();
    auto const uses = static_cast<double>(device.hits + device.misses);
    outcome.hit_percent = uses > 0 ? 100 * static_cast<double>(device.hits) / uses : 0;
  }
  auto const all = hs::sparse::block_lu_flops(filled, 1).updates / 2;
  outcome.gpu_blocks = strategy.where == Strategy::Where::gpu ? 100 : 0;
  if (strategy.where == Strategy::Where::both && strategy.tasks != Strategy::Tasks::coarse) {
    outcome.gpu_blocks = 100 * (1 - steps.blocks[0] / all);
  }
  return outcome;
}

} // namespace

double side_by_side(hs::Platform const& machine, std::size_t super, double blocks) {
  auto const one = gpu_seconds(machine, "gemm");
  auto const full = gpu_seconds(machine, "super_block");
  auto const most = static_cast<double>(super * super);
  return one + (blocks - 1) * (most > 1 ? (full - one) / (most - 1) : one);
}

Outcome simulate(hs::Platform const& machine,
                 Settings const& settings,
                 Strategy const& strategy,
                 hs::sparse::BlockPattern const& filled,
                 std::size_t memory,
                 std::uint64_t seed) {
  auto const super = settings.super;
  if (strategy.memory == Strategy::Memory::nothing) {
    // Room for one task: nothing is left of it when the next one has come.
    auto const blocks = strategy.tasks == Strategy::Tasks::fine ? 3 : super * super + 2 * super;
    memory = blocks * settings.block * settings.block * sizeof(float);
  }
  hs::Simulation config{.platform = machine_for(machine, strategy, memory),
                        .algorithm = algorithm,
                        .precision = hs::Precision::single_precision,
                        .tile = settings.block,
                        .transfers = hs::Simulation::Transfers::shared,
                        .packed = true,
                        .window = 1,
                        .seed = seed};
  auto const alone = side_by_side(machine, super, 1);
  auto const each = side_by_side(machine, super, 2) - alone;
  auto const most = static_cast<double>(super * super);
  config.task_time = [=](hs::TaskView const& task, hs::Arch arch, hs::Duration of_type) {
    if (!updates_many(task.type) || (arch == hs::ArchHost && task.type == "super_task")) {
      return of_type;
    }
    auto const blocks = blocks_of(task);
    auto const seconds =
        arch == hs::ArchHost ? of_type.seconds() * blocks / most : alone + (blocks - 1) * each;
    return hs::Duration{static_cast<std::int64_t>(seconds * 1e9 + 0.5)};
  };
  using hs::policies::Lru;
  using hs::policies::ReuseGuided;
  using Super = hs::policies::Multigrain<>;
  bool const by_index = strategy.memory == Strategy::Memory::guided ||
                        strategy.memory == Strategy::Memory::as_system_1;
  if (strategy.order == Strategy::Order::round_robin) {
    return by_index ? factorise<RoundRobin, ReuseGuided>(config, settings, strategy, filled)
                    : factorise<RoundRobin, Lru>(config, settings, strategy, filled);
  }
  Super::Config const knobs{.guided = strategy.order == Strategy::Order::reuse};
  return by_index ? factorise<Super, ReuseGuided>(config, settings, strategy, filled, knobs)
                  : factorise<Super, Lru>(config, settings, strategy, filled, knobs);
}

} // namespace multigrain
