// SPDX-License-Identifier: MIT
// Bodies that only spawn, in virtual time: schedules worked out on paper.

#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::Simulation;
using simulated::Add;
using simulated::array;
using simulated::arrays;
using simulated::Cell;
using simulated::cells;
using simulated::Even;
using simulated::joined;
using simulated::kernel;
using simulated::Mix;
using simulated::on;
using simulated::waited;
using support::contains;
using support::message_of;

namespace simulated_nesting_test {

using Eager = hs::policies::Eager<>;

using Cells = hs::Each<Cell>;
using Handles = hs::Each<hs::Handle<Cell>>;

/// A task for each datum.
struct Split : hs::Task<1>::Signature<hs::RW<Cells>> {
  static constexpr std::string_view name = "Split";
  static constexpr bool only_spawns = true;

  template <class Rt>
  static void cpu(Rt& rt, Handles all) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      rt.template spawn<Even>(hs::label("part"))(all[k]);
    }
  }

  static void gpu(hs::GpuStream&, Cells) { throw std::logic_error("a body ran"); }
};

/// Two halves, each split, until one is left.
struct Halve : hs::Task<1>::Signature<hs::RW<Cells>> {
  static constexpr std::string_view name = "Halve";
  static constexpr bool only_spawns = true;

  template <class Rt>
  static void cpu(Rt& rt, Handles all) {
    if (all.size() == 1) {
      rt.template spawn<Even>()(all[0]);
      return;
    }
    std::vector<hs::Handle<Cell>> low, high;
    for (std::size_t k = 0; k < all.size(); ++k) {
      (k < all.size() / 2 ? low : high).push_back(all[k]);
    }
    rt.template spawn<Halve>()(low);
    rt.template spawn<Halve>()(high);
  }
};

/// Contributions to one datum, and a task that reads their sum.
struct Sum : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "Sum";
  static constexpr bool only_spawns = true;

  template <class Rt>
  static void cpu(Rt& rt, hs::Handle<Cell> x) {
    for (int k = 0; k < 3; ++k) {
      rt.template spawn<Add>()(x);
    }
    rt.template spawn<Even>()(x);
    rt.template spawn<Add>()(x); // merged when the body has ended
  }
};

enum class Wrong : std::uint8_t { throws, waits, other_data };

template <Wrong W>
struct Bad : hs::Task<1>::Signature<hs::RW<Cells>> {
  static constexpr std::string_view name = "Bad";
  static constexpr bool only_spawns = true;
  static inline hs::Handle<Cell> other;

  template <class Rt>
  static void cpu(Rt& rt, Handles all) {
    rt.template spawn<Even>()(all[0]);
    if constexpr (W == Wrong::throws) {
      throw std::runtime_error("the body");
    } else if constexpr (W == Wrong::waits) {
      rt.sync();
    } else {
      rt.template spawn<Even>()(other);
    }
  }
};

/// Gives its parts data of its own, too early.
struct Forgetful : hs::Task<1>::Signature<hs::RW<Cells>> {
  static constexpr std::string_view name = "Forgetful";
  static constexpr bool only_spawns = true;
  static inline int scratch = 0;

  template <class Rt>
  static void cpu(Rt& rt, Handles all) {
    auto const own = rt.data(&scratch, 1);
    rt.template spawn<Mix>()(own, all[0]);
  }
};

/// Spawns, but does not say that it does nothing else.
struct Unsaid : hs::Task<1>::Signature<hs::RW<Cells>> {
  static constexpr std::string_view name = "Unsaid";

  template <class Rt>
  static void cpu(Rt&, Handles) {}
};

Simulation with_kernels(Simulation config, std::optional<std::int64_t> split_on_gpu = 25) {
  config.platform.kernels.push_back(kernel("Split", 10, split_on_gpu));
  for (auto const* name : {"Halve", "Sum", "Bad", "Forgetful", "Unsaid"}) {
    config.platform.kernels.push_back(kernel(name, 2, std::nullopt));
  }
  return config;
}

TEST_SUITE_BEGIN("simulation");

TEST_CASE(
    "Simulated nesting: the parts run when the body has spawned them, and what follows after") {
  hs::SimulatedRuntime<Eager> rt(with_kernels(on(2, 0)));
  std::vector<int> memory(5);
  auto const x = cells(rt, memory);
  rt.spawn<Split>()(x); // ends at 10; then five times 10 on two cores
  CHECK(waited(rt) == 40);
  CHECK(rt.stats().executed == 6);
  rt.spawn<Split>()(std::span(x).first(2)); // 40 to 50, its parts to 60
  rt.spawn<Even>()(x[0]);                   // to 70
  rt.spawn<Even>()(x[4]);                   // 40 to 50, on the other core
  CHECK(waited(rt) == 70);
  std::vector<hs::Handle<Cell>> const none;
  rt.spawn<Split>()(none); // has no parts
  CHECK(waited(rt) == 80);
  CHECK(rt.stats().executed == 12);
}

TEST_CASE("Simulated nesting: super-tasks whole on the GPU, in parts on cores") {
  auto config = with_kernels(on(2, 1));
  config.serve = Simulation::Serve::gpu;
  std::map<std::string, int> on_worker;
  config.on_task = [&](hs::SimulatedTask const& task) {
    ++on_worker[std::string(task.type) + std::to_string(task.worker.value)];
  };
  hs::SimulatedRuntime<hs::policies::Multigrain<>> rt(config);
  std::vector<int> memory(12);
  auto const x = cells(rt, memory);
  for (int k = 0; k < 3; ++k) {
    rt.spawn<Split>(hs::reuse(k))(std::span(x).subspan(static_cast<std::size_t>(4 * k), 4));
  }
  // The GPU has number 2 until 25, and then number 1 until 50. A core breaks number 0 down until
  // 10; its parts keep both cores until 30, of which one finds number 1 taken.
  CHECK(waited(rt) == 50);
  CHECK(on_worker["Split0"] + on_worker["Split1"] == 1);
  CHECK(on_worker["Split2"] == 2);
  CHECK(on_worker["Even0"] + on_worker["Even1"] == 4);
}

TEST_CASE("Simulated nesting: bodies below bodies, and contributions") {
  hs::SimulatedRuntime<hs::policies::WorkStealing<>> rt(with_kernels(on(4, 0)));
  std::vector<int> memory(8);
  auto const x = cells(rt, memory);
  // 2 each: at 6 there are eight of one cell, of which each core has two, and its part after each.
  rt.spawn<Halve>()(x);
  CHECK(waited(rt) == 6 + 2 * (2 + 10));
  CHECK(rt.stats().executed == 15 + 8);
  rt.spawn<Sum>()(x[0]); // to 32, three beside each other to 42, to 52, to 62
  rt.spawn<Even>()(x[0]);
  CHECK(waited(rt) == 72);
  CHECK(rt.stats().merges == 2);
}

TEST_CASE("Simulated nesting: data of parts move where they run") {
  hs::SimulatedRuntime<Eager> rt(
      with_kernels(joined(1, 1, Simulation::Transfers::model), std::nullopt));
  std::vector<int> memory(2 * array);
  auto const x = arrays(rt, memory);
  rt.spawn<Split>()(x);
  (void)waited(rt);
  rt.sync();
  CHECK(rt.stats().executed == 3);
  CHECK(rt.stats().devices[0].misses >= 1); // the GPU had a part
}

TEST_CASE("Simulated nesting: data of a body that go before its parts are kept, and told") {
  hs::SimulatedRuntime<Eager> rt(with_kernels(on(1, 0)));
  std::vector<int> memory(1);
  auto const x = cells(rt, memory);
  for (int k = 0; k < 2; ++k) {
    rt.spawn<Forgetful>()(x);
    CHECK(contains(message_of([&] { rt.sync(); }), "this was in the body of one"));
    CHECK(rt.stats().executed == static_cast<std::uint64_t>(2 * (k + 1)));
  }
  rt.sync();
}

TEST_CASE("Simulated nesting: a captured graph, again and again, and a recorded run") {
  auto config = with_kernels(on(2, 0));
  config.record = true;
  hs::SimulatedRuntime<Eager> rt(config);
  std::vector<int> memory(4);
  auto const x = cells(rt, memory);
  auto const graph = rt.capture([&] {
    rt.spawn<Split>()(x);
    rt.spawn<Even>()(x[0]);
  });
  rt.run(graph);
  rt.run(graph);
  CHECK(rt.stats().elapsed.ns == 2 * 40);
  auto const trace = rt.trace();
  REQUIRE(trace.tasks.size() == 12);
  CHECK(trace.tasks[2].parent == 0);
}

TEST_CASE("Simulated nesting: bodies that do more than spawn are refused") {
  std::vector<int> memory(3);
  auto const message = [&]<class T>(T /*type*/) {
    hs::SimulatedRuntime<Eager> rt(with_kernels(on(1, 0)));
    auto const x = cells(rt, memory);
    if constexpr (requires { T::other; }) {
      T::other = x[2];
    }
    auto const said = message_of([&] {
      rt.spawn<T>()(std::span(x).first(2));
      rt.sync();
    });
    if constexpr (requires { T::other; }) {
      T::other = {};
    }
    return said;
  };
  CHECK(contains(message(Bad<Wrong::throws>{}), "the body"));
  CHECK(contains(message(Bad<Wrong::waits>{}), "task 'Bad': its body only spawns in virtual time"));
  CHECK(contains(message(Bad<Wrong::other_data>{}), "did not declare it"));
  CHECK(contains(message(Unsaid{}), "declare it only_spawns"));
}

TEST_SUITE_END();

} // namespace simulated_nesting_test
