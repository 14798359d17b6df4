// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache's reindex must be `void reindex(BlockId, std::int64_t)`
#include <hetsched/hetsched.hpp>

struct Undecided : hetsched::policies::Lru {
  void reindex(hetsched::BlockId, hetsched::BlockUse const& use);
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Undecided> rt;
}
