// SPDX-License-Identifier: MIT
#pragma once
// Sorting.

#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/detail/algorithms/merge_sort.hpp>

#include <functional>
#include <iterator>

namespace hetsched {

/// Sorts by `less`, which must be a strict weak order. Equal elements may change places; where they
/// end depends on the number of workers, unless LoopOptions::fixed_order is set. Elements are
/// moved, never copied. Needs memory for as many elements again, unless the calling thread sorts
/// alone: it does below two blocks of 2048 (or LoopOptions::grain) elements, and where there is one
/// worker. If `less` or a move throws, the elements are valid but have any values. See parallel_for
/// for what holds for all algorithms.
///
/// Blocks are sorted by std::sort; then pairs of blocks are merged, by all workers.
template <class Rt, std::random_access_iterator It, class Less = std::less<>>
void sort(Rt& rt, It first, It last, Less const& less = {}, LoopOptions options = {}) {
  detail::MergeSort<Rt, It, Less>(rt, less).sort("sort", first, last, options);
}

} // namespace hetsched
