// SPDX-License-Identifier: MIT
// The programs of sequential_equivalence_test.cpp with dependencies computed when stolen. The same
// variables say which.

#include <hetsched/hetsched.hpp>
#include <hetsched/when_stolen.hpp>

#include "../support/env_or.hpp"
#include "../support/watchdog.hpp"
#include "program_generator.hpp"
#include "random_program.hpp"
#include "run_program.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

namespace hs = hetsched;

namespace when_stolen_test {

using equivalence::default_graphs;
using equivalence::Memory;
using equivalence::Mode;
using equivalence::Program;
using support::env_or;
using support::Watchdog;

/// Makes most tasks such as may be postponed: none commutes or contributes, and none is abortable.
void tame(Program& program) {
  for (auto& node : program.nodes) {
    node.constant |= 4; // see spawn_node
    for (std::size_t k = 0; k < node.arguments.size(); ++k) {
      auto& [slot, mode] = node.arguments[k];
      auto const root = equivalence::root_of(program.slots, slot);
      // The first task on a temporary writes it, or contributes.
      bool const temporary = program.slots[static_cast<std::size_t>(root)].temporary;
      if (mode > Mode::read_write && !(temporary && k == 2)) {
        mode = temporary ? Mode::write : Mode::read_write;
      }
    }
  }
}

/// Every third graph, from `first` on, with one worker, two and eight in turn.
template <class Scheduler>
void check_scheduler(std::uint64_t first) {
  auto const all = env_or("HETSCHED_TEST_GRAPHS", default_graphs);
  auto const seed0 = env_or("HETSCHED_TEST_SEED", 1);
  Watchdog watchdog("sequential equivalence when stolen");
  std::uint64_t lane = 0;
  for (int const cpus : {1, 2, 8}) {
    hs::Config config;
    config.cpus = cpus;
    config.bind = hs::Bind::none;
    config.devices = "none";
    config.dependencies = hs::Dependencies::when_stolen;
    hs::Runtime<Scheduler> rt(config);
    REQUIRE(rt.engine().postpones());
    for (std::uint64_t k = 0; k < all; ++k) {
      if (all > 1 && (k % 3 != first || k / 3 % 3 != lane)) {
        continue;
      }
      auto const seed = seed0 + k;
      auto const how = equivalence::reproduce(seed);
      watchdog.begin(how, [&rt] { return rt.dump(); });
      CAPTURE(cpus);
      INFO(how);
      auto program = equivalence::Generator(seed).draw(500);
      if (seed % 4 < 2) {
        tame(program);
      }
      Memory expected(program);
      equivalence::Interpreter(program, expected).run();
      Memory memory(program);
      equivalence::Run run{.program = &program, .memory = &memory};
      if (seed % 2 == 0) {
        equivalence::register_data(rt, run);
        equivalence::run_steps(rt, run, program.steps);
      } else { // in a body, where all but the task around it may be postponed
        rt.spawn()([&run, &program](hs::Runtime<Scheduler>& inner) {
          equivalence::register_data(inner, run);
          equivalence::run_steps(inner, run, program.steps);
          inner.sync();
          run.handles.clear();
        });
      }
      rt.sync();
      REQUIRE(memory.contents() == expected.contents());
    }
    ++lane;
  }
}

TEST_CASE("dependencies when stolen: WorkStealing") {
  check_scheduler<hs::policies::WorkStealing<>>(0);
}

TEST_CASE("dependencies when stolen: Eager") {
  check_scheduler<hs::policies::Eager<>>(1);
}

TEST_CASE("dependencies when stolen: Priority") {
  check_scheduler<hs::policies::Priority<>>(2);
}

} // namespace when_stolen_test
