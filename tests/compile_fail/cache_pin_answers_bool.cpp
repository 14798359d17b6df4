// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache needs members `void pin(BlockId)`, `void release(BlockId)` and
#include <hetsched/hetsched.hpp>

struct Answers : hetsched::policies::Lru {
  bool pin(hetsched::BlockId) { return true; }
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Answers> rt;
}
