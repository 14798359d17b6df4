// SPDX-License-Identifier: MIT
// expected-error: a body can take handles only of its first 64 data parameters
#include <hetsched/hetsched.hpp>

#include <utility>

namespace hs = hetsched;

template <std::size_t I, class T>
using Repeated = T;

template <class Indices>
struct Many;

template <std::size_t... I>
struct Many<std::index_sequence<I...>>
    : hs::Task<sizeof...(I) + 1>::template Signature<Repeated<I, hs::RW<int>>..., hs::RW<int>> {};

template <std::size_t... I>
struct hetsched::TaskBodyCPU<Many<std::index_sequence<I...>>> {
  void operator()(Repeated<I, int&>... /*values*/, hs::Handle<int> /*last*/) const {}
};

template <std::size_t... I>
void spawn(std::index_sequence<I...>) {
  hs::Runtime<> rt;
  int x = 0;
  auto hx = rt.data(x);
  rt.spawn<Many<std::index_sequence<I...>>>()(Repeated<I, hs::Handle<int>&>(hx)..., hx);
}

int main() {
  spawn(std::make_index_sequence<64>());
}
