// SPDX-License-Identifier: MIT
// expected-error: hetsched: a coroutine becomes a task by Runtime::async
#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  rt.spawn()([]() -> hs::Coroutine<> { co_return; });
}
