// SPDX-License-Identifier: MIT
#pragma once
// Calls a cache policy as an engine does, keeps a model of the node, and judges every answer.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/testing/findings.hpp>
#include <hetsched/detail/testing/subject_base.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::testing {

/// The rules of concepts/cache.hpp that can be checked from outside.
enum class CacheRule : std::uint8_t {
  absent,  // a victim that is not in the node
  pinned,  // a victim that is pinned
  gave_up, // no victim, though an unpinned block is in the node
  changed, // asked again, another victim
  asked,   // `dirty` asked outside `victim`, or about a block that is not in the node
  slow,    // `dirty` asked more than 64 times for each block in the node
  threw,   // an operation threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(CacheRule rule) noexcept {
  switch (rule) {
  case CacheRule::absent:
    return "a victim is in the node";
  case CacheRule::pinned:
    return "a victim is not pinned";
  case CacheRule::gave_up:
    return "there is a victim while a block is not pinned";
  case CacheRule::changed:
    return "asking for a victim changes nothing";
  case CacheRule::asked:
    return "dirty is asked inside victim, about blocks in the node";
  case CacheRule::slow:
    return "victim asks a few questions for each block";
  case CacheRule::threw:
    return "no operation throws";
  }
  return "?";
}

using CacheReport = ReportOf<CacheRule>;

namespace detail {

/// A policy behind virtual functions: the rest of the kit is compiled once.
class CacheSubject : public SubjectBase {
public:
  [[nodiscard]] virtual bool wants_next_use() const noexcept = 0;

  virtual void insert(BlockId block, BlockUse const& use) = 0;
  virtual void access(BlockId block, BlockUse const& use) = 0;
  virtual void pin(BlockId block) = 0;
  virtual void release(BlockId block) = 0;
  virtual void erase(BlockId block) = 0;
  virtual BlockId victim(DirtyBlocks const& dirty) = 0;
};

using MakeCache = std::function<std::unique_ptr<CacheSubject>()>;
using CacheFindings = FindingsOf<CacheRule>;

/// One instance of a policy and its node.
class CacheDriver {
public:
  CacheDriver(std::string scenario,
              std::uint64_t seed,
              MakeCache const& make,
              CacheFindings& findings)
      : where_(std::move(scenario)), seed_(seed), findings_(findings),
        dirty_([](void const* driver,
                  BlockId block) { return static_cast<CacheDriver const*>(driver)->answer(block); },
               this) {
    call("the constructor", [&] { subject_ = make(); });
  }

  CacheDriver(CacheDriver const&) = delete;
  CacheDriver& operator=(CacheDriver const&) = delete;
  ~CacheDriver() = default;

  /// After such a violation further answers mean nothing. The scenario ends, and no operation has
  /// an effect.
  [[nodiscard]] bool spoiled() const noexcept { return spoiled_; }

  [[nodiscard]] bool wants_next_use() const { return subject_ && subject_->wants_next_use(); }

  // ---- the node ----

  [[nodiscard]] std::size_t size() const noexcept { return inside_.size(); }

  [[nodiscard]] BlockId at(std::size_t i) const noexcept { return BlockId{inside_[i]}; }

  [[nodiscard]] int pins(BlockId block) const noexcept { return blocks_[block.value].pins; }

  void set_dirty(BlockId block, bool dirty) noexcept { blocks_[block.value].dirty = dirty; }

  // ---- operations ----

  /// The number of the block that became free last, else a new number.
  BlockId insert(BlockUse const& use) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(blocks_.size()));
      blocks_.emplace_back();
    }
    BlockId const block{free_.back()};
    free_.pop_back();
    blocks_[block.value] = {.place = inside_.size(), .inside = true};
    inside_.push_back(block.value);
    ++unpinned_;
    call("insert", [&] { subject_->insert(block, use); });
    return block;
  }

  void access(BlockId block, BlockUse const& use) {
    call("access", [&] { subject_->access(block, use); });
  }

  void pin(BlockId block) {
    unpinned_ -= blocks_[block.value].pins++ == 0 ? 1 : 0;
    call("pin", [&] { subject_->pin(block); });
  }

  void release(BlockId block) {
    unpinned_ += --blocks_[block.value].pins == 0 ? 1 : 0;
    call("release", [&] { subject_->release(block); });
  }

  void erase(BlockId block) {
    auto& gone = blocks_[block.value];
    blocks_[inside_.back()].place = gone.place;
    inside_[gone.place] = inside_.back();
    inside_.pop_back();
    gone.inside = false;
    free_.push_back(block.value);
    --unpinned_;
    call("erase", [&] { subject_->erase(block); });
  }

  /// Asks twice. Also returns no_block if the answer was wrong.
  BlockId victim() {
    auto const first = ask();
    if (spoiled_ || !judge(first)) {
      return no_block;
    }
    auto const second = ask();
    if (!spoiled_ && second != first) {
      report(CacheRule::changed,
             "the answer was " + describe(first) + ", and then " + describe(second));
    }
    return spoiled_ ? no_block : first;
  }

  /// Calls victim and erase. Returns whether there was a victim.
  bool evict() {
    auto const block = victim();
    if (block != no_block) {
      erase(block);
    }
    return block != no_block;
  }

private:
  struct Block {
    std::size_t place = 0; // in inside_
    int pins = 0;
    bool inside = false;
    bool dirty = false;
  };

  template <class F>
  void call(char const* what, F&& operation) {
    if (spoiled_) {
      return;
    }
    try {
      operation();
    } catch (...) {
      report(CacheRule::threw, what_threw(what));
    }
  }

  BlockId ask() {
    BlockId block;
    asking_ = true;
    questions_ = 0;
    call("victim", [&] { block = subject_->victim(dirty_); });
    asking_ = false;
    if (questions_ > 64 * std::max<std::size_t>(size(), 1)) {
      report(CacheRule::slow,
             "victim asked " + std::to_string(questions_) + " questions about " +
                 std::to_string(size()) + " blocks");
    }
    return block;
  }

  bool judge(BlockId block) {
    auto const known = block.value < blocks_.size() ? blocks_[block.value] : Block{};
    if (block == no_block && unpinned_ > 0) {
      report(CacheRule::gave_up,
             "the answer was no_block, and " + std::to_string(unpinned_) + " of " +
                 std::to_string(size()) + " blocks are not pinned");
    } else if (block != no_block && !known.inside) {
      report(CacheRule::absent, "the answer was " + describe(block) + ", which is not there");
    } else if (known.pins > 0) {
      report(CacheRule::pinned,
             "the answer was " + describe(block) + ", pinned " + std::to_string(known.pins) +
                 " times");
    }
    return !spoiled_;
  }

  /// Answers the policy's question.
  [[nodiscard]] bool answer(BlockId block) const {
    ++questions_;
    if (!asking_) {
      report(CacheRule::asked, "dirty was asked about " + describe(block) + " outside victim");
    } else if (block.value >= blocks_.size() || !blocks_[block.value].inside) {
      report(CacheRule::asked, "dirty was asked about " + describe(block) + ", which is not there");
    }
    return block.value < blocks_.size() && blocks_[block.value].dirty;
  }

  static std::string describe(BlockId block) {
    return block == no_block ? "no_block" : "block " + std::to_string(block.value);
  }

  void report(CacheRule rule, std::string what) const {
    findings_.add(rule, where_, seed_, no_worker, std::move(what));
    spoiled_ = true;
  }

  std::string where_;
  std::uint64_t seed_;
  CacheFindings& findings_;
  DirtyBlocks dirty_;
  std::unique_ptr<CacheSubject> subject_;
  std::vector<Block> blocks_ = std::vector<Block>(1); // by number; no_block is none
  std::vector<std::uint32_t> inside_;
  std::vector<std::uint32_t> free_;
  std::size_t unpinned_ = 0;
  bool asking_ = false;
  mutable std::size_t questions_ = 0;
  mutable bool spoiled_ = false;
};

} // namespace detail

} // namespace hetsched::testing
