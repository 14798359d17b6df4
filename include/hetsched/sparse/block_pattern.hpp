// SPDX-License-Identifier: MIT
#pragma once
// Which blocks of a matrix are there.

#include <hetsched/core/error.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hetsched::sparse {

/// The blocks of a square matrix that are not empty. Those on the diagonal always are there.
class BlockPattern {
public:
  /// A matrix of size x size blocks, of which the diagonal is there.
  explicit BlockPattern(std::size_t size)
      : size_(size), words_((size + 63) / 64), bits_(size * words_) {
    for (std::size_t k = 0; k < size; ++k) {
      word(k, k) |= bit(k);
    }
  }

  /// Blocks in a row.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Throws Error(bad_call) if there is no such place.
  [[nodiscard]] bool at(std::size_t i, std::size_t j) const {
    check(i, j);
    return (bits_[i * words_ + j / 64] & bit(j)) != 0;
  }

  /// Block (i, j) is there. Throws Error(bad_call) if there is no such place.
  void add(std::size_t i, std::size_t j) {
    check(i, j);
    word(i, j) |= bit(j);
  }

  /// How many blocks are there.
  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t sum = 0;
    for (auto const bits : bits_) {
      sum += static_cast<std::size_t>(std::popcount(bits));
    }
    return sum;
  }

  /// The blocks of the factors L and U without pivoting: those of the matrix, and (i, j) wherever
  /// (i, k) and (k, j) are there for a k before both. O(size^3 / 64).
  [[nodiscard]] BlockPattern filled() const {
    auto all = *this;
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t i = k + 1; i < size_; ++i) {
        if ((all.word(i, k) & bit(k)) == 0) {
          continue;
        }
        for (auto w = k / 64; w < words_; ++w) {
          auto row = all.bits_[k * words_ + w];
          if (w == k / 64) {
            row &= ~std::uint64_t{0} << k % 64; // what is before k has had its turn
          }
          all.bits_[i * words_ + w] |= row;
        }
      }
    }
    return all;
  }

  friend bool operator==(BlockPattern const&, BlockPattern const&) = default;

private:
  [[nodiscard]] static std::uint64_t bit(std::size_t j) noexcept {
    return std::uint64_t{1} << j % 64;
  }

  [[nodiscard]] std::uint64_t& word(std::size_t i, std::size_t j) noexcept {
    return bits_[i * words_ + j / 64];
  }

  void check(std::size_t i, std::size_t j) const {
    if (i >= size_ || j >= size_) {
      refuse(i, j);
    }
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse(std::size_t i, std::size_t j) const {
    throw Error(ErrorCode::bad_call,
                "BlockPattern",
                "has no block (" + std::to_string(i) + ", " + std::to_string(j) + "): it has " +
                    std::to_string(size_) + " x " + std::to_string(size_));
  }

  std::size_t size_;
  std::size_t words_; // of a row
  std::vector<std::uint64_t> bits_;
};

} // namespace hetsched::sparse
