// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache needs members `void insert(BlockId, BlockUse const&)` and
#include <hetsched/hetsched.hpp>

struct Bytes : hetsched::policies::Lru {
  void insert(hetsched::BlockId, std::size_t) {}
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Bytes> rt;
}
