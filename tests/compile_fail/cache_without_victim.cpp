// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache needs a member `BlockId victim(DirtyBlocks const&)`
#include <hetsched/hetsched.hpp>

struct NoVictim {
  void insert(hetsched::BlockId, hetsched::BlockUse const&) {}

  void access(hetsched::BlockId, hetsched::BlockUse const&) {}

  void pin(hetsched::BlockId) {}

  void release(hetsched::BlockId) {}

  void erase(hetsched::BlockId) {}
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, NoVictim> rt;
}
