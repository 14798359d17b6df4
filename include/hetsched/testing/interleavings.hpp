// SPDX-License-Identifier: MIT
#pragma once
// Runs small programs through many interleavings of their threads, on one core.
//
// The whole program must be compiled with HETSCHED_CONTROLLED defined. Then each atomic operation,
// lock and sleep of the engine and of the policies is a point where a controller chooses which
// thread goes on. The threads are fibers, and one runs at a time. A lost wake-up shows as a
// deadlock. A run is repeated by its seed, exactly if memory has the same addresses, since locks
// are taken in their order. Memory orders are taken as sequentially consistent, so ThreadSanitizer
// has to look at those. Config::devices must be "none", unless the sources of hetsched_devices are
// compiled with HETSCHED_CONTROLLED, too: its emulated devices then have fibers.

#ifndef HETSCHED_CONTROLLED
#error                                                                                             \
    "hetsched/testing/interleavings.hpp: compile the whole program with HETSCHED_CONTROLLED defined"
#endif

#include <hetsched/detail/controlled/controller.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hetsched::testing {

/// Which interleavings are tried.
struct InterleavingOptions {
  std::uint64_t runs = 1000; // at most
  std::uint64_t seed = 0;    // of the first run; each further run has the next one

  /// Not negative: instead of random ones, all with at most so many switches away from a thread
  /// that could have gone on.
  int preemptions = -1;
};

/// What came out.
struct Interleavings {
  std::uint64_t runs = 0;
  std::uint64_t points = 0;  // of all runs
  std::uint64_t longest = 0; // points of one run
  int threads = 0;           // of one run, at most
  bool all = false;          // there are no others with so few preemptions
  std::string failure;       // what was wrong in the last run; empty: nothing
  std::uint64_t seed = 0;    // of the last run

  [[nodiscard]] explicit operator bool() const noexcept { return failure.empty(); }
};

/// Runs the program, a function without arguments, once for each interleaving, until one is wrong.
/// A run is wrong if an `expect` in it does not hold, if an exception leaves it, if all its threads
/// sleep, if it takes more than 200,000 steps, or if a thread is left at its end. The failure says
/// what each thread waits for and what the last steps were, as addresses in the program. What a
/// wrong run had is not freed. Not thread-safe.
template <class Program>
Interleavings explore_interleavings(Program program, InterleavingOptions const& options = {});

/// In a program that is explored: notes that the run is wrong unless `holds`.
inline void expect(bool holds, char const* what) noexcept;

/// A thread of a program that is explored. Call `join` before it is destroyed.
using hetsched::detail::controlled::Thread;

// ---- implementation ----

namespace detail_of_interleavings {

using namespace hetsched::detail::controlled;

inline Controller& controller() {
  static Controller only;
  return only;
}

inline void append_step(std::string& text, int fiber, Step step, void const* caller) {
  static constexpr char const* names[] = {
      "load", "store", "modify", "lock", "unlock", "wait", "notify", "yield", "start", "join"};
  char line[64];
  Dl_info file{};
  auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (caller != nullptr && dladdr(caller, &file) != 0) {
    address -= reinterpret_cast<std::uintptr_t>(file.dli_fbase);
  }
  std::snprintf(line,
                sizeof line,
                "\n  thread %d: %s at +0x%zx",
                fiber,
                names[static_cast<int>(step)],
                static_cast<std::size_t>(address));
  text += line;
}

inline std::string describe(Controller const& run) {
  std::string text = run.message();
  text += "\nthreads that have not ended:";
  run.for_each_waiting(
      [&](int fiber, Step step, void const* caller) { append_step(text, fiber, step, caller); });
  text += "\nthe last steps:";
  run.for_each_step(
      [&](TraceEntry const& entry) { append_step(text, entry.fiber, entry.step, entry.caller); });
  return text;
}

template <class Program>
void run_all(Program& program,
             Strategy& strategy,
             std::uint64_t runs,
             bool by_seed,
             bool before,
             Interleavings& result) {
  auto& run = controller();
  for (std::uint64_t i = 0; i < runs; ++i) {
    if (!strategy.begin()) {
      result.all = true;
      return;
    }
    bool const points_before = by_seed ? RandomStrategy::points_are_before(result.seed) : before;
    auto const end = run.run(program, strategy, points_before);
    ++result.runs;
    result.points += run.points();
    result.longest = std::max(result.longest, run.points());
    result.threads = std::max(result.threads, run.fibers());
    if (end != Controller::End::right) {
      result.failure = describe(run);
      return;
    }
    ++result.seed;
  }
}

} // namespace detail_of_interleavings

template <class Program>
Interleavings explore_interleavings(Program program, InterleavingOptions const& options) {
  namespace detail = detail_of_interleavings;
  Interleavings result;
  if (options.preemptions >= 0) {
    for (bool const before : {true, false}) {
      detail::BoundedStrategy strategy(options.preemptions);
      result.all = false;
      detail::run_all(program, strategy, options.runs - result.runs, false, before, result);
      if (!result || !result.all) {
        return result;
      }
    }
    return result;
  }
  detail::BoundedStrategy one_by_one(0); // how long is a run?
  detail::run_all(program, one_by_one, 1, false, true, result);
  if (result) {
    result.seed = options.seed;
    detail::RandomStrategy strategy(options.seed, options.runs, result.longest);
    detail::run_all(program, strategy, options.runs, true, true, result);
  }
  return result;
}

inline void expect(bool holds, char const* what) noexcept {
  if (!holds) {
    detail_of_interleavings::controller().note(what);
  }
}

} // namespace hetsched::testing
