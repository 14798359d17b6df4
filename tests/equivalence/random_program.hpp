// SPDX-License-Identifier: MIT
#pragma once
// Random data-flow programs, and what running their bodies in program order must give.
//
// All data are 64-bit integers: tiles, row-major matrices and arrays of three dimensions; and
// numbers that say how often a loop runs. A body's result depends on the order of everything that
// the access modes order, and on nothing that they leave open: commuting and contributing accesses
// only add (or xor) amounts that do not depend on the datum itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace equivalence {

/// How many programs a test draws, unless HETSCHED_TEST_GRAPHS says.
#ifdef HETSCHED_TEST_FEW
inline constexpr std::uint64_t default_graphs = 500;
#else
inline constexpr std::uint64_t default_graphs = 2000;
#endif

/// What to set to have this program alone.
inline std::string reproduce(std::uint64_t seed) {
  return "reproduce: HETSCHED_TEST_GRAPHS=1 HETSCHED_TEST_SEED=" + std::to_string(seed);
}

enum class Mode : std::uint8_t { read, write, read_write, commute, add, exclusive_or };
inline constexpr int mode_count = 6;

struct Argument {
  int slot;
  Mode mode;
};

struct Node;

/// One step of a program, or of a task's body.
struct Step {
  enum Kind : std::uint8_t {
    spawn,
    sync,
    sync_datum,
    partition,
    join,
    make,
    drop,
    capture,
    loop
  } kind;

  int node = -1;       // spawn: which
  int slot = -1;       // all others but sync and capture: which datum
  int first_part = -1; // partition: slots first_part ... first_part + parts - 1
  int parts = 0;
  std::size_t block_rows = 1;
  std::size_t block_cols = 1; // of a cube: slices
  bool uneven = false;        // cut at these rows and columns instead
  std::vector<std::size_t> row_cuts = {};
  std::vector<std::size_t> col_cuts = {};
  std::vector<Step> inner = {};   // capture and loop: spawns and loops
  std::vector<Step> changed = {}; // capture: those with other values, for the second half of runs
  int runs = 0;                   // of the captured graph; 0: it is spawned instead, once
  int flag = -1;                  // loop: number of the datum that says whether it goes on

  /// Of a capture: the first run with other values.
  [[nodiscard]] int first_changed() const { return std::max(runs, 1) - runs / 2; }

  /// How often a loop runs whose datum has this first element when it begins.
  static constexpr int rounds(std::uint64_t element) {
    return static_cast<int>((element >> 20U) % 3);
  }
};

struct Node {
  std::vector<Argument> arguments;
  bool listed = false; // they are given in lists
  std::uint64_t constant = 0;
  int priority = 0;
  std::vector<Step> steps;   // of its body, after its first effect
  std::vector<int> locals;   // slots registered by the body
  bool effect_after = false; // syncs, then works on its data once more
};

/// A row-major matrix, and an array whose last index runs fastest: in memory they are tiles.
enum class SlotKind : std::uint8_t { tile, rows, cube };
inline constexpr int kind_count = 3;

struct Slot {
  SlotKind kind = SlotKind::tile;
  std::size_t depth = 1; // of a cube: the middle extent, so many columns make a slice of it
  std::size_t rows = 1;  // as memory has it
  std::size_t cols = 1;
  std::size_t ld = 1;
  int part_of = -1; // slot it is cut from
  bool temporary = false;
  std::size_t offset = 0;
};

/// The slot that a part, or a part of a part, is cut from; of others themselves.
[[nodiscard]] inline int root_of(std::vector<Slot> const& slots, int slot) {
  while (slots[static_cast<std::size_t>(slot)].part_of >= 0) {
    slot = slots[static_cast<std::size_t>(slot)].part_of;
  }
  return slot;
}

struct Program {
  std::vector<Slot> slots;
  std::vector<Node> nodes;
  std::vector<Step> steps;
  int flags = 0; // of loops
};

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  auto z = a * 0x9e3779b97f4a7c15U + b + 0x632be59bd9b4e019U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  return z ^ (z >> 27U);
}

/// Which tasks have a third argument (then in mode read_write or add): not all, because each
/// combination of modes is a task type that the test's compiler has to chew.
constexpr bool takes_third(Mode first, Mode second) {
  return first == Mode::read && second != Mode::exclusive_or;
}

/// None other than pairs has a third argument.
template <class... Modes>
constexpr bool takes_third(Modes...) {
  return false;
}

/// One argument as a body sees it.
struct Block {
  Mode mode;
  std::uint64_t* data;
  std::size_t rows, cols, ld;
};

/// What a body does to its data.
inline void effect(std::uint64_t constant, std::vector<Block> const& blocks) {
  auto sum = constant;
  for (auto const& block : blocks) {
    if (block.mode == Mode::read || block.mode == Mode::read_write) {
      for (std::size_t j = 0; j < block.cols; ++j) {
        for (std::size_t i = 0; i < block.rows; ++i) {
          sum = mix(sum, block.data[i + j * block.ld]);
        }
      }
    }
  }
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    auto const& block = blocks[k];
    for (std::size_t j = 0; j < block.cols; ++j) {
      for (std::size_t i = 0; i < block.rows; ++i) {
        auto& x = block.data[i + j * block.ld];
        auto const amount = mix(sum, k * 1000 + i + 37 * j);
        switch (block.mode) {
        case Mode::read:
          break;
        case Mode::write:
          x = amount;
          break;
        case Mode::read_write:
          x = x * 6364136223846793005U + amount;
          break;
        case Mode::commute:
        case Mode::add:
          x += amount;
          break;
        case Mode::exclusive_or:
          x ^= amount;
          break;
        }
      }
    }
  }
}

/// The memory of all slots; parts and wholes share it.
class Memory {
public:
  explicit Memory(Program const& program) {
    for (auto const& slot : program.slots) {
      if (slot.part_of >= 0) {
        base_.push_back(base_[static_cast<std::size_t>(slot.part_of)] + slot.offset);
        continue;
      }
      if (slot.temporary) { // has neutral elements for contributions
        temporaries_.emplace_back(slot.ld * slot.cols);
        base_.push_back(temporaries_.back().data());
        continue;
      }
      blocks_.emplace_back(slot.ld * slot.cols);
      auto& block = blocks_.back();
      for (std::size_t i = 0; i < block.size(); ++i) {
        block[i] = mix(blocks_.size(), i);
      }
      base_.push_back(block.data());
    }
  }

  [[nodiscard]] std::uint64_t* at(int slot) { return base_[static_cast<std::size_t>(slot)]; }

  /// Without temporaries.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> const& contents() const { return blocks_; }

private:
  std::vector<std::vector<std::uint64_t>> blocks_;
  std::vector<std::vector<std::uint64_t>> temporaries_;
  std::vector<std::uint64_t*> base_;
};

/// Runs all bodies in program order.
class Interpreter {
public:
  Interpreter(Program const& program, Memory& memory) : program_(program), memory_(memory) {}

  void run() { run_steps(program_.steps); }

private:
  void run_steps(std::vector<Step> const& steps) {
    for (auto const& step : steps) {
      if (step.kind == Step::spawn) {
        run_node(program_.nodes[static_cast<std::size_t>(step.node)]);
      } else if (step.kind == Step::capture) {
        for (int k = 0; k < std::max(step.runs, 1); ++k) {
          run_steps(k < step.first_changed() ? step.inner : step.changed);
        }
      } else if (step.kind == Step::make) { // each time anew
        auto const& slot = program_.slots[static_cast<std::size_t>(step.slot)];
        std::fill_n(memory_.at(step.slot), slot.ld * slot.cols, 0);
      } else if (step.kind == Step::loop) {
        for (int left = Step::rounds(*memory_.at(step.slot)); left > 0; --left) {
          run_steps(step.inner);
        }
      }
    }
  }

  void run_node(Node const& node) {
    std::vector<Block> blocks;
    for (auto const& argument : node.arguments) {
      auto const& slot = program_.slots[static_cast<std::size_t>(argument.slot)];
      blocks.push_back({argument.mode, memory_.at(argument.slot), slot.rows, slot.cols, slot.ld});
    }
    effect(node.constant, blocks);
    run_steps(node.steps);
    if (node.effect_after) {
      effect(node.constant + 1, blocks);
    }
  }

  Program const& program_;
  Memory& memory_;
};

} // namespace equivalence
