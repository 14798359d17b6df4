// SPDX-License-Identifier: MIT
#pragma once
// What transfers between this machine's memory nodes take.

#include <hetsched/gpu.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// x := x, on a device.
struct Touch : hs::Task<1>::Signature<hs::RW<hs::VectorView<double>>> {
  static constexpr std::string_view name = "touch";
};

} // namespace benchmarks

template <>
struct hetsched::TaskBodyGPU<benchmarks::Touch> {
  void operator()(GpuStream& stream, VectorView<double> x) const { gpu::scal(stream, 1.0, x); }
};

namespace benchmarks {

/// A task's priority is the number of the memory node whose worker runs it.
struct ToNode {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  std::vector<hs::TaskId> ready;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    ready.push_back(task);
    for (auto const& worker : ctx.workers()) {
      if (worker.node.value == ctx.task(task).priority) {
        return hs::Wake::worker(worker.id);
      }
    }
    return hs::Wake::none();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const node = ctx.workers()[worker.index()].node.value;
    auto const found = std::find_if(ready.begin(), ready.end(), [&](hs::TaskId task) {
      return ctx.task(task).priority == node;
    });
    if (found == ready.end()) {
      return hs::no_task;
    }
    auto const task = *found;
    ready.erase(found);
    return task;
  }
};

using LinkRuntime = hs::Runtime<ToNode>;

/// The time of one transfer, by the devices' own clocks: the least of several, as anything else
/// that goes on in the machine can only add to it. Between devices that do not reach each other it
/// is two transfers, by way of host memory.
inline double transfer_seconds(LinkRuntime& rt, std::size_t bytes, hs::NodeId from, hs::NodeId to) {
  std::vector<double> memory(bytes / sizeof(double), 1);
  auto const x = rt.data(memory);
  auto const bring = [&](hs::NodeId node) {
    if (node == hs::host_node) {
      rt.sync();
    } else {
      rt.spawn<Touch>(hs::priority(node.value))(x);
      rt.wait();
    }
  };
  double least = HUGE_VAL;
  for (int k = 0; k < 9; ++k) {
    bring(hs::host_node);
    bring(from);
    rt.reset_stats();
    bring(to);
    hs::Duration sum;
    for (auto const& device : rt.stats().devices) {
      sum += device.transfers;
    }
    least = std::min(least, sum.seconds());
  }
  return least;
}

struct Link {
  double bytes_per_s;
  double latency;
};

/// From the times of a small and a large transfer.
inline Link
link_of(std::size_t small, double small_seconds, std::size_t large, double large_seconds) {
  auto const per_byte =
      std::max((large_seconds - small_seconds) / static_cast<double>(large - small), 1e-15);
  auto const latency = small_seconds - static_cast<double>(small) * per_byte;
  return {1 / per_byte, std::max(latency, 0.0)};
}

/// Bandwidths and latencies between all memory nodes, by ping-pong.
inline std::vector<std::vector<Link>> measure_links(LinkRuntime& rt) {
  auto const nodes = rt.nodes();
  std::vector<std::vector<Link>> links(nodes.size(), std::vector<Link>(nodes.size(), {0, 0}));
  std::size_t large = std::size_t{1} << 26U;
  for (auto const& node : nodes.subspan(1)) {
    large = std::min(large, node.capacity_bytes / 4);
  }
  constexpr std::size_t small = 512;
  if (large < 16 * small) {
    throw hs::Error(hs::ErrorCode::bad_input, "--gpus", "have too little memory to measure with");
  }
  for (auto const& from : nodes) {
    for (auto const& to : nodes) {
      if (from.id != to.id) {
        links[static_cast<std::size_t>(from.id.value)][static_cast<std::size_t>(to.id.value)] =
            link_of(small,
                    transfer_seconds(rt, small, from.id, to.id),
                    large,
                    transfer_seconds(rt, large, from.id, to.id));
      }
    }
  }
  return links;
}

} // namespace benchmarks
