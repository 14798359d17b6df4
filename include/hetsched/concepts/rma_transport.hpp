// SPDX-License-Identifier: MIT
#pragma once
// The contract of one-sided transports: memory of all ranks that each rank reads and changes.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched {

/// What a window consists of. A word is a std::int64_t.
enum class WindowElement : std::uint8_t { byte, word, f32, f64 };

/// In bytes.
[[nodiscard]] constexpr std::size_t size_of(WindowElement element) noexcept {
  switch (element) {
  case WindowElement::byte:
    return 1;
  case WindowElement::f32:
    return 4;
  default:
    return 8;
  }
}

/// In the plural.
[[nodiscard]] constexpr char const* name_of(WindowElement element) noexcept {
  switch (element) {
  case WindowElement::byte:
    return "bytes";
  case WindowElement::word:
    return "words";
  case WindowElement::f32:
    return "floats";
  case WindowElement::f64:
    return "doubles";
  }
  return "?";
}

/// Memory of which each rank has a part, as RmaTransport::allocate answered it.
struct Window {
  std::uint32_t number = 0;

  bool operator==(Window const&) const = default;
};

/// A matrix of elements within a rank's part of a window. Row r begins at element first + r *
/// stride of the part.
struct WindowPatch {
  int rank = 0;
  std::size_t first = 0;
  std::size_t columns = 1;
  std::size_t rows = 1;
  std::size_t stride = 0; // at least `columns`; of no meaning for a single row

  [[nodiscard]] constexpr std::size_t size() const noexcept { return rows * columns; }
};

/// What a one-sided transport tells, only from within poll, in the thread that polls. Each call may
/// begin operations, and may not poll, allocate, free or abort. If a call throws, poll throws the
/// same, and the transport can then only be aborted or destroyed.
///
/// done(cookie, value)  The operation with this cookie is over, on its target, too: operations that
///   begin after this, here or where somebody learned of it, see what it did. Memory that was given
///   to it belongs to the caller again. `value`: what the word was before fetch_add or
///   compare_swap; else 0.
/// lost(rank, why)  The rank is gone, at most once for each rank. Operations on its parts are not
///   done any more, and what was given to them belongs to the caller again. `why` is one line.
template <class I>
concept RmaInbox =
    requires(I& inbox, std::uint64_t cookie, std::int64_t value, int rank, std::string_view why) {
      { inbox.done(cookie, value) } -> std::same_as<void>;
      { inbox.lost(rank, why) } -> std::same_as<void>;
    };

/// An inbox that stands for any inbox in the concept below.
struct AnyRmaInbox {
  void done(std::uint64_t, std::int64_t) {}

  void lost(int, std::string_view) {}
};

/// One rank's end of what lets `ranks()` ranks, numbered from 0, work on each other's memory (RMA:
/// remote memory access).
///
/// Any thread may call it, one at a time: the caller has a lock. Only allocate, free and the end of
/// the transport wait for other ranks: all ranks call them, in the same order.
///
/// allocate(element, elements)  A new window. `elements`: of this rank's part, which is zeroed;
/// other
///   ranks may say other numbers, also 0. Throws on all ranks: Error(bad_call) if they do not all
///   allocate, or not the same `element`, Error(rank_failed) if one is gone or has no such memory.
/// free(window)  The window is gone when this returns. No operation on it is under way.
/// elements(window, rank)  How many the rank's part has.
/// memory(window)  This rank's part. The program itself may use those elements that no operation of
///   any rank uses at that time; and words that fetch_add or compare_swap change only by these.
///
/// The following begin an operation, which takes effect at some time until poll reports it as done.
/// Operations are in no order, also those of one rank. `here`: of this rank's memory; row r of the
/// patch is at element r * stride of it.
///
/// get(window, patch, here, stride, cookie)  Copies the patch to `here`.
/// put(window, patch, here, stride, cookie)  Copies `here` to the patch.
/// accumulate(window, patch, here, stride, cookie)  Adds `here` to the patch. Each addition is
///   atomic with regard to other accumulates. Not for bytes.
/// fetch_add(window, rank, at, value, cookie)  Adds to element `at` of the rank's part, a word.
/// compare_swap(window, rank, at, expected, desired, cookie)  Puts `desired` there if it finds
///   `expected`. Both are atomic with regard to each other.
///
/// No other operation of any rank changes elements that a get or a put uses, and nobody else reads
/// elements while put, accumulate or the program change them; accumulates do not meet fetch_add and
/// compare_swap. `here` must stay valid, and for put and accumulate unchanged, until it is done.
/// Throws Error(bad_call), and does nothing, for a window that is not there, for what is not within
/// the rank's part, and for elements of another kind; Error(rank_failed) if its own rank is gone.
/// On a rank that is lost, nothing is done.
///
/// poll(inbox)  Makes progress, and reports events (see RmaInbox). Whether there was one.
/// Operations
///   progress only while their rank polls; with some transports also their target must.
/// abort(line)  Ends the whole program: prints the line once, to stderr, and all other ranks lose
///   this one, with that line as the reason, or end. May not return.
template <class T>
concept RmaTransport = requires(T& transport,
                                T const& same,
                                WindowElement element,
                                std::size_t size,
                                Window window,
                                WindowPatch const& patch,
                                void* to,
                                void const* from,
                                int rank,
                                std::int64_t value,
                                std::uint64_t cookie,
                                AnyRmaInbox& inbox,
                                std::string_view line) {
  { same.rank() } -> std::same_as<int>;
  { same.ranks() } -> std::same_as<int>;
  { transport.allocate(element, size) } -> std::same_as<Window>;
  { transport.free(window) } -> std::same_as<void>;
  { same.elements(window, rank) } -> std::same_as<std::size_t>;
  { transport.memory(window) } -> std::same_as<void*>;
  { transport.get(window, patch, to, size, cookie) } -> std::same_as<void>;
  { transport.put(window, patch, from, size, cookie) } -> std::same_as<void>;
  { transport.accumulate(window, patch, from, size, cookie) } -> std::same_as<void>;
  { transport.fetch_add(window, rank, size, value, cookie) } -> std::same_as<void>;
  { transport.compare_swap(window, rank, size, value, value, cookie) } -> std::same_as<void>;
  { transport.poll(inbox) } -> std::same_as<bool>;
  { transport.abort(line) } -> std::same_as<void>;
};

} // namespace hetsched
