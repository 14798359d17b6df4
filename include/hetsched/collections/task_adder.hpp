// SPDX-License-Identifier: MIT
#pragma once
// Where a collection's tasks begin, and how bodies add some.

#include <hetsched/core/task.hpp>

#include <type_traits>

namespace hetsched {

/// Where a task begins: in the queue of that rank.
struct NearRank {
  int rank;
};

[[nodiscard]] constexpr NearRank near(int rank) noexcept {
  return {rank};
}

/// In the queue of the rank that has the first element of the first patch that the task writes.
struct NearOutput {};

inline constexpr NearOutput near_output;

/// In the queue of the rank that adds it.
struct NearHere {};

namespace detail {

class CollectionState;

template <class P>
inline constexpr bool is_place =
    std::is_same_v<P, NearRank> || std::is_same_v<P, NearOutput> || std::is_same_v<P, NearHere>;

} // namespace detail

/// By-value parameter through which the body of a task adds tasks to the collection. It is not
/// given to `add`. Valid while the body runs.
///
///     struct Visit : hs::Task<2>::Signature<hs::TaskAdder, int> { // depth
///       static void cpu(hs::TaskAdder const& tasks, int depth) {
///         if (depth > 0) {
///           tasks.add<Visit>(hs::near(depth % 4))(depth - 1);
///         }
///       }
///     };
class TaskAdder {
public:
  /// As TaskCollection::add. Throws Error(bad_call) if T is no type of the collection.
  template <task_type T, class Place = NearHere>
    requires detail::is_place<Place>
  [[nodiscard]] auto add(Place place = {}) const;

  /// For the library.
  explicit TaskAdder(detail::CollectionState& state) noexcept : state_(&state) {}

private:
  detail::CollectionState* state_;
};

} // namespace hetsched
