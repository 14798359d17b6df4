// SPDX-License-Identifier: MIT
#pragma once
// What tests of the engine of virtual time share: a machine whose schedules can be worked out on
// paper, and task types for it.

#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulated {

namespace hs = hetsched;

using Cell = hs::VectorView<int>;

/// Task types that differ in where they are fast: see `machine`.
struct Even : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "Even";
};

struct Fast : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "Fast";
};

struct Mix : hs::Task<2>::Signature<hs::R<Cell>, hs::RW<Cell>> {
  static constexpr std::string_view name = "Mix";
};

struct Alone : hs::Task<0>::Signature<> {
  static constexpr std::string_view name = "Alone";
};

struct Set : hs::Task<1>::Signature<hs::W<Cell>> {
  static constexpr std::string_view name = "Set";
};

struct HostOnly : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "HostOnly";
};

struct GpuOnly : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "GpuOnly";
};

struct GpuMix : hs::Task<2>::Signature<hs::R<Cell>, hs::RW<Cell>> {
  static constexpr std::string_view name = "GpuMix";
};

struct Swap : hs::Task<1>::Signature<hs::Commute<Cell>> {
  static constexpr std::string_view name = "Swap";
};

struct Add : hs::Task<1>::Signature<hs::CW<Cell, hs::Sum<int>>> {
  static constexpr std::string_view name = "Add";
};

/// No body runs in virtual time.
template <class... Arguments>
struct NoBody {
  void operator()(Arguments...) const { throw std::logic_error("a body ran"); }
};

inline hs::Platform::Kernel
kernel(std::string name, std::optional<std::int64_t> cpu, std::optional<std::int64_t> gpu) {
  hs::Platform::Kernel kernel;
  kernel.name = std::move(name);
  kernel.library = "by hand";
  kernel.algorithms = {"test"};
  for (auto const ns : {cpu, gpu}) {
    kernel.times.push_back(ns ? std::optional(hs::Platform::KernelTime{{*ns}, {}, {}})
                              : std::nullopt);
  }
  return kernel;
}

inline hs::Platform machine(int cpus, int gpus) {
  hs::Platform platform;
  platform.name = "paper";
  platform.classes = {{"cpu", hs::ArchHost, cpus, ""}, {"cuda", hs::ArchCUDA, gpus, ""}};
  platform.kernels = {kernel("Even", 10, 10),
                      kernel("Fast", 40, 10),
                      kernel("Mix", 30, 20),
                      kernel("Alone", 7, 3),
                      kernel("Set", 10, 10),
                      kernel("HostOnly", 5, std::nullopt),
                      kernel("GpuOnly", std::nullopt, 5),
                      kernel("GpuMix", std::nullopt, 20),
                      kernel("Swap", 10, 10),
                      kernel("Add", 10, 10)};
  return platform;
}

inline hs::Simulation on(int cpus, int gpus) {
  return {.platform = machine(cpus, gpus), .algorithm = "test"};
}

template <class Rt>
std::vector<hs::Handle<Cell>> cells(Rt& rt, std::vector<int>& memory) {
  std::vector<hs::Handle<Cell>> handles;
  for (auto& cell : memory) {
    handles.push_back(rt.data(&cell, 1));
  }
  return handles;
}

/// Every two memory nodes are joined by 1 byte a nanosecond and 5 ns of latency, and with host
/// memory by one bus of as much. A datum of `array` elements takes 100 bytes, and 256 of a memory.
inline constexpr std::size_t array = 25;

inline hs::Simulation
joined(int cpus, int gpus, hs::Simulation::Transfers transfers, int window = 1) {
  auto config = on(cpus, gpus);
  config.transfers = transfers;
  config.window = window;
  auto const nodes = static_cast<std::size_t>(gpus) + 1;
  for (std::size_t n = 0; n < nodes; ++n) {
    config.platform.nodes.push_back({"node " + std::to_string(n), 0});
  }
  config.platform.routes.assign(nodes * nodes, {1e9, hs::Duration{5}, {}});
  config.platform.links = {{"bus", 1e9}};
  for (std::size_t n = 1; n < nodes; ++n) {
    config.platform.routes[n].links = {0};
    config.platform.routes[n * nodes].links = {0};
  }
  return config;
}

inline hs::Simulation with_memory(hs::Simulation config, std::size_t bytes) {
  for (std::size_t n = 1; n < config.platform.nodes.size(); ++n) {
    config.platform.nodes[n].capacity_bytes = bytes;
  }
  return config;
}

template <class Rt>
std::vector<hs::Handle<Cell>> arrays(Rt& rt, std::vector<int>& memory) {
  std::vector<hs::Handle<Cell>> handles;
  for (std::size_t k = 0; k + array <= memory.size(); k += array) {
    handles.push_back(rt.data(&memory[k], array));
  }
  return handles;
}

template <class Rt>
std::int64_t waited(Rt& rt) {
  rt.wait();
  return rt.stats().elapsed.ns;
}

/// A random program on a few data; the same calls whatever the runtime. Labels are numbers from 0
/// on, in program order.
class RandomSpawns {
public:
  explicit RandomSpawns(std::uint64_t seed) : seed_(seed) {}

  template <class Rt, class Cells>
  void operator()(Rt& rt, Cells const& x) const {
    std::mt19937_64 dice(seed_);
    auto const cell = [&] { return x[dice() % x.size()]; };
    for (int k = 0; k < 60; ++k) {
      auto const priority = hs::priority(static_cast<int>(dice() % 4));
      auto const name = std::to_string(k);
      auto const label = hs::label(name);
      switch (dice() % 6) {
      case 0:
        rt.template spawn<Even>(priority, label)(cell());
        break;
      case 1:
        rt.template spawn<Fast>(priority, label)(cell());
        break;
      case 2:
        rt.template spawn<HostOnly>(priority, label)(cell());
        break;
      case 3:
        rt.template spawn<Alone>(priority, label)();
        break;
      default: {
        auto const from = cell();
        auto const to = cell();
        rt.template spawn<Mix>(priority, label)(from, to);
      }
      }
    }
  }

private:
  std::uint64_t seed_;
};

} // namespace simulated

template <>
struct hetsched::TaskBodyCPU<simulated::Even> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Fast> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Mix>
    : simulated::NoBody<hetsched::VectorView<int const>, simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::GpuMix>
    : simulated::NoBody<hetsched::VectorView<int const>, simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Alone> : simulated::NoBody<> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Set> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::HostOnly> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::GpuOnly> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Swap> : simulated::NoBody<simulated::Cell> {};

template <>
struct hetsched::TaskBodyCPU<simulated::Add> : simulated::NoBody<simulated::Cell> {};
