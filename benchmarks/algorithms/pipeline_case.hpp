// SPDX-License-Identifier: MIT
#pragma once
// Pipelines of three stages: a source, a parallel stage that takes the time, and one in order.

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include "case.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#ifdef ALGORITHMS_HAVE_TBB
#include <tbb/parallel_pipeline.h>
#endif

namespace algorithms_benchmark {

namespace hs = hetsched;

/// What the middle stage makes of an item, in a time that grows with `steps`.
inline std::uint64_t steps_from(std::uint64_t x, std::size_t steps) {
  for (std::size_t k = 0; k < steps; ++k) {
    x = x * 6364136223846793005U + 1442695040888963407U;
  }
  return x;
}

/// n items from a source, through a parallel stage of `steps` steps (of about 1 ns), to a last
/// stage in order. At most 16 items in flight.
inline Case pipeline_case(hs::Runtime<>& rt, char const* name, std::size_t steps) {
  constexpr std::size_t in_flight = 16;
  auto const serial = [steps](Data const& d) {
    std::uint64_t result = 0;
    for (std::size_t k = 0; k < d.x.size(); ++k) {
      result = 3 * result + steps_from(k, steps);
    }
    return result;
  };
  Case c{name,
         {},
         [](Data& d) { d.in_order = 0; },
         [serial](Data const& d) { return d.in_order == serial(d); },
         steps};
  c.peers.push_back({"serial", [serial](Data& d) { d.in_order = serial(d); }});
  c.peers.push_back(
      {"hetsched", [&rt, steps](Data& d) {
         d.in_order = 0;
         hs::pipeline(
             rt,
             in_flight,
             [k = std::size_t{0}, n = d.x.size()]() mutable {
               return k == n ? std::nullopt : std::optional(k++);
             },
             hs::parallel([steps](std::size_t k) { return steps_from(k, steps); }),
             hs::in_order([&d](std::uint64_t v) { d.in_order = 3 * d.in_order + v; }));
       }});
#ifdef ALGORITHMS_HAVE_TBB
  c.peers.push_back(
      {"onetbb", [steps](Data& d) {
         using Mode = tbb::filter_mode;
         std::size_t next = 0;
         d.in_order = 0;
         tbb::parallel_pipeline(
             in_flight,
             tbb::make_filter<void, std::size_t>(Mode::serial_in_order,
                                                 [&](tbb::flow_control& flow) {
                                                   if (next == d.x.size()) {
                                                     flow.stop();
                                                     return next;
                                                   }
                                                   return next++;
                                                 }) &
                 tbb::make_filter<std::size_t, std::uint64_t>(
                     Mode::parallel, [steps](std::size_t k) { return steps_from(k, steps); }) &
                 tbb::make_filter<std::uint64_t, void>(Mode::serial_in_order, [&](std::uint64_t v) {
                   d.in_order = 3 * d.in_order + v;
                 }));
       }});
#endif
  return c;
}

} // namespace algorithms_benchmark
