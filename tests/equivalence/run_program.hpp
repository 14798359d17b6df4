// SPDX-License-Identifier: MIT
#pragma once
// Random programs as tasks of a runtime.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "node_tasks.hpp"
#include "random_program.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace equivalence {

[[nodiscard]] inline std::string label_of(Run const& run, Node const& node) {
  return run.labels ? std::to_string(&node - run.program->nodes.data()) : std::string();
}

/// Its body spawns nothing.
[[nodiscard]] inline bool is_leaf(Node const& node) {
  return node.steps.empty() && node.locals.empty() && !node.effect_after;
}

/// Calls `spawn` with the attribute that says where the node may run.
template <class Spawn>
void spawn_somewhere(Run const& run, Node const& node, Spawn const& spawn) {
  auto const kind = is_leaf(node) ? node.constant % 4 : 0;
  if (kind == 0) {
    spawn(hs::SetArch(hs::ArchHost));
  } else if (kind == 1 && run.devices) {
    spawn(hs::SetArch(hs::ArchCUDA));
  } else {
    spawn();
  }
}

/// Spawns a node with its arguments in lists.
template <class Rt>
void spawn_listed(Rt& rt, Run& run, Node const& node) {
  auto const tiles = listed_handles<Tile>(run.handles, node);
  auto const rows = listed_handles<Rows>(run.handles, node);
  auto const cubes = listed_handles<Cube>(run.handles, node);
  auto const name = label_of(run, node);
  if (is_leaf(node) && !contributes(node) && writes_some(node) && node.constant / 4 % 2 == 0) {
    rt.template spawn<ListedLeaf>(hs::priority(node.priority), hs::label(name), hs::abortable)(
        &run,
        &node,
        tiles[0],
        tiles[1],
        tiles[2],
        tiles[3],
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        cubes[0],
        cubes[1],
        cubes[2],
        cubes[3]);
    return;
  }
  spawn_somewhere(run, node, [&](auto const&... attributes) {
    rt.template spawn<Listed>(hs::priority(node.priority), hs::label(name), attributes...)(
        &run,
        &node,
        tiles[0],
        tiles[1],
        tiles[2],
        tiles[3],
        tiles[4],
        tiles[5],
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
        rows[5],
        cubes[0],
        cubes[1],
        cubes[2],
        cubes[3],
        cubes[4],
        cubes[5]);
  });
}

[[nodiscard]] inline hs::Handle<Tile> const& tile_of(Run const& run, Argument const& argument) {
  return run.handles[static_cast<std::size_t>(argument.slot)].as<Tile>();
}

/// Spawns a node whose arguments have the modes M..., found by trying one mode after the other.
template <class Rt, Mode... M>
void spawn_node(Rt& rt, Run& run, Node const& node) {
  constexpr auto known = sizeof...(M);
  if (node.listed) {
    return spawn_listed(rt, run, node);
  }
  if (node.arguments.size() == known) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto const name = label_of(run, node);
      if constexpr (has_leaf<M...>) {
        if (is_leaf(node) && node.constant / 4 % 2 == 0) {
          rt.template spawn<Leaf<M...>>(
              hs::priority(node.priority), hs::label(name), hs::abortable)(
              &run, &node, tile_of(run, node.arguments[I])...);
          return;
        }
      }
      spawn_somewhere(run, node, [&](auto const&... attributes) {
        rt.template spawn<Work<M...>>(hs::priority(node.priority), hs::label(name), attributes...)(
            &run, &node, tile_of(run, node.arguments[I])...);
      });
    }(std::make_index_sequence<known>{});
    return;
  }
  if constexpr (known < 2) {
    switch (node.arguments[known].mode) {
    case Mode::read:
      return spawn_node<Rt, M..., Mode::read>(rt, run, node);
    case Mode::write:
      return spawn_node<Rt, M..., Mode::write>(rt, run, node);
    case Mode::read_write:
      return spawn_node<Rt, M..., Mode::read_write>(rt, run, node);
    case Mode::commute:
      return spawn_node<Rt, M..., Mode::commute>(rt, run, node);
    case Mode::add:
      return spawn_node<Rt, M..., Mode::add>(rt, run, node);
    case Mode::exclusive_or:
      return spawn_node<Rt, M..., Mode::exclusive_or>(rt, run, node);
    }
  } else if constexpr (known == 2 && equivalence::takes_third(M...)) {
    if (node.arguments[2].mode == Mode::add) {
      return spawn_node<Rt, M..., Mode::add>(rt, run, node);
    }
    return spawn_node<Rt, M..., Mode::read_write>(rt, run, node);
  }
}

/// Where data are is nobody's business but the program's speed.
template <class Rt>
void give_hint(Rt& rt, Run& run, std::uint64_t number, Argument const& argument) {
  auto const& any = run.handles[static_cast<std::size_t>(argument.slot)];
  hs::NodeId const node{static_cast<std::int32_t>(number % rt.nodes().size())};
  bool const may_read = argument.mode != Mode::add && argument.mode != Mode::exclusive_or;
  // One that is to be written may have no value yet.
  bool const may_be_fresh = argument.mode == Mode::write &&
                            run.program->slots[static_cast<std::size_t>(argument.slot)].temporary;
  if (!may_read || may_be_fresh) {
    return;
  }
  any.visit([&](auto const& handle) {
    switch (number / 8 % 4) {
    case 0:
      rt.prefetch(handle, node);
      break;
    case 1:
      rt.evict(handle, node);
      break;
    case 2:
      if (run.pins && !run.pinning.exchange(true)) {
        rt.pin(handle, node);
        rt.unpin(handle, node);
        rt.sync(handle);
        run.pinning = false;
      }
      break;
    default:
      break;
    }
  });
}

/// The handles of temporaries and their parts, which go at the latest with this.
class Temporaries {
public:
  explicit Temporaries(Run& run) : run_(run) {}

  Temporaries(Temporaries const&) = delete;
  Temporaries& operator=(Temporaries const&) = delete;

  ~Temporaries() {
    while (!slots_.empty()) {
      drop(slots_.back());
    }
  }

  template <class Rt>
  void make(Rt& rt, int number) {
    auto const& slot = run_.program->slots[static_cast<std::size_t>(number)];
    slots_.push_back(number);
    auto& handle = run_.handles[static_cast<std::size_t>(number)];
    switch (slot.kind) {
    case SlotKind::tile:
      handle = rt.template temporary<Element>(slot.rows, slot.cols);
      break;
    case SlotKind::rows:
      handle = rt.template temporary<Rows>({slot.cols, slot.rows});
      break;
    case SlotKind::cube:
      handle = rt.template temporary<Cube>({slot.cols / slot.depth, slot.depth, slot.rows});
      break;
    }
  }

  void drop(int number) {
    drop_handles(run_, number);
    std::erase(slots_, number);
  }

private:
  Run& run_;
  std::vector<int> slots_;
};

/// The partitions of a body by their first parts.
using Partitions =
    std::map<int, std::variant<hs::Partition<Tile>, hs::Partition<Rows>, hs::Partition<Cube>>>;

/// Cuts a slot. Parts are numbered as memory has them, along its columns.
template <class Rt>
void cut(Rt& rt, Run& run, Step const& step, Partitions& partitions) {
  auto const whole = run.handles[static_cast<std::size_t>(step.slot)];
  auto* const first = run.handles.data() + step.first_part;
  whole.visit([&]<class D>(hs::Handle<D> const& handle) {
    constexpr bool by_rows = !std::is_same_v<D, Tile>;
    auto const& rows = by_rows ? step.col_cuts : step.row_cuts;
    auto const& cols = by_rows ? step.row_cuts : step.col_cuts;
    auto parts = step.uneven ? rt.partition(handle, hs::cuts(rows, cols))
                 : by_rows   ? rt.partition(handle, hs::tiles(step.block_cols, step.block_rows))
                             : rt.partition(handle, hs::tiles(step.block_rows, step.block_cols));
    for (std::size_t j = 0; j < parts.cols(); ++j) {
      for (std::size_t i = 0; i < parts.rows(); ++i) {
        first[by_rows ? j + i * parts.cols() : i + j * parts.rows()] = parts(i, j);
      }
    }
    partitions[step.first_part] = std::move(parts);
  });
}

/// Spawns what is captured: nodes and loops.
template <class Rt>
void spawn_block(Rt& rt, Run& run, std::vector<Step> const& steps) {
  for (auto const& step : steps) {
    if (step.kind == Step::spawn) {
      spawn_node(rt, run, run.program->nodes[static_cast<std::size_t>(step.node)]);
      continue;
    }
    auto const& flag = run.flag_handles[static_cast<std::size_t>(step.flag)];
    rt.template spawn<Begin>()(run.handles[static_cast<std::size_t>(step.slot)].as<Tile>(), flag);
    rt.spawn_while(flag, [&] {
      spawn_block(rt, run, step.inner);
      rt.template spawn<CountDown>()(flag);
    });
  }
}

/// Runs a captured graph, half of the times with other values.
template <class Rt>
void run_captured(Rt& rt, Run& run, Step const& step) {
  if (step.runs == 0) {
    spawn_block(rt, run, step.inner);
    return;
  }
  auto const graph = rt.capture([&] { spawn_block(rt, run, step.inner); });
  for (int k = 0; k < step.runs; ++k) {
    if (k == step.first_changed()) {
      rt.update(graph, [&] { spawn_block(rt, run, step.changed); });
    }
    rt.run(graph);
  }
}

/// `done` counts the steps that threw nothing.
template <class Rt>
void run_steps(Rt& rt, Run& run, std::vector<Step> const& steps, std::size_t* done) {
  Temporaries temporaries(run);
  Partitions partitions;
  for (auto const& step : steps) {
    auto const slot = static_cast<std::size_t>(step.slot);
    switch (step.kind) {
    case Step::spawn: {
      auto const& node = run.program->nodes[static_cast<std::size_t>(step.node)];
      if (run.devices && !node.arguments.empty() && node.constant / 64 % 4 == 0) {
        give_hint(rt, run, node.constant / 256, node.arguments.front());
      }
      spawn_node(rt, run, node);
      break;
    }
    case Step::sync:
      rt.sync();
      break;
    case Step::sync_datum:
      run.handles[slot].visit([&](auto const& handle) { rt.sync(handle); });
      break;
    case Step::partition:
      cut(rt, run, step, partitions);
      break;
    case Step::join:
      std::visit([&](auto& parts) { rt.join(parts); }, partitions.at(step.first_part));
      if (run.program->slots[slot].temporary) {
        partitions.erase(step.first_part); // with its handles
      }
      break;
    case Step::make:
      temporaries.make(rt, step.slot);
      break;
    case Step::drop:
      temporaries.drop(step.slot);
      break;
    case Step::capture:
      run_captured(rt, run, step);
      break;
    case Step::loop: // only in what is captured
      break;
    }
    if (done != nullptr) {
      ++*done;
    }
  }
}

/// Registers the data of the program; some live on devices, unless these have failed.
template <class Rt>
void register_data(Rt& rt, Run& run) {
  auto const& program = *run.program;
  run.handles.resize(program.slots.size());
  run.devices = rt.workers().back().arch == hs::ArchCUDA;
  for (int k = 0; k < program.flags; ++k) {
    run.flag_handles.push_back(rt.data(run.flags.emplace_back(0)));
  }
  std::vector<bool> local(program.slots.size());
  for (auto const& node : program.nodes) {
    for (int const l : node.locals) {
      local[static_cast<std::size_t>(l)] = true;
    }
  }
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    auto const& slot = program.slots[s];
    if (slot.part_of >= 0 || slot.temporary || local[s]) {
      continue;
    }
    auto* const first = run.memory->at(static_cast<int>(s));
    auto const node = s % (2 * rt.nodes().size());
    if (node != 0 && node < rt.nodes().size() && slot.ld == slot.rows &&
        slot.kind == SlotKind::tile) {
      try {
        run.handles[s] = rt.device_data(
            hs::NodeId{static_cast<std::int32_t>(node)}, first, slot.rows, slot.cols);
        continue;
      } catch (hs::Error const&) {
        if (!run.faults) {
          throw;
        }
      }
    }
    run.handles[s] = data_of(rt, slot, first);
  }
}

} // namespace equivalence
