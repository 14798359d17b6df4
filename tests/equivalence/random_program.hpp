// SPDX-License-Identifier: MIT
#pragma once
// Random data-flow programs, and what running their bodies in program order must give.
//
// All data are 64-bit integers: tiles, row-major matrices and arrays of three dimensions. A body's
// result depends on the order of everything that the access modes order, and on nothing that they
// leave open: commuting and contributing accesses only add (or xor) amounts that do not depend on
// the datum itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
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
  enum Kind : std::uint8_t { spawn, sync, sync_datum, partition, join, make, drop } kind;

  int node = -1;       // spawn: which
  int slot = -1;       // all others but sync: which datum
  int first_part = -1; // partition: slots first_part ... first_part + parts - 1
  int parts = 0;
  std::size_t block_rows = 1;
  std::size_t block_cols = 1; // of a cube: slices
  bool uneven = false;        // cut at these rows and columns instead
  std::vector<std::size_t> row_cuts = {};
  std::vector<std::size_t> col_cuts = {};
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

struct Program {
  std::vector<Slot> slots;
  std::vector<Node> nodes;
  std::vector<Step> steps;
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

/// Draws programs. Deterministic for a seed.
class Generator {
public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Program draw(int most_tasks) {
    budget_ = pick(1, most_tasks);
    has_arrays_ = chance(40);
    std::vector<Argument> usable;
    int const data = pick(1, pick(0, 3) == 0 ? 2 : 12);
    for (int d = 0; d < data; ++d) {
      usable.push_back({new_slot(), Mode::read_write});
    }
    while (budget_ > 0) {
      body(program_.steps, usable, 0, pick(1, 60));
    }
    return std::move(program_);
  }

private:
  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  bool chance(int percent) { return pick(0, 99) < percent; }

  int new_slot() {
    Slot slot;
    slot.rows = static_cast<std::size_t>(pick(1, 4));
    slot.cols = static_cast<std::size_t>(pick(1, 3));
    if (has_arrays_) {
      auto const lot = pick(0, 3); // half of them are tiles
      slot.kind = lot < 2 ? SlotKind::tile : lot == 2 ? SlotKind::rows : SlotKind::cube;
      slot.depth = slot.kind == SlotKind::cube ? static_cast<std::size_t>(pick(1, 3)) : 1;
      slot.cols *= slot.depth;
    }
    slot.ld = slot.rows + static_cast<std::size_t>(pick(0, 2));
    program_.slots.push_back(slot);
    return static_cast<int>(program_.slots.size()) - 1;
  }

  /// A mode that a child may have on a datum that its parent has in mode `limit`.
  Mode draw_mode(Mode limit) {
    switch (limit) {
    case Mode::read:
      return Mode::read;
    case Mode::commute: // siblings of the parent may come in any order: only additions
      return chance(50) ? Mode::commute : Mode::add;
    case Mode::add:
      return Mode::add;
    case Mode::exclusive_or:
      return Mode::exclusive_or;
    case Mode::write:
    case Mode::read_write:
      break;
    }
    return static_cast<Mode>(pick(0, mode_count - 1));
  }

  /// Appends up to `count` steps over the data `usable` at a nesting level.
  void body(std::vector<Step>& steps, std::vector<Argument> const& usable, int level, int count) {
    for (int k = 0; k < count && budget_ > 0; ++k) {
      int const lot = pick(0, 99);
      if (lot < 4) {
        steps.push_back({Step::sync});
      } else if (lot < 8) {
        auto const& argument =
            usable[static_cast<std::size_t>(pick(0, static_cast<int>(usable.size()) - 1))];
        if (argument.mode != Mode::add &&
            argument.mode != Mode::exclusive_or) { // not readable below
          steps.push_back({Step::sync_datum, -1, argument.slot});
        }
      } else if (lot < 12) {
        partitioned(steps, usable, level);
      } else if (lot < 15) {
        with_temporary(steps, usable, level);
      } else {
        steps.push_back({Step::spawn, task(usable, level)});
      }
    }
  }

  [[nodiscard]] static std::vector<std::size_t> even(std::size_t extent, std::size_t block) {
    std::vector<std::size_t> cuts;
    for (auto cut = block; cut < extent; cut += block) {
      cuts.push_back(cut);
    }
    return cuts;
  }

  [[nodiscard]] std::vector<std::size_t> uneven(std::size_t extent) {
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 1; cut < extent; ++cut) {
      if (chance(40)) {
        cuts.push_back(cut);
      }
    }
    return cuts;
  }

  /// Where parts begin, and the end of the last.
  [[nodiscard]] static std::vector<std::size_t> bounds(std::vector<std::size_t> cuts,
                                                       std::size_t extent) {
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(extent);
    return cuts;
  }

  void partitioned(std::vector<Step>& steps, std::vector<Argument> const& usable, int level) {
    auto const chosen = static_cast<std::size_t>(pick(0, static_cast<int>(usable.size()) - 1));
    auto const limit = usable[chosen].mode;
    if (limit != Mode::read && limit != Mode::write && limit != Mode::read_write) {
      return;
    }
    auto const whole = usable[chosen].slot;
    auto const slot = program_.slots[static_cast<std::size_t>(whole)];
    Step step{Step::partition, -1, whole};
    step.block_rows = static_cast<std::size_t>(pick(1, 3));
    step.block_cols = static_cast<std::size_t>(pick(1, 2));
    step.first_part = static_cast<int>(program_.slots.size());
    auto inner = usable;
    inner.erase(inner.begin() + static_cast<std::ptrdiff_t>(chosen));
    step.uneven = chance(50);
    step.row_cuts = step.uneven ? uneven(slot.rows) : even(slot.rows, step.block_rows);
    auto const slices = slot.cols / slot.depth;
    step.col_cuts = step.uneven ? uneven(slices) : even(slices, step.block_cols);
    auto const rows = bounds(step.row_cuts, slot.rows);
    auto cols = bounds(step.col_cuts, slices);
    for (auto& bound : cols) {
      bound *= slot.depth;
    }
    for (std::size_t q = 0; q + 1 < cols.size(); ++q) {
      for (std::size_t p = 0; p + 1 < rows.size(); ++p) {
        auto const i = rows[p];
        auto const j = cols[q];
        Slot part;
        part.kind = slot.kind;
        part.depth = slot.depth;
        part.rows = rows[p + 1] - i;
        part.cols = cols[q + 1] - j;
        part.ld = slot.ld;
        part.part_of = whole;
        part.offset = i + j * slot.ld;
        inner.push_back({static_cast<int>(program_.slots.size()), limit});
        program_.slots.push_back(part);
        ++step.parts;
      }
    }
    steps.push_back(step);
    body(steps, inner, level, pick(0, 12));
    steps.push_back({Step::join, -1, whole, step.first_part});
  }

  /// Some steps with one datum more, whose first task gives it a value. Its handle goes while tasks
  /// may still use it.
  void with_temporary(std::vector<Step>& steps, std::vector<Argument> const& usable, int level) {
    auto const slot = new_slot();
    auto& made = program_.slots[static_cast<std::size_t>(slot)];
    made.ld = made.rows;
    made.temporary = true;
    auto const modes = {Mode::write, Mode::write, Mode::add, Mode::exclusive_or};
    Node first;
    first.constant = random_();
    first.listed = chance(20);
    first.arguments = {{slot, *(modes.begin() + pick(0, 3))}};
    if (chance(50)) {
      auto const& other =
          usable[static_cast<std::size_t>(pick(0, static_cast<int>(usable.size()) - 1))];
      first.arguments.push_back({other.slot, draw_mode(other.mode)});
    }
    first.listed = first.listed || takes_array(first);
    --budget_;
    steps.push_back({Step::make, -1, slot});
    steps.push_back({Step::spawn, static_cast<int>(program_.nodes.size())});
    program_.nodes.push_back(std::move(first));
    auto inner = usable;
    inner.push_back({slot, Mode::read_write});
    body(steps, inner, level, pick(0, 10));
    steps.push_back({Step::drop, -1, slot});
  }

  [[nodiscard]] bool is_temporary(int slot) const {
    auto const& of = program_.slots[static_cast<std::size_t>(slot)];
    return of.part_of >= 0 ? is_temporary(of.part_of) : of.temporary;
  }

  /// Those are given in lists: a task type for each combination of kinds would be too many.
  [[nodiscard]] bool takes_array(Node const& node) const {
    return std::any_of(
        node.arguments.begin(), node.arguments.end(), [this](Argument const& argument) {
          return program_.slots[static_cast<std::size_t>(argument.slot)].kind != SlotKind::tile;
        });
  }

  int task(std::vector<Argument> const& usable, int level) {
    --budget_;
    auto const index = program_.nodes.size();
    program_.nodes.emplace_back();
    Node node;
    node.constant = random_();
    node.priority = pick(-2, 5);
    bool const wide = chance(4);
    node.listed = wide || chance(20);
    int const count = wide ? pick(4, 20) : chance(3) ? 0 : pick(1, 3);
    for (int k = 0; k < count; ++k) {
      auto const& from =
          usable[static_cast<std::size_t>(pick(0, static_cast<int>(usable.size()) - 1))];
      Argument const argument{from.slot, draw_mode(from.mode)};
      if (fits(node.arguments, argument) &&
          (wide || k < 2 || node.arguments.size() < 2 ||
           (takes_third(node.arguments[0].mode, node.arguments[1].mode) &&
            (argument.mode == Mode::read_write || argument.mode == Mode::add)))) {
        node.arguments.push_back(argument);
      }
    }
    node.listed = node.listed || takes_array(node);
    if (level < 4 && budget_ > 0 && chance(level == 0 ? 15 : 30)) {
      auto inner = node.arguments;
      for (auto& argument : inner) {
        argument.mode = argument.mode == Mode::write ? Mode::read_write : argument.mode;
      }
      remove_duplicates(inner);
      // Children would look for the handle when it is gone.
      std::erase_if(inner, [this](Argument const& it) { return is_temporary(it.slot); });
      for (int k = pick(0, 2); k > 0; --k) {
        auto const local = new_slot();
        node.locals.push_back(local);
        inner.push_back({local, Mode::read_write});
      }
      if (!inner.empty()) {
        body(node.steps, inner, level + 1, pick(1, 8));
      }
      node.effect_after = chance(50);
    }
    program_.nodes[index] = std::move(node);
    return static_cast<int>(index);
  }

  /// One datum may be given twice, if neither is a contribution or commutes.
  static bool fits(std::vector<Argument> const& arguments, Argument const& argument) {
    auto plain = [](Mode mode) { return mode <= Mode::read_write; };
    for (auto const& other : arguments) {
      if (other.slot == argument.slot && !(plain(other.mode) && plain(argument.mode))) {
        return false;
      }
    }
    return true;
  }

  static void remove_duplicates(std::vector<Argument>& arguments) {
    std::vector<Argument> kept;
    for (auto const& argument : arguments) {
      bool known = false;
      for (auto& other : kept) {
        if (other.slot == argument.slot) {
          known = true;
          other.mode = other.mode == argument.mode ? other.mode : Mode::read_write;
        }
      }
      if (!known) {
        kept.push_back(argument);
      }
    }
    arguments = std::move(kept);
  }

  std::mt19937_64 random_;
  Program program_;
  int budget_ = 0;
  bool has_arrays_ = false;
};

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
