// SPDX-License-Identifier: MIT
#pragma once
// A collection for the programs beside it, which are only compiled.

#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/hetsched.hpp>

#include <string>

namespace hs = hetsched;

struct Add : hs::Task<2>::Signature<hs::Acc<hs::Patch<double>>, int> {
  static void cpu(hs::TileView<double>, int) {}
};

struct Count : hs::Task<1>::Signature<int> {
  static void cpu(int) {}
};

/// f(arrays, an array, a collection of Add and Tasks)
template <class... Tasks, class F>
void with_collection(F const& f) {
  hs::LoopbackRmaNetwork net(1);
  auto transport = net.transport(0);
  hs::GlobalArrays arrays(transport);
  auto const x = arrays.make<double>(4, 4, 2, hs::BlockCyclic{});
  hs::Runtime<> rt;
  hs::TaskCollection<hs::TaskTypes<Add, Tasks...>> tasks(arrays, rt);
  f(arrays, x, tasks);
}
