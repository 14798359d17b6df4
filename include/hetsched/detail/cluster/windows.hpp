// SPDX-License-Identifier: MIT
#pragma once
// The windows of one rank, and what all one-sided transports check.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::detail {

enum class RmaKind : std::uint8_t { get, put, accumulate, fetch_add, compare_swap };

[[nodiscard]] constexpr char const* name_of(RmaKind kind) noexcept {
  switch (kind) {
  case RmaKind::get:
    return "get";
  case RmaKind::put:
    return "put";
  case RmaKind::accumulate:
    return "accumulate";
  case RmaKind::fetch_add:
    return "fetch_add";
  case RmaKind::compare_swap:
    return "compare_swap";
  }
  return "?";
}

/// The windows of one rank: `Memory` is what the transport keeps for each.
template <class Memory>
class Windows {
public:
  struct Entry {
    WindowElement element{};
    std::vector<std::uint64_t> elements; // of each rank
    Memory memory{};
  };

  explicit Windows(int rank) noexcept : rank_(rank) {}

  Window add(WindowElement element, std::vector<std::uint64_t> elements, Memory memory) {
    entries_.emplace_back(Entry{element, std::move(elements), std::move(memory)});
    return {static_cast<std::uint32_t>(entries_.size() - 1)};
  }

  /// f(memory) of each window that is there.
  template <class F>
  void each(F&& f) {
    for (auto& entry : entries_) {
      if (entry) {
        f(entry->memory);
      }
    }
  }

  void remove(Window window) {
    (void)at(window);
    entries_[window.number].reset();
  }

  /// Throws Error(bad_call) for a window that is not there.
  [[nodiscard]] Entry& at(Window window) {
    return const_cast<Entry&>(std::as_const(*this).at(window));
  }

  [[nodiscard]] Entry const& at(Window window) const {
    if (window.number >= entries_.size() || !entries_[window.number]) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  text("rank %d", rank_),
                  text("uses window %u, which it does not have", window.number));
    }
    return *entries_[window.number];
  }

  [[nodiscard]] std::size_t elements(Window window, int rank) const {
    auto const& entry = at(window);
    if (rank < 0 || static_cast<std::size_t>(rank) >= entry.elements.size()) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  text("rank %d", rank_),
                  text("uses rank %d of %zu ranks", rank, entry.elements.size()));
    }
    return static_cast<std::size_t>(entry.elements[static_cast<std::size_t>(rank)]);
  }

  /// The window, if the operation may be done. Throws Error(bad_call).
  [[nodiscard]] Entry&
  check(Window window, WindowPatch const& patch, std::size_t stride, RmaKind kind) {
    auto const size = elements(window, patch.rank);
    auto& entry = at(window);
    auto const word = entry.element == WindowElement::word;
    if (kind == RmaKind::accumulate ? entry.element == WindowElement::byte
                                    : kind > RmaKind::accumulate && !word) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  text("window %u", window.number),
                  text("holds %s, which %s does not take", name_of(entry.element), name_of(kind)));
    }
    if (patch.rows != 0 && patch.columns != 0 && !fits(patch, size)) [[unlikely]] {
      throw Error(
          ErrorCode::bad_call,
          text("window %u", window.number),
          text("rank %d's part of %zu elements has no patch of %zu x %zu from %zu, stride %zu",
               patch.rank,
               size,
               patch.rows,
               patch.columns,
               patch.first,
               patch.stride));
    }
    if (patch.rows > 1 && stride < patch.columns) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  text("window %u", window.number),
                  text("%s of rows of %zu elements with a stride of %zu in memory",
                       name_of(kind),
                       patch.columns,
                       stride));
    }
    return entry;
  }

private:
  /// Without overflow: patches come from other ranks, too.
  [[nodiscard]] static bool fits(WindowPatch const& patch, std::size_t size) noexcept {
    if (patch.first > size || patch.columns > size - patch.first) {
      return false;
    }
    auto const room = size - patch.first - patch.columns;
    return patch.rows == 1 ||
           (patch.stride >= patch.columns && (patch.rows - 1) <= room / patch.stride);
  }

  int rank_;
  std::vector<std::optional<Entry>> entries_; // by number
};

/// Operations keep the memory that they read and the one that they write alike.
[[nodiscard]] inline std::byte* only_read(void const* here) noexcept {
  return static_cast<std::byte*>(const_cast<void*>(here));
}

/// Copies rows; strides in elements.
inline void copy_rows(WindowPatch const& patch,
                      std::size_t element,
                      std::byte* to,
                      std::size_t to_stride,
                      std::byte const* from,
                      std::size_t from_stride) noexcept {
  for (std::size_t r = 0; r < patch.rows && patch.columns != 0; ++r) {
    std::memcpy(
        to + r * to_stride * element, from + r * from_stride * element, patch.columns * element);
  }
}

template <class T>
void add_rows_of(WindowPatch const& patch,
                 std::byte* to,
                 std::size_t to_stride,
                 std::byte const* from,
                 std::size_t from_stride) noexcept {
  for (std::size_t r = 0; r < patch.rows; ++r) {
    for (std::size_t c = 0; c < patch.columns; ++c) { // what comes by messages is not aligned
      T sum;
      T term;
      auto* const place = to + (r * to_stride + c) * sizeof(T);
      std::memcpy(&sum, place, sizeof(T));
      std::memcpy(&term, from + (r * from_stride + c) * sizeof(T), sizeof(T));
      if constexpr (std::is_integral_v<T>) { // wraps around
        sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(term));
      } else {
        sum += term;
      }
      std::memcpy(place, &sum, sizeof(T));
    }
  }
}

/// Adds rows of elements that are not bytes; strides in elements.
inline void add_rows(WindowPatch const& patch,
                     WindowElement element,
                     std::byte* to,
                     std::size_t to_stride,
                     std::byte const* from,
                     std::size_t from_stride) noexcept {
  switch (element) {
  case WindowElement::f32:
    return add_rows_of<float>(patch, to, to_stride, from, from_stride);
  case WindowElement::f64:
    return add_rows_of<double>(patch, to, to_stride, from, from_stride);
  default:
    return add_rows_of<std::int64_t>(patch, to, to_stride, from, from_stride);
  }
}

/// Changes a word as fetch_add or compare_swap does. Returns what it was.
inline std::int64_t
change_word(RmaKind kind, std::byte* place, std::int64_t value, std::int64_t desired) noexcept {
  std::int64_t before = 0;
  std::memcpy(&before, place, sizeof before);
  auto after = before;
  if (kind == RmaKind::fetch_add) {
    after = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                      static_cast<std::uint64_t>(value));
  } else if (before == value) {
    after = desired;
  }
  std::memcpy(place, &after, sizeof after);
  return before;
}

/// An operation on a part. Strides and `first` in elements; `here` is null for words.
struct RmaOperation {
  RmaKind kind{};
  WindowElement element{};
  WindowPatch patch;
  std::byte* here = nullptr;
  std::size_t stride = 0;
  std::int64_t value = 0; // or what is expected
  std::int64_t desired = 0;

  [[nodiscard]] std::size_t bytes() const noexcept { return patch.size() * size_of(element); }

  /// Whether the caller's memory goes to the target.
  [[nodiscard]] bool gives() const noexcept {
    return kind == RmaKind::put || kind == RmaKind::accumulate;
  }

  /// Does it. Returns what the word was, or 0.
  [[nodiscard]] std::int64_t carry_out(std::byte* part) const noexcept {
    auto const size = size_of(element);
    auto* const place = part + patch.first * size;
    switch (kind) {
    case RmaKind::get:
      copy_rows(patch, size, here, stride, place, patch.stride);
      return 0;
    case RmaKind::put:
      copy_rows(patch, size, place, patch.stride, here, stride);
      return 0;
    case RmaKind::accumulate:
      add_rows(patch, element, place, patch.stride, here, stride);
      return 0;
    default:
      return change_word(kind, place, value, desired);
    }
  }
};

} // namespace hetsched::detail
