// SPDX-License-Identifier: MIT
#pragma once
// Draws random data-flow programs.

#include "random_program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace equivalence {

/// Makes it one that neither contributes nor commutes, and is not abortable.
inline void make_plain(Node& node) {
  node.constant |= 4; // see spawn_node
  for (auto& [slot, mode] : node.arguments) {
    mode = mode > Mode::read_write ? Mode::read_write : mode;
  }
}

/// Draws programs. Deterministic for a seed.
class Generator {
public:
  /// `captures`: also graphs that are captured and run again, and loops in them.
  explicit Generator(std::uint64_t seed, bool captures = false)
      : random_(seed), captures_(captures) {}

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
  static constexpr int most_levels = 4; // of tasks that spawn others

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  Argument const& one_of(std::vector<Argument> const& usable) {
    return usable[static_cast<std::size_t>(pick(0, static_cast<int>(usable.size()) - 1))];
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
      if (captures_ && level == 0 && chance(8)) {
        captured(steps, usable);
        continue;
      }
      int const lot = pick(0, 99);
      if (lot < 4) {
        steps.push_back({Step::sync});
      } else if (lot < 8) {
        auto const& argument = one_of(usable);
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

  void captured(std::vector<Step>& steps, std::vector<Argument> const& usable) {
    Step step{Step::capture};
    step.runs = pick(0, 5);
    block(step.inner, usable, pick(1, 12), 0, chance(75));
    step.changed = with_other_values(step.inner);
    steps.push_back(std::move(step));
  }

  /// Spawns and loops. `plain`: without contributions, commuting and abortable tasks, with which
  /// each run of a graph is spawned anew. Tasks in loops spawn nothing, as two of the same node may
  /// run side by side.
  void block(std::vector<Step>& steps,
             std::vector<Argument> const& usable,
             int count,
             int depth,
             bool plain) {
    for (int k = 0; k < count && budget_ > 0; ++k) {
      auto const& datum = one_of(usable);
      bool const is_tile =
          program_.slots[static_cast<std::size_t>(datum.slot)].kind == SlotKind::tile;
      if (depth < 2 && is_tile && chance(15)) {
        Step loop{Step::loop, -1, datum.slot};
        loop.flag = program_.flags++;
        block(loop.inner, usable, pick(1, 5), depth + 1, plain);
        steps.push_back(std::move(loop));
        continue;
      }
      auto const number = task(usable, depth == 0 ? 0 : most_levels);
      if (plain) {
        make_plain(program_.nodes[static_cast<std::size_t>(number)]);
      }
      steps.push_back({Step::spawn, number});
    }
  }

  [[nodiscard]] std::vector<Step> with_other_values(std::vector<Step> steps) {
    for (auto& step : steps) {
      if (step.kind == Step::loop) {
        step.inner = with_other_values(std::move(step.inner));
        continue;
      }
      auto other = program_.nodes[static_cast<std::size_t>(step.node)];
      other.constant ^= random_() << 20U; // where and how it runs is by the other bits
      step.node = static_cast<int>(program_.nodes.size());
      program_.nodes.push_back(std::move(other));
    }
    return steps;
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
      auto const& other = one_of(usable);
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
    return program_.slots[static_cast<std::size_t>(root_of(program_.slots, slot))].temporary;
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
      auto const& from = one_of(usable);
      Argument const argument{from.slot, draw_mode(from.mode)};
      if (fits(node.arguments, argument) &&
          (wide || k < 2 || node.arguments.size() < 2 ||
           (takes_third(node.arguments[0].mode, node.arguments[1].mode) &&
            (argument.mode == Mode::read_write || argument.mode == Mode::add)))) {
        node.arguments.push_back(argument);
      }
    }
    node.listed = node.listed || takes_array(node);
    if (level < most_levels && budget_ > 0 && chance(level == 0 ? 15 : 30)) {
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
  bool const captures_;
};

} // namespace equivalence
