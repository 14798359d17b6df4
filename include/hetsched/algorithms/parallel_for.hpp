// SPDX-License-Identifier: MIT
#pragma once
// Loops: a function for each index or element.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/measured_loop.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace hetsched {

/// What all algorithms over tasks promise, in this header and in its neighbours:
///
/// A call returns when all its work is done. The calling thread works, too, and other workers help
/// where the work is worth it. It may be made outside tasks and inside a body on a core, where it
/// waits for nothing but its own work; also from several threads at once. Functions are called at
/// the same time from several threads, must not change what others see without care of their own,
/// and must not wait for tasks that they have not spawned. The first exception of a function is
/// rethrown when those that run have ended; the rest of the work is left out. Throws
/// Error(bad_call) inside a capture and in bodies that may not spawn.
///
/// Calls body(i) for each i from first to last - 1, in no order. No iteration if last <= first.
template <class Rt, std::integral Index, class Body>
void parallel_for(Rt& rt,
                  Index first,
                  std::type_identity_t<Index> last,
                  Body const& body,
                  LoopOptions options = {}) {
  struct Kind; // of this instance
  auto const count =
      last > first ? static_cast<std::size_t>(last) - static_cast<std::size_t>(first) : 0;
  detail::run_loop<Kind>(
      rt, "parallel_for", count, options, [&](std::size_t begin, std::size_t end) {
        for (auto i = begin; i != end; ++i) {
          body(static_cast<Index>(static_cast<std::size_t>(first) + i));
        }
      });
}

/// Calls f(element) for each element, in no order.
template <class Rt, std::random_access_iterator It, class F>
void for_each(Rt& rt, It first, It last, F const& f, LoopOptions options = {}) {
  struct Kind;
  using Step = std::iter_difference_t<It>;
  detail::run_loop<Kind>(rt,
                         "for_each",
                         static_cast<std::size_t>(last - first),
                         options,
                         [&](std::size_t begin, std::size_t end) {
                           auto const stop = first + static_cast<Step>(end);
                           for (auto it = first + static_cast<Step>(begin); it != stop; ++it) {
                             f(*it);
                           }
                         });
}

/// out[i] = f(first[i]) for each element. `out` may be `first`, but must not overlap otherwise.
/// Returns the end of the output.
template <class Rt, std::random_access_iterator In, std::random_access_iterator Out, class F>
Out transform(Rt& rt, In first, In last, Out out, F const& f, LoopOptions options = {}) {
  struct Kind;
  auto const count = static_cast<std::size_t>(last - first);
  detail::run_loop<Kind>(rt, "transform", count, options, [&](std::size_t begin, std::size_t end) {
    auto from = first + static_cast<std::iter_difference_t<In>>(begin);
    auto to = out + static_cast<std::iter_difference_t<Out>>(begin);
    for (auto i = begin; i != end; ++i, ++from, ++to) {
      *to = f(*from);
    }
  });
  return out + static_cast<std::iter_difference_t<Out>>(count);
}

/// out[i] = f(first[i], second[i]). `out` may be `first` or `second`.
template <class Rt,
          std::random_access_iterator In,
          std::random_access_iterator Second,
          std::random_access_iterator Out,
          class F>
Out transform(
    Rt& rt, In first, In last, Second second, Out out, F const& f, LoopOptions options = {}) {
  struct Kind;
  auto const count = static_cast<std::size_t>(last - first);
  detail::run_loop<Kind>(rt, "transform", count, options, [&](std::size_t begin, std::size_t end) {
    auto from = first + static_cast<std::iter_difference_t<In>>(begin);
    auto with = second + static_cast<std::iter_difference_t<Second>>(begin);
    auto to = out + static_cast<std::iter_difference_t<Out>>(begin);
    for (auto i = begin; i != end; ++i, ++from, ++with, ++to) {
      *to = f(*from, *with);
    }
  });
  return out + static_cast<std::iter_difference_t<Out>>(count);
}

} // namespace hetsched
