// SPDX-License-Identifier: MIT

#include "factorisation.hpp"

#include <hetsched/hetsched.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/schedulers/batches.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../lima2015/workloads.hpp"

#include <span>
#include <type_traits>

namespace bleuse2015 {

namespace hs = hetsched;

namespace {

/// A queue without `peek`, so no data are sent ahead under HEFT; see lima2015.
struct Undisclosed : hs::policies::Fifo {
  std::size_t peek(std::span<hs::TaskId> next) = delete;
};

/// The solver's schedule of the ready tasks, without `peek`.
template <class Solver>
class Batches : hs::policies::Batches<Solver> {
  using Base = hs::policies::Batches<Solver>;

public:
  using Base::epilogue;
  using Base::pop;
  using Base::priority_scope;
  using Base::push;
  using Base::push_activated;
  using Base::threading;

  explicit Batches(std::span<hs::WorkerInfo const> workers) : Base(workers, {.reach = reach}) {}

private:
  /// The slack that DP's guarantee leaves to the local mapping of sec. 5.3. The guarantee of 4/3
  /// leaves none.
  static constexpr double reach = std::is_same_v<Solver, hs::DualApprox2> ? 2 : 1;
};

/// Runs the graph under the paper's strategy. All strategies share one engine.
hs::Stats
run(std::string const& strategy, hs::Simulation const& config, hs::TaskGraph const& graph) {
  using hs::policies::add_scheduler;
  using hs::policies::AnyScheduler;
  if (strategy == "accel") {
    throw hs::Error(hs::ErrorCode::bad_input, strategy, "is not run on factorisations");
  }
  constexpr auto* what = "the paper's, nothing sent ahead";
  constexpr auto* heft = "heft:xkaapi:undisclosed";
  add_scheduler<Batches<hs::DualApprox2>>({"dual2:undisclosed", what});
  add_scheduler<Batches<hs::DualApprox43>>({"dual43:undisclosed", what});
  add_scheduler<hs::policies::XkaapiHeft<Undisclosed>>({heft, what});
  auto const* const name = strategy == "dp"     ? "dual2:undisclosed"
                           : strategy == "heft" ? heft
                                                : "dual43:undisclosed";
  hs::SimulatedRuntime<AnyScheduler, hs::policies::Lru> rt(config, AnyScheduler::Config{name});
  rt.run(graph);
  return rt.stats();
}

} // namespace

Result factorise(hs::Platform const& platform, std::string const& file, Factorisation const& what) {
  constexpr auto* name = "cholesky";
  lima2015::Claims claims;
  claims.workloads[name] = {what.matrix.precision, what.tile, 0};
  papers::Point const at({{"n", what.matrix.n}, {"gpus", static_cast<std::size_t>(what.gpus)}});
  auto machine = lima2015::machine_of(platform, file, claims, {name, at, what.strategy});
  if (what.cores > machine.classes[0].workers) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    file,
                    "has no " + std::to_string(what.cores) + " cores beside the GPUs");
  }
  machine.classes[0].workers = what.cores;
  auto const tiles = lima2015::tiles_of(claims, name, what.matrix.n);
  auto const graph = lima2015::graph_of(machine, claims, name, tiles);
  auto const stats = run(what.strategy,
                         {.platform = machine,
                          .algorithm = name,
                          .precision = what.matrix.precision,
                          .tile = what.tile,
                          .library = lima2015::library_of(machine, claims.workloads[name], name),
                          .transfers = hs::Simulation::Transfers::shared,
                          .window = what.window,
                          .time_decisions = true},
                         graph);
  Result result;
  result.seconds = stats.elapsed.seconds();
  result.scheduling_seconds = stats.deciding.seconds();
  result.flops = lima2015::flops_of(claims, name, tiles);
  result.tasks = graph.size();
  for (auto const& device : stats.devices) {
    result.bytes += static_cast<double>(device.bytes_from_host + device.bytes_to_host +
                                        device.bytes_from_peers);
  }
  std::uint64_t on_gpus = 0;
  for (auto w = static_cast<std::size_t>(what.cores); w < stats.workers.size(); ++w) {
    on_gpus += stats.workers[w].executed;
  }
  result.on_gpus_percent = 100 * static_cast<double>(on_gpus) / static_cast<double>(graph.size());
  return result;
}

} // namespace bleuse2015
