// SPDX-License-Identifier: MIT
// What simulate says of a run: a row, a trace, a picture.

#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/trace/formats/write_trace.hpp>

#include "run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace benchmarks {

namespace {

/// Of all workers of a class, from the first task's begin to the last one's end.
double idle_seconds(Case const& instance, Result const& result, std::size_t worker_class) {
  std::size_t first = 0;
  for (std::size_t c = 0; c < worker_class; ++c) {
    first += static_cast<std::size_t>(instance.platform.classes[c].workers);
  }
  hs::Duration idle;
  for (int k = 0; k < instance.platform.classes[worker_class].workers; ++k) {
    idle += result.stats.workers[first + static_cast<std::size_t>(k)].idle -
            (result.stats.elapsed - result.makespan);
  }
  return idle.seconds();
}

/// The equivalent acceleration factor of what a class ran (Kumar 2017, sec. 5.6.2): its time on
/// cores over its time on GPUs.
ordered_json acceleration(Result const& result, int on) {
  return result.comparable[on] && result.equal_gpu[on].ns != 0
             ? ordered_json(result.equal_cpu[on].seconds() / result.equal_gpu[on].seconds())
             : ordered_json(nullptr);
}

} // namespace

ordered_json row_of(Case const& instance,
                    Options const& options,
                    std::string_view scheduler,
                    std::uint64_t seed,
                    Result const& result) {
  auto const& stats = result.stats;
  auto const makespan = result.makespan;
  std::uint64_t bytes = 0;
  std::uint64_t ahead = 0;
  std::uint64_t in_vain = 0;
  std::uint64_t hits = 0;
  std::uint64_t uses = 0;
  std::uint64_t evictions = 0;
  for (auto const& device : stats.devices) {
    bytes += device.bytes_from_host + device.bytes_to_host + device.bytes_from_peers;
    ahead += device.bytes_ahead;
    in_vain += device.bytes_ahead - device.bytes_ahead_used;
    hits += device.hits;
    uses += device.hits + device.misses;
    evictions += device.evictions_clean + device.evictions_dirty;
  }
  ordered_json row;
  row["platform"] = instance.platform.name;
  row["dag"] = options.machine.dag;
  row["tiles"] = instance.tiles ? ordered_json(*instance.tiles) : nullptr;
  row["precision"] = options.machine.precision;
  row["tile"] = options.machine.tile;
  row["library"] = instance.library;
  row["cpus"] = instance.platform.classes[0].workers;
  row["gpus"] = instance.platform.classes[1].workers;
  row["cores_each"] = options.machine.group;
  row["serve"] = options.serve;
  row["comm"] = options.comm;
  row["window"] = options.comm == "free" ? 1 : options.window;
  row["cache"] = options.cache;
  row["noise"] = options.noise;
  row["related"] = instance.related ? ordered_json(*instance.related) : nullptr;
  if (!options.machine.trace_times.empty()) { // types whose times on GPUs are not measured
    row["assumed"] = ordered_json::array();
    for (auto const& kernel : instance.platform.kernels) {
      if (!kernel.measured) {
        row["assumed"].push_back(kernel.name);
      }
    }
  }
  row["tasks"] = instance.graph.size();
  row["scheduler"] = scheduler;
  row["rank"] = options.rank;
  row["seed"] = seed;
  row["makespan_s"] = makespan.seconds();
  row["gflops"] =
      instance.tiles
          ? ordered_json(options.machine.flops(*instance.tiles) / static_cast<double>(makespan.ns))
          : nullptr;
  instance.bounds.add_to(row);
  auto const best = instance.bounds.best();
  row["ratio"] = best ? ordered_json(makespan.seconds() / best->seconds()) : nullptr;
  row["solver_bound_s"] =
      instance.plan_bound ? ordered_json(instance.plan_bound->seconds()) : ordered_json(nullptr);
  row["proved"] =
      instance.plan_bound && options.comm == "free" && options.noise == 0
          ? ordered_json(makespan <= std::max(*instance.plan_bound, best.value_or(hs::Duration{})))
          : ordered_json(nullptr);
  auto const planned = result.planned ? result.planned : instance.planned;
  row["plan_s"] =
      planned && !options.deterministic ? ordered_json(*planned) : ordered_json(nullptr);
  row["idle_cpu_s"] = idle_seconds(instance, result, 0);
  row["idle_gpu_s"] = idle_seconds(instance, result, 1);
  // By what the class does in the area bound's solution (sec. 5.6.2).
  auto const& use = instance.bounds.area_use;
  auto const normalised = [&](std::size_t worker_class) {
    bool const used = !use.empty() && use[worker_class].ns != 0;
    return used ? ordered_json(idle_seconds(instance, result, worker_class) /
                               use[worker_class].seconds())
                : ordered_json(nullptr);
  };
  row["idle_cpu_norm"] = normalised(0);
  row["idle_gpu_norm"] = normalised(1);
  row["accel_cpu"] = acceleration(result, 0);
  row["accel_gpu"] = acceleration(result, 1);
  bool const moves = !stats.devices.empty(); // else transfers are free, caches without limit
  row["bytes"] = moves ? ordered_json(bytes) : nullptr;
  row["bytes_ahead"] = moves ? ordered_json(ahead) : nullptr;
  row["bytes_in_vain"] = moves ? ordered_json(in_vain) : nullptr;
  row["hit_ratio"] =
      uses != 0 ? ordered_json(static_cast<double>(hits) / static_cast<double>(uses)) : nullptr;
  row["evictions"] = moves ? ordered_json(evictions) : nullptr;
  row["home_s"] = (stats.elapsed - makespan).seconds();
  row["aborts"] = stats.aborted;
  row["wasted_s"] = stats.wasted.seconds();
  auto const tasks = static_cast<double>(instance.graph.size());
  row["sched_ns_per_task"] = options.deterministic || options.speed
                                 ? ordered_json(nullptr)
                                 : ordered_json(static_cast<double>(stats.deciding.ns) / tasks);
  row["tasks_per_s"] = options.speed ? ordered_json(tasks / result.real_seconds) : nullptr;
  return row;
}

void check_one_run(Options const& options, std::size_t runs) {
  for (auto const& [file, option, does] :
       {std::tuple(&options.gantt, "--gantt", "draws"),
        std::tuple(&options.trace, "--trace", "is of"),
        std::tuple(&options.plans.save, "--save-schedule", "is of")}) {
    if (!file->empty() && runs != 1) {
      throw hs::Error(hs::ErrorCode::bad_input,
                      option,
                      std::string(does) + " one run, and these are " + std::to_string(runs));
    }
  }
  auto const plan = StaticChoice::of(options.scheduler);
  if (options.plans.inflate != 0 && options.plans.save.empty() && !(plan && plan->computes())) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "--inflate-cpus",
                    "is for schedules that are computed or saved: static:heft, static:search, "
                    "static:solver, --save-schedule");
  }
}

void write_trace(Case const& instance,
                 Options const& options,
                 std::string_view scheduler,
                 Result& result) {
  auto& trace = result.trace;
  trace.scheduler = scheduler;
  trace.about = {{"platform", instance.platform.name},
                 {"graph", options.machine.dag},
                 {"precision", options.machine.precision},
                 {"tile", std::to_string(options.machine.tile)},
                 {"transfers", options.comm},
                 {"rank", options.rank}};
  if (instance.tiles) {
    trace.about.emplace_back("tiles", std::to_string(*instance.tiles));
  }
  auto const& bounds = instance.bounds;
  for (auto const& [name, bound] : {std::pair("area", bounds.area),
                                    std::pair("mixed", bounds.mixed),
                                    std::pair("critical path", bounds.path),
                                    std::pair("iterative", bounds.iterative),
                                    std::pair("transfer", bounds.transfer)}) {
    if (bound) {
      trace.bounds.emplace_back(name, *bound);
    }
  }
  for (auto& type : trace.types) {
    auto const* const kernel = instance.platform.find(type.name,
                                                      options.machine.kernels_of(),
                                                      options.machine.arithmetic(),
                                                      options.machine.tile,
                                                      instance.library);
    for (std::size_t c = 0; kernel != nullptr && c < instance.platform.classes.size(); ++c) {
      if (auto const& time = kernel->on(c)) {
        type.expected[instance.platform.classes[c].arch.index] = time->mean;
      }
    }
  }
  hs::write_trace(trace, options.trace);
}

void draw(Case const& instance,
          Options const& options,
          std::string_view scheduler,
          Result& result) {
  auto title = std::string(scheduler) + ", " + options.machine.dag;
  if (instance.tiles) {
    title += " of " + std::to_string(*instance.tiles) + " x " + std::to_string(*instance.tiles) +
             " tiles";
  }
  title += " on " + instance.platform.name + ", virtual time";
  std::vector<std::pair<std::string, hs::Duration>> marks;
  if (auto const best = instance.bounds.best()) {
    marks.emplace_back("lower bound", *best);
  }
  hs::detail::replace_file(options.gantt,
                           result.gantt.svg(title, instance.platform, result.makespan, marks));
}

} // namespace benchmarks
