// SPDX-License-Identifier: MIT
#pragma once
// What one rank has called so far, in order, to be compared with what the others have.

#include <hetsched/detail/core/fnv_hash.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// The name of something that all ranks must call in the same order, with a hash of the name.
struct CallName {
  std::string_view text; // lives as long as the process
  std::uint64_t hash;

  constexpr explicit CallName(std::string_view name) noexcept : text(name), hash(hash_of(name)) {}

private:
  static constexpr std::uint64_t hash_of(std::string_view name) noexcept {
    FnvHash hash;
    hash.add(name);
    return hash.value();
  }
};

/// Spawns and other calls that all ranks make alike, each with a hash of it and all before. One
/// thread adds. Any thread may ask for what came before a call of that thread which it knows of.
class SpawnLog {
public:
  /// How many calls there were.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Of all of them.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

  /// Adds a call: its name, the rank that it is about (or -1), and numbers, of data for instance.
  /// The name outlives this.
  [[gnu::always_inline]] void
  add(CallName const& name, std::int32_t rank, std::span<std::uint32_t const> numbers) {
    if (last_ == end_) [[unlikely]] {
      grow();
    }
    // The products do not wait for each other: only one multiplication is between two calls.
    auto sum = name.hash + static_cast<std::uint32_t>(rank) * std::uint64_t{0x9e3779b97f4a7c15U};
    std::uint64_t factor = 0xbf58476d1ce4e5b9U;
#pragma GCC unroll 4
    for (auto const number : numbers) {
      sum += (number + std::uint64_t{1}) * factor;
      factor += 0xd6e8feb86659fd92U; // stays odd
    }
    auto hash = (hash_ ^ sum) * 0x9fb21c651e98df25U;
    hash ^= hash >> 32U;
    hash_ = hash;
    last_->hash = hash;
    last_->name = &name;
    last_->rank = rank;
    last_->length = static_cast<std::uint32_t>(numbers.size());
#pragma GCC unroll 4
    for (std::size_t k = 0; k < shown; ++k) {
      last_->numbers[k] = k < numbers.size() ? numbers[k] : 0;
    }
    ++last_;
    ++count_;
  }

  /// The hash of the first `count` calls, of which not all are forgotten.
  [[nodiscard]] std::uint64_t hash_of_first(std::uint64_t count) const {
    return count == 0 ? 0 : entry(count - 1).hash;
  }

  /// Call number k in words: "spawned gemm(3, 4, 5) on rank 2", "called sync".
  [[nodiscard]] std::string description(std::uint64_t k) const {
    auto const& call = entry(k);
    std::string text(call.rank < 0 ? "called " : "spawned ");
    text.append(call.name->text);
    if (call.length != 0) {
      text += '(';
      for (std::size_t i = 0; i < std::min<std::size_t>(call.length, shown); ++i) {
        text.append(i == 0 ? "" : ", ").append(std::to_string(call.numbers[i]));
      }
      text.append(call.length > shown ? ", ...)" : ")");
    }
    if (call.rank >= 0) {
      text.append(" on rank ").append(std::to_string(call.rank));
    }
    return text;
  }

  /// The first `count` calls are the same on all ranks: they will not be asked for any more. For
  /// the thread that adds.
  void forget_first(std::uint64_t count) {
    std::lock_guard const guard(mutex_);
    auto const whole = std::min<std::uint64_t>(count == 0 ? 0 : (count - 1) / chunk_length,
                                               begin_ + chunks_.size());
    for (; begin_ < whole; ++begin_) { // keeps the chunk of call count - 1, where a search begins
      spare_.push_back(std::move(chunks_.front()));
      chunks_.pop_front();
    }
  }

private:
  static constexpr std::size_t chunk_length = 1024;
  static constexpr std::size_t shown = 4; // numbers in descriptions

  struct Entry {
    std::uint64_t hash;
    CallName const* name;
    std::int32_t rank;
    std::uint32_t length;
    std::array<std::uint32_t, shown> numbers;
  };

  struct Chunk {
    std::array<Entry, chunk_length> entries;
  };

  [[gnu::cold]] void grow() {
    std::lock_guard const guard(mutex_);
    if (spare_.empty()) {
      spare_.push_back(std::make_unique_for_overwrite<Chunk>());
    }
    chunks_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    last_ = chunks_.back()->entries.data();
    end_ = last_ + chunk_length;
  }

  [[nodiscard]] Entry const& entry(std::uint64_t k) const {
    std::lock_guard const guard(mutex_);
    return chunks_[k / chunk_length - begin_]->entries[k % chunk_length];
  }

  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0;
  Entry* last_ = nullptr; // the next one
  Entry* end_ = nullptr;  // of the latest chunk
  mutable Mutex mutex_;   // of the lists of chunks
  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::unique_ptr<Chunk>> spare_;
  std::uint64_t begin_ = 0; // chunks that were forgotten
};

} // namespace hetsched::detail
