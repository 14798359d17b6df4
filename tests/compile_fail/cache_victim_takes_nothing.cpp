// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache needs a member `BlockId victim(DirtyBlocks const&)`
#include <hetsched/hetsched.hpp>

struct NotTold : hetsched::policies::Lru {
  hetsched::BlockId victim() const { return hetsched::no_block; }
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, NotTold> rt;
}
