// SPDX-License-Identifier: MIT
#pragma once
// A merge sort: sorted blocks, then merges of pairs, each cut into pieces of equal length.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/block_loop.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Memory for elements that pieces of a merge make by moves from a range.
template <class T>
class MovedElements {
public:
  MovedElements(std::size_t size, std::size_t pieces)
      : size_(size), made_(pieces), memory_(std::allocator<T>().allocate(size)) {}

  MovedElements(MovedElements const&) = delete;
  MovedElements& operator=(MovedElements const&) = delete;

  ~MovedElements() {
    for (auto const& made : made_) {
      std::destroy_n(memory_ + made.begin, made.count);
    }
    std::allocator<T>().deallocate(memory_, size_);
  }

  [[nodiscard]] T* data() const noexcept { return memory_; }

  /// The elements that a piece has made: so many from `begin` on, also if it ends by an exception.
  struct Made {
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] Made& made(std::size_t piece) noexcept { return made_[piece]; }

private:
  std::size_t size_;
  std::vector<Made> made_;
  T* memory_;
};

/// Where a piece of a merge puts its elements: they exist already, or are made.
template <class Out>
struct Assigned {
  Out out;

  template <class T>
  void put(T&& value) {
    *out++ = std::forward<T>(value);
  }
};

template <class T>
struct Constructed {
  T* out;
  typename MovedElements<T>::Made& made;

  void put(T&& value) {
    std::construct_at(out++, std::move(value));
    ++made.count;
  }
};

/// How many of the first `rank` elements of a merge are of the first sequence; equal elements come
/// from the first sequence first. O(log) comparisons.
template <class A, class B, class Less>
[[nodiscard]] std::size_t
merge_split(A a, std::size_t a_size, B b, std::size_t b_size, std::size_t rank, Less const& less) {
  auto low = rank > b_size ? rank - b_size : 0;
  auto high = std::min(rank, a_size);
  while (low < high) {
    auto const i = low + (high - low) / 2; // of a; the other rank - i are of b
    auto const j = rank - i;
    // Too few of a, if the last that was taken of b does not go before a[i].
    if (!less(b[static_cast<std::ptrdiff_t>(j - 1)], a[static_cast<std::ptrdiff_t>(i)])) {
      low = i + 1;
    } else {
      high = i;
    }
  }
  return low;
}

template <class Rt, class It, class Less>
class MergeSort {
  using T = std::iter_value_t<It>;
  using Step = std::iter_difference_t<It>;

public:
  MergeSort(Rt& rt, Less const& less) : rt_(rt), less_(less) {}

  void sort(char const* algorithm, It first, It last, LoopOptions options) {
    check_loop(rt_, algorithm);
    workers_ = host_workers(rt_);
    size_ = static_cast<std::size_t>(last - first);
    auto const least = options.grain != 0 ? options.grain : least_block;
    auto const most =
        std::bit_ceil(std::max<std::size_t>(size_ / std::max<std::size_t>(least, 1), 1));
    auto const blocks = std::min(most, options.fixed_order ? 8 : blocks_for(workers_));
    if (blocks <= 1 || size_ <= 1 || (workers_ == 1 && !options.fixed_order)) {
      std::sort(first, last, less_);
      return;
    }
    block_ = (size_ + blocks - 1) / blocks;
    sort_blocks(first, blocks);
  }

private:
  /// On a 2-core virtual machine a helper's wake-up takes as long as sorting some 10^3 numbers.
  static constexpr std::size_t least_block = 2048;

  /// A power of two, so that all merges are of equal lengths; the last block is often short. More
  /// than one for each worker where they could not be dealt out evenly.
  [[nodiscard]] static std::size_t blocks_for(std::size_t workers) noexcept {
    return std::has_single_bit(workers) ? workers : 2 * std::bit_ceil(workers);
  }

  [[nodiscard]] std::size_t at(std::size_t block) const noexcept {
    return std::min(block * block_, size_);
  }

  void sort_blocks(It first, std::size_t blocks) {
    run_blocks(rt_, blocks, workers_, [&](std::size_t k, BlockLoop const&) {
      std::sort(first + static_cast<Step>(at(k)), first + static_cast<Step>(at(k + 1)), less_);
    });
    auto const pieces = pieces_of(block_);
    MovedElements<T> buffer(size_, pairs_of(block_) * pieces);
    merge_pass(first, block_, [&](std::size_t piece, std::size_t begin) {
      auto& made = buffer.made(piece);
      made.begin = begin;
      return Constructed<T>{buffer.data() + begin, made};
    });
    bool in_buffer = true;
    for (std::size_t run = 2 * block_; run < size_; run *= 2, in_buffer = !in_buffer) {
      if (in_buffer) {
        merge_pass(buffer.data(), run, [&](std::size_t, std::size_t begin) {
          return Assigned<It>{first + static_cast<Step>(begin)};
        });
      } else {
        merge_pass(first, run, [&](std::size_t, std::size_t begin) {
          return Assigned<T*>{buffer.data() + begin};
        });
      }
    }
    if (in_buffer) {
      move_back(buffer.data(), first);
    }
  }

  void move_back(T* from, It to) const {
    auto const pieces = 2 * workers_;
    run_blocks(rt_, pieces, workers_, [&](std::size_t k, BlockLoop const&) {
      auto const begin = size_ / pieces * k;
      auto const end = k + 1 == pieces ? size_ : begin + size_ / pieces;
      std::move(from + begin, from + end, to + static_cast<Step>(begin));
    });
  }

  /// Pairs of runs of this length, and the pieces of each pair's merge.
  [[nodiscard]] std::size_t pairs_of(std::size_t run) const noexcept {
    return (size_ + 2 * run - 1) / (2 * run);
  }

  [[nodiscard]] std::size_t pieces_of(std::size_t run) const noexcept {
    return std::max<std::size_t>(4 * workers_ / pairs_of(run), 1);
  }

  /// Merges pairs of runs of this length. place(piece, begin): where a piece's elements go.
  template <class From, class Place>
  void merge_pass(From from, std::size_t run, Place&& place) const {
    using FromStep = std::iter_difference_t<From>;
    auto const pieces = pieces_of(run);
    std::vector<Piece> all(pairs_of(run) * pieces);
    for (std::size_t k = 0; k < all.size(); ++k) { // before any element is moved away
      all[k] = piece_of(from, run, k / pieces, k % pieces, pieces);
    }
    run_blocks(rt_, all.size(), workers_, [&](std::size_t k, BlockLoop const&) {
      auto const& piece = all[k];
      merge(from + static_cast<FromStep>(piece.a),
            from + static_cast<FromStep>(piece.a_end),
            from + static_cast<FromStep>(piece.b),
            from + static_cast<FromStep>(piece.b_end),
            place(k, piece.out));
    });
  }

  /// A part of the merge of two runs: of the elements a to a_end and b to b_end, to `out` on.
  struct Piece {
    std::size_t a, a_end, b, b_end, out;
  };

  template <class From>
  [[nodiscard]] Piece piece_of(
      From from, std::size_t run, std::size_t pair, std::size_t piece, std::size_t pieces) const {
    using FromStep = std::iter_difference_t<From>;
    auto const begin = pair * 2 * run;
    auto const middle = std::min(begin + run, size_);
    auto const end = std::min(begin + 2 * run, size_);
    auto const a = from + static_cast<FromStep>(begin);
    auto const b = from + static_cast<FromStep>(middle);
    auto const low = (end - begin) / pieces * piece;
    auto const high = piece + 1 == pieces ? end - begin : low + (end - begin) / pieces;
    auto const a_low = merge_split(a, middle - begin, b, end - middle, low, less_);
    auto const a_high = merge_split(a, middle - begin, b, end - middle, high, less_);
    return {
        begin + a_low, begin + a_high, middle + low - a_low, middle + high - a_high, begin + low};
  }

  template <class From, class To>
  void merge(From a, From a_end, From b, From b_end, To to) const {
    while (a != a_end && b != b_end) {
      if (less_(*b, *a)) {
        to.put(std::move(*b++));
      } else {
        to.put(std::move(*a++));
      }
    }
    for (; a != a_end; ++a) {
      to.put(std::move(*a));
    }
    for (; b != b_end; ++b) {
      to.put(std::move(*b));
    }
  }

  Rt& rt_;
  Less const& less_;
  std::size_t workers_ = 1;
  std::size_t size_ = 0;
  std::size_t block_ = 0;
};

} // namespace hetsched::detail
