// SPDX-License-Identifier: MIT
// Tasks that spawn tasks: the Fibonacci numbers, the slow way. A body that spawns takes the runtime
// as its first parameter. For data that it passes on to its children it takes handles, not views.
//
//     Fib(4, result)
//      |-- Fib(3, a)
//      |    |-- Fib(2, a)
//      |    |-- ...
//      |-- Fib(2, b)
//      |    |-- ...
//      |-- a + b -> result      after both, because it reads what they write
//
// For all other tasks, a task is complete when all its descendants are complete.
//
// Expected output:
//   Fib(16) = 987

#include <hetsched/hetsched.hpp>

#include <cstdio>

namespace hs = hetsched;

struct Fib : hs::Task<2>::Signature<int, hs::W<long>> {};

template <>
struct hetsched::TaskBodyCPU<Fib> {
  void operator()(hs::Runtime<>& rt, int n, hs::Handle<long> result) {
    if (n < 2) {
      rt.spawn()([n](long& r) { r = n; }, hs::write(result));
      return;
    }
    long a = 0, b = 0;
    auto ha = rt.data(a), hb = rt.data(b); // made here: only for this task's children
    rt.spawn<Fib>()(n - 1, ha);
    rt.spawn<Fib>()(n - 2, hb);
    rt.spawn()([](long const& x, long const& y, long& sum) { sum = x + y; },
               hs::read(ha),
               hs::read(hb),
               hs::write(result));
    rt.sync(); // waits for the children only: a and b live on this function's stack
  }
};

int main() {
  hs::Runtime<> rt;
  long result = 0;
  auto handle = rt.data(result);
  rt.spawn<Fib>()(16, handle);
  rt.sync();
  std::printf("Fib(16) = %ld\n", result);
}
