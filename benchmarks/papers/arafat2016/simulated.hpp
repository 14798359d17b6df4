// SPDX-License-Identifier: MIT
#pragma once
// One collection in virtual time.

#include <hetsched/platform/network.hpp>
#include <hetsched/platform/one_sided_costs.hpp>
#include <hetsched/platform/platform.hpp>

#include "node_times.hpp"
#include "workloads.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace arafat2016 {

/// The paper's cluster, with what its nodes may use.
struct Machine {
  hs::Platform both; // two teams of cores, and the GPU
  hs::Platform gpu;  // the GPU only
  hs::Platform cpu;  // single cores only
  hs::Network network;
};

/// Throws Error(bad_input) that names a file.
[[nodiscard]] Machine read_machine(std::string const& platform,
                                   std::string const& cpu_platform,
                                   std::string const& network);

/// The rules of figure 8, and for figure 9 none. The thresholds are ours.
enum class Thief : std::uint8_t {
  nobody,
  single_ended, // of original Scioto
  double_queue,
  either_end,
  gpu_ended,   // below 2 GPU tasks
  double_ended // below 8 tasks
};

struct Setup {
  hs::Platform const* platform = nullptr; // a Machine's
  Thief thief = Thief::nobody;
  int ranks = 1;
  int gpu_tasks = 0;            // CollectionOptions::gpu_tasks
  int window = 8;               // Simulation::window
  bool leave_to_faster = false; // CollectionOptions::leave_to_faster
  hs::OneSidedCosts costs = {};
  std::uint64_t seed = 1;
  std::function<hs::EstimatedTimes(std::size_t)> estimate = {}; // CollectionSimulation::estimate
  std::string trace = {}; // a file for each execution: rank, worker, task, begin, end (ns); or none
};

struct Outcome {
  double seconds = 0;
  double gigabytes = 0; // of values between ranks
  double steals = 0;
  double tries = 0;
  double stolen = 0;
  double gpu_tasks = 0;        // percent of all
  double cpu_busy_percent = 0; // of the time of all workers of this kind, on ranks with tasks
  double gpu_busy_percent = 0;
};

/// `times`: of the workload's tasks.
[[nodiscard]] Outcome
simulate(Setup const& setup, Machine const& machine, TaskTime const& times, Workload const& work);

} // namespace arafat2016
