// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a solve.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/sparse/front_tasks.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/units.hpp>
#include <hetsched/handles/handle.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace hetsched {

namespace sparse::detail {

/// A sweep through a unit, given the units that must be done before: up or down the tree.
template <class S>
struct SweepUnit : Task<5>::Signature<V<S*>, V<Index>, V<bool>, R<Each<Token>>, W<Token>> {
  static constexpr std::string_view name = "solve";
};

/// Spawns a sweep up the tree and one down; to be destroyed after a sync.
template <class Rt, class S>
class SweepTasks {
public:
  SweepTasks(Rt& rt, Units const& units, S& sweeps)
      : rt_(rt), units_(units), sweeps_(sweeps), done_(2 * units.units.size()) {
    for (auto& token : done_) {
      handles_.push_back(rt.data(token));
    }
  }

  /// Returns at once.
  void spawn() {
    auto const count = units_.units.size();
    auto const spawn_one = [&](std::size_t u, bool up, std::vector<Handle<Token>> const& before) {
      rt_.template spawn<SweepUnit<S>>(SetArch(ArchHost))(
          &sweeps_, static_cast<Index>(u), up, before, handles_[up ? u : count + u]);
    };
    for (std::size_t u = 0; u < count; ++u) {
      std::vector<Handle<Token>> before;
      for (auto const child : units_.children[u]) {
        before.push_back(handles_[at(child)]);
      }
      spawn_one(u, true, before);
    }
    for (auto u = count; u-- > 0;) {
      auto const parent = units_.units[u].parent;
      spawn_one(
          u,
          false,
          {parent == no_index ? handles_[u] : handles_[count + at(units_.unit_of[at(parent)])]});
    }
  }

private:
  Rt& rt_;
  Units const& units_;
  S& sweeps_;
  std::vector<Token> done_; // up, then down
  std::vector<Handle<Token>> handles_;
};

} // namespace sparse::detail

template <class S>
struct TaskBodyCPU<sparse::detail::SweepUnit<S>> {
  void operator()(S* sweeps,
                  sparse::detail::Index unit,
                  bool up,
                  Each<sparse::detail::Token const> /*before*/,
                  sparse::detail::Token& done) const {
    up ? sweeps->up(unit) : sweeps->down(unit);
    done = 1;
  }
};

} // namespace hetsched
