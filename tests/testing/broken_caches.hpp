// SPDX-License-Identifier: MIT
#pragma once
// Deliberately broken cache policies, at least one for each rule that the conformance kit checks.

#include <hetsched/concepts/cache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

namespace broken {

namespace hs = hetsched;

/// Right, and the base of the others: the newest block leaves first.
struct NewestOut {
  struct Entry {
    hs::BlockId block;
    int pins;
  };

  std::vector<Entry> blocks; // oldest first

  Entry& find(hs::BlockId block) {
    return *std::find_if(
        blocks.begin(), blocks.end(), [=](Entry const& entry) { return entry.block == block; });
  }

  void insert(hs::BlockId block, hs::BlockUse const&) { blocks.push_back({block, 0}); }

  void access(hs::BlockId, hs::BlockUse const&) {}

  void pin(hs::BlockId block) { ++find(block).pins; }

  void release(hs::BlockId block) { --find(block).pins; }

  void erase(hs::BlockId block) {
    std::erase_if(blocks, [=](Entry const& entry) { return entry.block == block; });
  }

  hs::BlockId victim(hs::DirtyBlocks const&) const {
    auto const it = std::find_if(
        blocks.rbegin(), blocks.rend(), [](Entry const& entry) { return entry.pins == 0; });
    return it == blocks.rend() ? hs::no_block : it->block;
  }
};

/// The index at `insert` counts for ever: `erase` does not forget.
struct RemembersTheGone : NewestOut {
  std::vector<hs::BlockId> gone;

  void erase(hs::BlockId block) {
    NewestOut::erase(block);
    gone.push_back(block);
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) const {
    return gone.size() % 5 == 4 ? gone.back() : NewestOut::victim(dirty);
  }
};

struct MakesUpABlock : NewestOut {
  hs::BlockId victim(hs::DirtyBlocks const& dirty) const {
    return blocks.size() == 5 ? hs::BlockId{1'000'000} : NewestOut::victim(dirty);
  }
};

struct IgnoresPins : NewestOut {
  void pin(hs::BlockId) {}

  void release(hs::BlockId) {}
};

/// One release undoes all pins.
struct DoesNotCountPins : NewestOut {
  void release(hs::BlockId block) { find(block).pins = 0; }
};

struct ForgetsPinsAtAccess : NewestOut {
  void access(hs::BlockId block, hs::BlockUse const&) {
    auto const pins = find(block).pins;
    find(block).pins = pins > 1 ? 1 : pins;
  }

  void release(hs::BlockId block) { find(block).pins = std::max(find(block).pins - 1, 0); }
};

/// Looks at one block only.
struct GivesUpAtAPin : NewestOut {
  hs::BlockId victim(hs::DirtyBlocks const&) const {
    return blocks.empty() || blocks.back().pins > 0 ? hs::no_block : blocks.back().block;
  }
};

struct EvictsNoDirtyBlock : NewestOut {
  hs::BlockId victim(hs::DirtyBlocks const& dirty) const {
    for (auto const& entry : blocks) {
      if (entry.pins == 0 && !dirty(entry.block)) {
        return entry.block;
      }
    }
    return hs::no_block;
  }
};

/// Takes a number for a block that it knows, though another block has it now.
struct KnowsTheNumber : NewestOut {
  std::set<hs::BlockId> known;

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    if (known.insert(block).second) {
      NewestOut::insert(block, use);
    }
  }

  void pin(hs::BlockId) {}

  void release(hs::BlockId) {}
};

struct HasRoomForAThousand : NewestOut {
  void insert(hs::BlockId block, hs::BlockUse const& use) {
    if (block.value < 1000) {
      NewestOut::insert(block, use);
    }
  }

  void pin(hs::BlockId block) {
    if (block.value < 1000) {
      NewestOut::pin(block);
    }
  }

  void release(hs::BlockId block) {
    if (block.value < 1000) {
      NewestOut::release(block);
    }
  }
};

/// Takes its answer for an eviction.
struct RemovesWhatItAnswers : NewestOut {
  hs::BlockId victim(hs::DirtyBlocks const& dirty) {
    auto const block = NewestOut::victim(dirty);
    if (block != hs::no_block && blocks.size() > 1) {
      NewestOut::erase(block);
      blocks.insert(blocks.begin(), {block, 0});
    }
    return block;
  }
};

/// Keeps what `victim` was given.
struct AsksTooLate : NewestOut {
  std::optional<hs::DirtyBlocks> kept;

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    NewestOut::insert(block, use);
    if (kept) {
      static_cast<void>((*kept)(block));
    }
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) {
    kept = dirty;
    return NewestOut::victim(dirty);
  }
};

struct AsksAboutTheGone : NewestOut {
  hs::BlockId gone;

  void erase(hs::BlockId block) {
    NewestOut::erase(block);
    gone = block;
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) const {
    static_cast<void>(gone == hs::no_block || dirty(gone));
    return NewestOut::victim(dirty);
  }
};

/// Compares each block with each other.
struct AsksForPairs : NewestOut {
  hs::BlockId victim(hs::DirtyBlocks const& dirty) const {
    for (auto const& entry : blocks) {
      static_cast<void>(dirty(entry.block));
      for (auto const& other : blocks) {
        static_cast<void>(dirty(other.block));
      }
    }
    return NewestOut::victim(dirty);
  }
};

struct ThrowsWhenFull : NewestOut {
  void insert(hs::BlockId block, hs::BlockUse const& use) {
    blocks.size() == 10 ? throw std::runtime_error("ten are enough")
                        : NewestOut::insert(block, use);
  }
};

struct CannotBeMadeCache : NewestOut {
  CannotBeMadeCache() { throw std::runtime_error("not today"); }
};

} // namespace broken
