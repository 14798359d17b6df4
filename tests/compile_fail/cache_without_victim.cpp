// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache needs insert, access, pin, release, erase and victim
#include <hetsched/hetsched.hpp>

struct NoVictim {
  void insert(hetsched::BlockId, std::size_t) {}

  void access(hetsched::BlockId) {}

  void pin(hetsched::BlockId) {}

  void release(hetsched::BlockId) {}

  void erase(hetsched::BlockId) {}
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, NoVictim> rt;
}
