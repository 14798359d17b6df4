// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on which schedulers do as badly as the papers prove that they can: the
// instances of Kumar 2017, theorems 5.8, 5.11 and 5.14 to 5.17, and of Bleuse et al. 2015, lemma 3;
// and runs of such tasks in virtual time.

#include <hetsched/hetsched.hpp>
#include <hetsched/independent/independent_tasks.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace worst_cases {

namespace hs = hetsched;

/// Equal tasks.
struct Kind {
  hs::TaskTimes times;
  std::int64_t count = 1;
  std::int32_t priority = 0;
  int gpu = -1; // that they are on in the proof's best schedule; -1: on cores
};

/// In the order in which tasks become ready, all at once. GPUs are to be served first.
struct Instance {
  std::string name;
  hs::TwoClasses machine;
  std::vector<Kind> kinds;
  double limit = 0; // what the ratio tends to

  [[nodiscard]] std::vector<hs::TaskTimes> tasks() const {
    std::vector<hs::TaskTimes> all;
    for (auto const& kind : kinds) {
      all.insert(all.end(), static_cast<std::size_t>(kind.count), kind.times);
    }
    return all;
  }
};

/// Of the schedule that the proof compares with, on cores the longest tasks first: no less than the
/// best makespan.
inline hs::Duration good_makespan(Instance const& instance) {
  std::vector<std::int64_t> gpus(static_cast<std::size_t>(instance.machine.gpus), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> on_cores; // time, count
  for (auto const& kind : instance.kinds) {
    if (kind.gpu >= 0) {
      gpus[static_cast<std::size_t>(kind.gpu)] += kind.times.gpu.ns * kind.count;
    } else {
      on_cores.emplace_back(kind.times.cpu.ns, kind.count);
    }
  }
  std::sort(on_cores.begin(), on_cores.end(), std::greater<>());
  std::vector<std::int64_t> const idle(static_cast<std::size_t>(instance.machine.cpus), 0);
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> cores(
      std::greater<>(), idle);
  auto longest = gpus.empty() ? 0 : *std::max_element(gpus.begin(), gpus.end());
  for (auto const& [time, count] : on_cores) {
    for (std::int64_t k = 0; k < count; ++k) {
      auto const end = cores.top() + time;
      cores.pop();
      cores.push(end);
      longest = std::max(longest, end);
    }
  }
  return {longest};
}

/// What a scheduler makes of tasks that become ready at once and in this order, in virtual time.
template <class Scheduler>
hs::Duration run(hs::TwoClasses machine, std::vector<Kind> const& kinds) {
  using Times = std::pair<std::int64_t, std::int64_t>;
  std::map<Times, std::string> names;
  hs::Platform platform;
  platform.name = "of two classes";
  platform.classes = {{"cpu", hs::ArchHost, machine.cpus, ""},
                      {"cuda", hs::ArchCUDA, machine.gpus, ""}};
  for (auto const& kind : kinds) {
    auto const [at, fresh] = names.try_emplace(Times(kind.times.cpu.ns, kind.times.gpu.ns));
    if (!fresh) {
      continue;
    }
    at->second = std::to_string(at->first.first) + "/" + std::to_string(at->first.second);
    auto& kernel = platform.kernels.emplace_back();
    kernel.name = at->second;
    kernel.algorithms = {"independent"};
    for (auto const time : {kind.times.cpu, kind.times.gpu}) {
      kernel.times.push_back(time == hs::TaskTimes::never
                                 ? std::nullopt
                                 : std::optional(hs::Platform::KernelTime{time, {}, {}}));
    }
  }
  std::vector<hs::TaskGraph::Node> nodes;
  for (auto const& kind : kinds) {
    hs::TaskGraph::Node node;
    node.type = names.at(Times(kind.times.cpu.ns, kind.times.gpu.ns));
    node.priority = kind.priority;
    nodes.insert(nodes.end(), static_cast<std::size_t>(kind.count), node);
  }
  hs::SimulatedRuntime<Scheduler> rt(hs::Simulation{.platform = std::move(platform),
                                                    .algorithm = "independent",
                                                    .serve = hs::Simulation::Serve::gpu});
  rt.run(hs::TaskGraph(std::move(nodes), {}));
  return rt.stats().elapsed;
}

template <class Scheduler>
double ratio(Instance const& instance) {
  return run<Scheduler>(instance.machine, instance.kinds).seconds() /
         good_makespan(instance).seconds();
}

/// Theorem 5.8, one core and one GPU: phi. In Fibonacci numbers, so that both factors are about phi
/// and the GPU prefers the shorter task, though by less than what rounding is.
inline Instance two_tasks() {
  std::int64_t before = 1;
  std::int64_t middle = 1;
  std::int64_t after = 2;
  for (int k = 0; k < 41; ++k) { // an odd number: then middle / before > after / middle
    before = std::exchange(middle, std::exchange(after, middle + after));
  }
  return {"theorem 5.8",
          {1, 1},
          {{{{middle}, {before}}, 1, 1, -1}, {{{after}, {middle}}, 1, 0, 0}},
          std::numbers::phi};
}

namespace detail {

inline constexpr std::int64_t unit = 1'000'000'000;

struct Length {
  std::int64_t units;
  int gpu; // in the best schedule
};

/// The common form of theorems 5.14, 5.16 and 5.17 (its figures 5.6, 5.8 and 5.10). Cores and GPUs
/// are kept busy until x by small tasks, T3 and T4, for which cores would have had time elsewhere.
/// Then GPUs take T1, cores T2, which GPUs take over in the order of `lengths`: a list schedule
/// that ends late, at `late` units, the last task not being worth it. The best schedule has T2 on
/// GPUs, in `best` units.
inline Instance spoliated_list(std::string name,
                               hs::TwoClasses machine,
                               std::vector<Length> const& lengths,
                               std::int64_t late,
                               std::int64_t best,
                               std::int64_t slices) {
  auto const shortest = std::min_element(lengths.begin(), lengths.end(), [](auto a, auto b) {
                          return a.units < b.units;
                        })->units;
  double const m = machine.cpus;
  double const n = machine.gpus;
  auto const b = static_cast<double>(best);
  auto const s = static_cast<double>(shortest);
  auto const l = static_cast<double>(late);
  auto const r = (l + std::sqrt(l * l + 4 * s * b)) / (2 * s); // b / r + late = s r
  auto const x = (m - n) / (m + n * r) * b;
  // The times of T2 on cores are rounded down: factors of T1 are not below those of T2 then.
  auto const on_core = static_cast<std::int64_t>(s * r * unit);
  auto const slice = static_cast<std::int64_t>(x * unit / static_cast<double>(slices));
  auto const slice_on_core = static_cast<std::int64_t>(static_cast<double>(slice) * r) + 2;
  Instance instance{std::move(name), machine, {}, (b + s * r) / b};
  auto const many = static_cast<std::int32_t>(lengths.size());
  instance.kinds.push_back({{{slice_on_core}, {slice}}, machine.gpus * slices, many + 2, -1}); // T4
  instance.kinds.push_back({{{slice}, {slice}}, machine.cpus * slices, 0, -1});                // T3
  instance.kinds.push_back(
      {{{best * unit}, {on_core - late * unit}}, machine.gpus, many + 1, -1}); // T1
  auto priority = many;
  for (auto const& length : lengths) { // T2
    instance.kinds.push_back({{{on_core}, {length.units * unit}}, 1, priority--, length.gpu});
  }
  return instance;
}

} // namespace detail

/// Theorem 5.11, m cores and one GPU: tends to 1 + phi.
inline Instance one_gpu(int cpus, std::int64_t slices = 100) {
  using detail::unit;
  auto const phi = std::numbers::phi;
  auto const x = (cpus - 1) / (cpus + phi);
  auto const longer = static_cast<std::int64_t>(phi * unit); // rounded down, and so is 1 / phi
  auto const slice = static_cast<std::int64_t>(x * unit / static_cast<double>(slices));
  auto const slice_on_core = static_cast<std::int64_t>(static_cast<double>(slice) * phi) + 2;
  return {"theorem 5.11",
          {cpus, 1},
          {{{{slice_on_core}, {slice}}, slices, 3, -1},
           {{{slice}, {slice}}, cpus * slices, 0, -1},
           {{{unit}, {longer - unit}}, 1, 2, -1},
           {{{longer}, {unit}}, 1, 1, 0}},
          1 + phi};
}

/// Theorem 5.14, m cores and two GPUs: tends to (7 + sqrt 17) / 4.
inline Instance two_gpus(int cpus, std::int64_t slices = 100) {
  return detail::spoliated_list("theorem 5.14", {cpus, 2}, {{1, 0}, {1, 0}, {2, 1}}, 3, 2, slices);
}

namespace detail {

/// What 6 k equal workers do in 6 k units, or in this order in 12 k - 1 (figures 5.7 and 5.9).
inline std::vector<Length> long_list(int k) {
  std::vector<Length> lengths;
  auto const six_of = [&](int length) {
    for (int j = 0; j < 6; ++j) {
      auto const i = length - 2 * k; // 0, 1 .. k - 1, k, k + 1 .. 2 k - 1
      auto const gpu = i == 0   ? 6 * k - 3 + j / 3
                       : i == k ? 6 * k - 6 + j / 2
                                : 6 * ((i < k ? i : 2 * k - i) - 1) + j;
      lengths.push_back({length, gpu});
    }
  };
  for (int length = 2 * k; length < 3 * k; ++length) {
    six_of(length);
  }
  for (int length = 4 * k - 1; length >= 3 * k; --length) {
    six_of(length);
  }
  lengths.push_back({6 * k, 6 * k - 1});
  return lengths;
}

} // namespace detail

/// Theorem 5.15: the same tasks on six equal GPUs, one task after another from a list: 11 / 6.
inline Instance six_equal(int k = 1) {
  Instance instance{"theorem 5.15", {0, 6 * k}, {}, 2 - 1.0 / (6 * k)};
  auto const lengths = detail::long_list(k);
  auto priority = static_cast<std::int32_t>(lengths.size());
  for (auto const& length : lengths) {
    instance.kinds.push_back(
        {{hs::TaskTimes::never, {length.units * detail::unit}}, 1, priority--, length.gpu});
  }
  return instance;
}

/// Theorem 5.16, m cores and six GPUs: tends to 3.
inline Instance six_gpus(int cpus, std::int64_t slices = 100) {
  return detail::spoliated_list("theorem 5.16", {cpus, 6}, detail::long_list(1), 11, 6, slices);
}

/// Theorem 5.17, n = 6 k GPUs and n^2 cores: tends to 2 + 2 / sqrt 3 as k grows.
inline Instance many_gpus(int k, std::int64_t slices = 60) {
  auto const n = 6 * k;
  auto instance = detail::spoliated_list(
      "theorem 5.17", {n * n, n}, detail::long_list(k), 2 * n - 1, n, slices);
  instance.limit = 2 + 2 / std::sqrt(3);
  return instance;
}

/// Bleuse et al. 2015, lemma 3, m cores and one GPU, with m tasks of type B in each row, which is
/// what its proof speaks of (the instance has m - 1), and without its first m tasks, which a GPU
/// ends at once: HEFT ends at (m + 1) / 2, the best schedule at 1. Type A is faster on the GPU by
/// 1 ns, so that ties do not matter.
inline Instance lemma_3(int cpus) {
  using detail::unit;
  Instance instance{"lemma 3", {cpus, 1}, {}, (cpus + 1) / 2.0};
  for (int i = 0; i < cpus; ++i) {
    auto const time = unit - i * (unit / cpus);
    instance.kinds.push_back({{{time}, {time - 1}}, 1, 0, -1});
    instance.kinds.push_back({{{time}, {unit / cpus / cpus}}, cpus, 0, 0});
  }
  return instance;
}

} // namespace worst_cases
