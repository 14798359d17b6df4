// SPDX-License-Identifier: MIT

#include "node_times.hpp"

#include <hetsched/core/error.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace arafat2016 {

namespace {

// Bytes per second; sources in benchmarks/derive_scioto.py.
constexpr double team_memory = 17.9e9;
constexpr double gpu_memory = 101e9;

hs::Platform::KernelTime const*
time_on(hs::Platform const& platform, hs::Platform::Kernel const& kernel, hs::Arch arch) {
  for (std::size_t c = 0; c < platform.classes.size(); ++c) {
    if (platform.classes[c].arch == arch && kernel.times[c]) {
      return &*kernel.times[c];
    }
  }
  return nullptr;
}

} // namespace

hs::Duration product_time(hs::Platform const& platform,
                          std::string const& library,
                          std::size_t n,
                          hs::Arch arch) {
  auto const* kernel =
      platform.find("dgemm", "scioto", hs::Precision::double_precision, n, library);
  auto const* time = kernel == nullptr ? nullptr : time_on(platform, *kernel, arch);
  if (time == nullptr) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "platform '" + platform.name + "'",
                    "has no time of dgemm, n = " + std::to_string(n) + ", library " + library);
  }
  return time->mean;
}

hs::Duration
copies(hs::Platform const& node, std::initializer_list<std::size_t> in, std::size_t out) {
  auto time = node.transfer(out, {1}, {0});
  for (auto const bytes : in) {
    time += node.transfer(bytes, {0}, {1});
  }
  return time;
}

hs::EstimatedTimes product_estimate(hs::Platform const& node, std::size_t n) {
  auto const bytes = n * n * sizeof(double);
  return {product_time(node, "derived", n, hs::ArchHost),
          product_time(node, "derived", n, hs::ArchCUDA) + copies(node, {bytes, bytes}, bytes)};
}

TaskTime product_times(hs::Platform const& platform, std::string const& library) {
  std::map<std::pair<std::size_t, bool>, hs::Duration> times;
  for (auto const& kernel : platform.kernels) {
    for (auto const arch : {hs::Arch(hs::ArchHost), hs::Arch(hs::ArchCUDA)}) {
      auto const* const time = time_on(platform, kernel, arch);
      if (kernel.name == "dgemm" && kernel.library == library && time != nullptr) {
        times[{kernel.tile * kernel.tile * sizeof(double), arch == hs::ArchHost}] = time->mean;
      }
    }
  }
  return [times, name = platform.name](hs::TaskView const& task, hs::Arch arch, hs::Duration) {
    auto const bytes = task.argument(0).bytes;
    auto const found = times.find({bytes, arch == hs::ArchHost});
    if (found == times.end()) {
      throw hs::Error(hs::ErrorCode::bad_input,
                      "platform '" + name + "'",
                      "has no time of dgemm with matrices of " + std::to_string(bytes) + " bytes");
    }
    return found->second;
  };
}

ContractionTimes::ContractionTimes(hs::Platform const& platform) {
  constexpr std::size_t n = 1600;
  constexpr double flops = 2.0 * static_cast<double>(n * n * n);
  for (auto const& workers : platform.classes) {
    if (workers.workers == 0) {
      continue;
    }
    bool const host = workers.arch == hs::ArchHost;
    (host ? cpu_ : gpu_) = {
        product_time(platform, "derived", n, workers.arch).seconds() / flops,
        1 / (host ? team_memory * std::min(workers.cores, team_cores) / team_cores : gpu_memory)};
  }
}

hs::Duration ContractionTimes::operator()(double flops, std::size_t bytes, hs::Arch arch) const {
  auto const& cost = arch == hs::ArchHost ? cpu_ : gpu_;
  auto const moved = 2 * static_cast<double>(bytes); // read and written
  return {static_cast<std::int64_t>((cost.of_flop * flops + cost.of_byte * moved) * 1e9)};
}

hs::EstimatedTimes ContractionTimes::estimate(hs::Platform const& node,
                                              CcsdT const& input,
                                              Contraction const& contraction) const {
  auto const left = input.blocks[contraction.left].bytes;
  auto const right = input.blocks[contraction.right].bytes;
  auto const output = input.blocks[contraction.output].bytes;
  auto const all = left + right + output;
  return {(*this)(contraction.flops(), all, hs::ArchHost),
          (*this)(contraction.flops(), all, hs::ArchCUDA) + copies(node, {left, right}, output)};
}

TaskTime ContractionTimes::of_tasks() const {
  return [times = *this](hs::TaskView const& task, hs::Arch arch, hs::Duration) {
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < task.arguments; ++k) {
      bytes += task.argument(k).bytes;
    }
    return times(static_cast<double>(task.flops), bytes, arch);
  };
}

} // namespace arafat2016
