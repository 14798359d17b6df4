// SPDX-License-Identifier: MIT
#pragma once
// What a random program must leave in memory when some of its tasks have failed.

#include "../equivalence/random_program.hpp"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace soak {

/// Runs bodies in program order and notes which data may hold anything: what failed tasks write,
/// what tasks write that read such data, and what the ancestors and descendants of these write.
class Expectation {
public:
  Expectation(equivalence::Program const& program, std::set<int> failed)
      : program_(program), failed_(std::move(failed)), memory_(program),
        open_(program.slots.size()) {}

  /// The first `count` steps of the program.
  void run(std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      if (program_.steps[k].kind == equivalence::Step::spawn) {
        run_node(program_.steps[k].node);
      }
    }
  }

  /// Whether each datum that is not open to anything holds what it must.
  [[nodiscard]] bool holds(equivalence::Memory const& memory) const {
    std::size_t block = 0;
    for (std::size_t s = 0; s < program_.slots.size(); ++s) {
      if (program_.slots[s].part_of < 0 && !program_.slots[s].temporary) {
        if (!open_[s] && memory.contents()[block] != memory_.contents()[block]) {
          return false;
        }
        ++block;
      }
    }
    return true;
  }

private:
  [[nodiscard]] bool is_whole(int slot) const {
    return program_.slots[static_cast<std::size_t>(slot)].part_of < 0;
  }

  std::vector<bool>::reference open(int slot) {
    while (!is_whole(slot)) {
      slot = program_.slots[static_cast<std::size_t>(slot)].part_of;
    }
    return open_[static_cast<std::size_t>(slot)];
  }

  /// Whether the node, or a descendant, has failed or was perhaps cancelled.
  bool run_node(int index) {
    using equivalence::Mode;
    auto const& node = program_.nodes[static_cast<std::size_t>(index)];
    bool bad = failed_.contains(index);
    std::vector<equivalence::Block> blocks;
    for (auto const& argument : node.arguments) {
      auto const& slot = program_.slots[static_cast<std::size_t>(argument.slot)];
      blocks.push_back({argument.mode, memory_.at(argument.slot), slot.rows, slot.cols, slot.ld});
      bad = bad || (argument.mode != Mode::write && open(argument.slot));
    }
    equivalence::effect(node.constant, blocks);
    for (auto const& step : node.steps) {
      if (step.kind == equivalence::Step::spawn && run_node(step.node)) {
        bad = true;
      }
    }
    if (node.effect_after) {
      equivalence::effect(node.constant + 1, blocks);
    }
    for (auto const& argument : node.arguments) {
      if (argument.mode != Mode::read && bad) {
        open(argument.slot) = true;
      } else if (argument.mode == Mode::write && is_whole(argument.slot)) {
        open(argument.slot) = false;
      }
    }
    if (bad) {
      open_locals(node);
    }
    return bad;
  }

  void open_locals(equivalence::Node const& node) {
    for (int const local : node.locals) {
      open(local) = true;
    }
    for (auto const& step : node.steps) {
      if (step.kind == equivalence::Step::spawn) {
        open_locals(program_.nodes[static_cast<std::size_t>(step.node)]);
      }
    }
  }

  equivalence::Program const& program_;
  std::set<int> failed_;
  equivalence::Memory memory_;
  std::vector<bool> open_;
};

} // namespace soak
