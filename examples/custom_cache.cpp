// SPDX-License-Identifier: MIT
// A cache policy of your own: the block that came last leaves first. The conformance kit tests it
// against a model of a device's memory. It reports an error if a policy forgets that pins count.
//
// Expected output:
//   NewestOut keeps the contract
//   Careless: a victim is not pinned: the answer was block ..., pinned 1 times ...
//   y = 42

#include <hetsched/hetsched.hpp>
#include <hetsched/testing/cache_conformance.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace hs = hetsched;

struct NewestOut {
  std::vector<hs::BlockId> blocks; // oldest first
  std::vector<hs::BlockId> pinned; // one entry for each pin

  void insert(hs::BlockId block, hs::BlockUse const&) { blocks.push_back(block); }

  void access(hs::BlockId, hs::BlockUse const&) {} // it does not matter who is used

  void pin(hs::BlockId block) { pinned.push_back(block); }

  void release(hs::BlockId block) { pinned.erase(std::ranges::find(pinned, block)); }

  void erase(hs::BlockId block) { std::erase(blocks, block); }

  hs::BlockId victim(hs::DirtyBlocks const&) const {
    auto const newest = std::find_if(blocks.rbegin(), blocks.rend(), [&](hs::BlockId block) {
      return std::ranges::find(pinned, block) == pinned.end();
    });
    return newest == blocks.rend() ? hs::no_block : *newest;
  }
};

struct Careless : NewestOut {
  void pin(hs::BlockId block) { pinned = {block}; }

  void release(hs::BlockId) { pinned.clear(); }
};

int main() {
  if (hs::testing::check_cache<NewestOut>().ok()) {
    std::puts("NewestOut keeps the contract");
  }
  auto const report = hs::testing::check_cache<Careless>({.max_violations = 1});
  std::fputs(report.text().c_str(), stdout); // begins with the name

  hs::Runtime<hs::policies::WorkStealing<>, NewestOut> rt; // one instance for each device
  int y = 6;
  auto const hy = rt.data(y);
  rt.spawn()([](int& value) { value *= 7; }, hs::read_write(hy));
  rt.sync();
  std::printf("y = %d\n", y);
}
