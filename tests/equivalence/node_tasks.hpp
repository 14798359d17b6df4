// SPDX-License-Identifier: MIT
#pragma once
// The task types of random programs, and their bodies.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "listed_nodes.hpp"
#include "random_program.hpp"

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace equivalence {

namespace hs = hetsched;

using Element = std::uint64_t;

/// A program being run: its memory and the handles of its slots.
struct Run {
  Program const* program;
  Memory* memory;
  std::vector<AnyHandle> handles = {};
  bool devices = false;       // there are some
  bool faults = false;        // which may fail
  bool pins = false;          // and room for one datum that is pinned there
  std::uint64_t failing = 0;  // of a thousand bodies
  bool labels = false;        // each task's is the number of its node
  std::deque<int> flags = {}; // of loops: how often they run still
  std::vector<hs::Handle<int>> flag_handles = {};
  std::atomic<bool> pinning{false};
};

/// What bodies throw that are to fail.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline bool fails(Run const& run, Node const& node) {
  return mix(node.constant, 1) % 1000 < run.failing;
}

inline void fail_if_so(Run const& run, Node const& node) {
  if (fails(run, node)) {
    throw Failure("this body is to fail");
  }
}

template <Mode M>
struct Declared;

template <>
struct Declared<Mode::read> {
  using Type = hs::R<Tile>;
};

template <>
struct Declared<Mode::write> {
  using Type = hs::W<Tile>;
};

template <>
struct Declared<Mode::read_write> {
  using Type = hs::RW<Tile>;
};

template <>
struct Declared<Mode::commute> {
  using Type = hs::Commute<Tile>;
};

template <>
struct Declared<Mode::add> {
  using Type = hs::CW<Tile, hs::Sum<Element>>;
};

template <>
struct Declared<Mode::exclusive_or> {
  using Type = hs::CW<Tile, Xor>;
};

/// A task with these modes; its values say which node of which run it is.
template <Mode... M>
struct Work
    : hs::Task<2 + static_cast<int>(sizeof...(M))>::
          template Signature<hs::V<Run*>, hs::V<Node const*>, typename Declared<M>::Type...> {};

/// The same, spawning nothing; for some modes, each being a type more to compile.
template <Mode... M>
struct Leaf
    : hs::Task<2 + static_cast<int>(sizeof...(M))>::
          template Signature<hs::V<Run*>, hs::V<Node const*>, typename Declared<M>::Type...> {};

/// How often a loop runs.
struct Begin : hs::Task<2>::Signature<hs::R<Tile>, hs::W<int>> {
  static void cpu(hs::TileView<Element const> tile, int& flag) {
    flag = Step::rounds(*tile.data());
  }
};

struct CountDown : hs::Task<1>::Signature<hs::RW<int>> {
  static void cpu(int& flag) { --flag; }
};

template <Mode... M>
inline constexpr bool has_leaf = false;
template <>
inline constexpr bool has_leaf<Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::write> = true;
template <>
inline constexpr bool has_leaf<Mode::commute> = true;
template <>
inline constexpr bool has_leaf<Mode::read, Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::write, Mode::read> = true;
template <>
inline constexpr bool has_leaf<Mode::read_write, Mode::read_write> = true;
template <>
inline constexpr bool has_leaf<Mode::read_write, Mode::commute> = true;

template <class Rt>
void run_steps(Rt& rt, Run& run, std::vector<Step> const& steps, std::size_t* done = nullptr);

/// Registers the memory of a slot.
template <class Rt>
[[nodiscard]] AnyHandle data_of(Rt& rt, Slot const& slot, Element* first) {
  switch (slot.kind) {
  case SlotKind::rows:
    return rt.data(hs::row_major(first, slot.cols, slot.rows, slot.ld));
  case SlotKind::cube:
    return rt.data(Cube(first, {slot.cols / slot.depth, slot.depth, slot.rows}, slot.ld));
  case SlotKind::tile:
    break;
  }
  return rt.data(first, slot.rows, slot.cols, slot.ld);
}

/// Those of a slot and its parts.
inline void drop_handles(Run& run, int slot) {
  auto const& slots = run.program->slots;
  for (auto s = slots.size(); s-- > static_cast<std::size_t>(slot);) {
    if (root_of(slots, static_cast<int>(s)) == slot) {
      run.handles[s] = {};
    }
  }
}

/// The data that a body registers. They go when all of its children, who use the handles, are done.
template <class Rt>
class Locals {
public:
  Locals(Rt& rt, Run& run, Node const& node) : rt_(rt), run_(run), node_(node) {
    for (int const local : node.locals) {
      auto const& slot = run.program->slots[static_cast<std::size_t>(local)];
      run.handles[static_cast<std::size_t>(local)] = data_of(rt, slot, run.memory->at(local));
    }
  }

  Locals(Locals const&) = delete;
  Locals& operator=(Locals const&) = delete;

  ~Locals() {
    if (!node_.locals.empty()) {
      try {
        rt_.sync();
      } catch (std::exception const&) { // the body has failed already
      }
    }
    for (int const local : node_.locals) {
      drop_handles(run_, local);
    }
  }

private:
  Rt& rt_;
  Run& run_;
  Node const& node_;
};

/// The body of a node on a core.
template <class Rt>
void work(Rt& rt, Run& run, Node const& node, std::vector<Block> const& blocks) {
  effect(node.constant, blocks);
  Locals<Rt> const locals(rt, run, node);
  run_steps(rt, run, node.steps);
  if (node.effect_after || !node.locals.empty()) {
    rt.sync();
  }
  fail_if_so(run, node);
  if (node.effect_after) {
    effect(node.constant + 1, blocks);
  }
}

/// Of one that spawns nothing. Some take their time, so that they are begun anew, and some of those
/// look whether they were.
inline void work_as_leaf(Run const& run, Node const& node, std::vector<Block> const& blocks) {
  bool stop = false;
  for (std::uint64_t k = 0; !stop && k < node.constant / 1024 % 32; ++k) {
    sched_yield();
    stop = node.constant / 32768 % 2 == 0 && hs::stop_requested();
  }
  fail_if_so(run, node);
  effect(stop ? 0 : node.constant, blocks);
}

/// On a device, where no task spawns others: the effect alone.
inline void
work_on_device(hs::GpuStream& stream, Run const& run, Node const& node, std::vector<Block> blocks) {
  fail_if_so(run, node);
  auto const constant = node.constant;
  support::launch(stream, [constant, blocks = std::move(blocks)] { effect(constant, blocks); });
}

inline void
leaf_on_device(hs::GpuStream& stream, Run const& run, Node const& node, std::vector<Block> blocks) {
  fail_if_so(run, node);
  auto const constant = node.constant;
  support::launch(stream, [constant, blocks = std::move(blocks)] {
    for (std::uint64_t k = 0; k < constant / 1024 % 32; ++k) {
      sched_yield();
    }
    effect(constant, blocks);
  });
}

} // namespace equivalence

template <equivalence::Mode... M>
struct hetsched::TaskBodyCPU<equivalence::Work<M...>> {
  template <class Rt, class... Views>
  void
  operator()(Rt& rt, equivalence::Run* run, equivalence::Node const* node, Views... views) const {
    equivalence::work(rt, *run, *node, {equivalence::block_of(M, views)...});
  }
};

template <>
struct hetsched::TaskBodyCPU<equivalence::Listed> {
  template <class Rt, class... Lists>
  void
  operator()(Rt& rt, equivalence::Run* run, equivalence::Node const* node, Lists... lists) const {
    equivalence::work(
        rt, *run, *node, equivalence::blocks_of(run->program->slots, *node, lists...));
  }
};

template <equivalence::Mode... M>
struct hetsched::TaskBodyCPU<equivalence::Leaf<M...>> {
  template <class... Views>
  void operator()(equivalence::Run* run, equivalence::Node const* node, Views... views) const {
    equivalence::work_as_leaf(*run, *node, {equivalence::block_of(M, views)...});
  }
};

template <>
struct hetsched::TaskBodyCPU<equivalence::ListedLeaf> {
  template <class... Lists>
  void operator()(equivalence::Run* run, equivalence::Node const* node, Lists... lists) const {
    equivalence::work_as_leaf(
        *run, *node, equivalence::blocks_of(run->program->slots, *node, lists...));
  }
};

template <equivalence::Mode... M>
struct hetsched::TaskBodyGPU<equivalence::Leaf<M...>> {
  template <class... Views>
  void operator()(hetsched::GpuStream& stream,
                  equivalence::Run* run,
                  equivalence::Node const* node,
                  Views... views) const {
    equivalence::leaf_on_device(stream, *run, *node, {equivalence::block_of(M, views)...});
  }
};

template <>
struct hetsched::TaskBodyGPU<equivalence::ListedLeaf> {
  template <class... Lists>
  void operator()(hetsched::GpuStream& stream,
                  equivalence::Run* run,
                  equivalence::Node const* node,
                  Lists... lists) const {
    equivalence::leaf_on_device(
        stream, *run, *node, equivalence::blocks_of(run->program->slots, *node, lists...));
  }
};

template <equivalence::Mode... M>
struct hetsched::TaskBodyGPU<equivalence::Work<M...>> {
  template <class... Views>
  void operator()(hetsched::GpuStream& stream,
                  equivalence::Run* run,
                  equivalence::Node const* node,
                  Views... views) const {
    equivalence::work_on_device(stream, *run, *node, {equivalence::block_of(M, views)...});
  }
};

template <>
struct hetsched::TaskBodyGPU<equivalence::Listed> {
  template <class... Lists>
  void operator()(hetsched::GpuStream& stream,
                  equivalence::Run* run,
                  equivalence::Node const* node,
                  Lists... lists) const {
    equivalence::work_on_device(
        stream, *run, *node, equivalence::blocks_of(run->program->slots, *node, lists...));
  }
};
