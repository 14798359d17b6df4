// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache's foresee must be `void foresee(BlockId, std::uint64_t)`
#include <hetsched/hetsched.hpp>

struct Undecided : hetsched::policies::Lru {
  void foresee(hetsched::BlockId, void const* next_task);
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Undecided> rt;
}
