// SPDX-License-Identifier: MIT
#pragma once
// Orders of elimination that keep fill small.
//
// HETSCHED_HAVE_METIS, defined by the build when METIS is there, selects nested dissection for what
// is large. Define it in all translation units of a program or in none.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/sparse/elimination_tree.hpp>
#include <hetsched/detail/sparse/pattern.hpp>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#ifdef HETSCHED_HAVE_METIS
#include <metis.h>
#endif

namespace hetsched::sparse {

/// Which order of elimination a solver takes.
enum class Ordering : std::uint8_t {
  automatic, // minimum degree; nested dissection where it costs fewer flops, if METIS is there
  natural,   // as the matrix is
  minimum_degree,
  nested_dissection // by METIS
};

namespace detail {

/// Approximate minimum degree, by Eigen, which leaves out vertices without a diagonal entry.
[[nodiscard]] inline Permutation minimum_degree(Pattern const& a) {
  Eigen::SparseMatrix<char, Eigen::ColMajor, int> pattern(a.size(), a.size());
  pattern.resizeNonZeros(static_cast<Eigen::Index>(a.rows.size()) + a.size());
  std::fill_n(pattern.valuePtr(), pattern.data().size(), '\1');
  auto* next = pattern.innerIndexPtr();
  for (Index j = 0; j < a.size(); ++j) {
    *next++ = j;
    next = std::copy(a.column(j).begin(), a.column(j).end(), next);
    pattern.outerIndexPtr()[j + 1] = static_cast<int>(next - pattern.innerIndexPtr());
  }
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> inverse;
  Eigen::internal::minimum_degree_ordering(pattern, inverse);
  auto const& places = inverse.indices();
  return Permutation(std::vector<Index>(places.data(), places.data() + places.size()));
}

#ifdef HETSCHED_HAVE_METIS
[[nodiscard]] inline Permutation nested_dissection(Pattern const& a) {
  // METIS seeds the C library's random numbers and draws from them. With another thread's draws in
  // between, the order would depend on their timing, and threads that are ranks must not differ.
  static hetsched::detail::Mutex one_at_a_time;
  std::lock_guard const lock(one_at_a_time);
  idx_t n = a.size();
  std::vector<idx_t> begin(a.begin.begin(), a.begin.end());
  std::vector<idx_t> neighbours(a.rows.begin(), a.rows.end());
  std::vector<idx_t> old_of(at(a.size()));
  std::vector<idx_t> new_of(at(a.size()));
  std::vector<idx_t> options(METIS_NOPTIONS);
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  if (METIS_NodeND(&n,
                   begin.data(),
                   neighbours.data(),
                   nullptr,
                   options.data(),
                   old_of.data(),
                   new_of.data()) != METIS_OK) {
    throw Error(ErrorCode::bad_data, "METIS", "found no order of elimination");
  }
  return Permutation(std::vector<Index>(old_of.begin(), old_of.end()));
}
#endif

/// An order of elimination, in postorder of its tree.
struct Elimination {
  Permutation order;
  std::vector<Index> parent; // by new number
  std::vector<Index> counts; // entries of each column of L, with the diagonal
  double flops = 0;          // of a factorisation without pivoting, by the scalar pattern
};

/// In the given order, which is put into postorder.
[[nodiscard]] inline Elimination eliminated(Pattern const& a, Permutation const& order) {
  auto const tree = elimination_tree(permuted(a, order));
  auto olds = postorder(tree);
  Elimination result;
  result.parent.assign(olds.size(), no_index);
  Permutation const post(olds);
  for (std::size_t k = 0; k < olds.size(); ++k) {
    auto const parent = tree[at(olds[k])];
    result.parent[k] = parent == no_index ? no_index : post.new_of[at(parent)];
    olds[k] = order.old_of[at(olds[k])];
  }
  result.order = Permutation(std::move(olds));
  result.counts = column_counts(permuted(a, result.order), result.parent);
  for (auto const count : result.counts) {
    auto const below = static_cast<double>(count - 1);
    result.flops += below + 2 * below * below;
  }
  return result;
}

/// As the choice says. Throws Error(bad_call) for nested dissection without METIS.
[[nodiscard]] inline Elimination ordered(Pattern const& a, Ordering choice) {
  auto const natural = [&] {
    std::vector<Index> olds(at(a.size()));
    for (std::size_t k = 0; k < olds.size(); ++k) {
      olds[k] = static_cast<Index>(k);
    }
    return Permutation(std::move(olds));
  };
  if (choice == Ordering::natural) {
    return eliminated(a, natural());
  }
#ifdef HETSCHED_HAVE_METIS
  if (choice == Ordering::nested_dissection && a.size() > 1 && !a.rows.empty()) {
    return eliminated(a, nested_dissection(a));
  }
#else
  if (choice == Ordering::nested_dissection) {
    throw Error(ErrorCode::bad_call,
                "Ordering::nested_dissection",
                "this program was built without METIS (HETSCHED_HAVE_METIS)");
  }
#endif
  auto best = eliminated(a, minimum_degree(a));
#ifdef HETSCHED_HAVE_METIS
  // Below, METIS takes longer than the factorisation.
  constexpr double much = 3e7;
  if (choice == Ordering::automatic && best.flops > much) {
    auto other = eliminated(a, nested_dissection(a));
    if (other.flops < best.flops) {
      best = std::move(other);
    }
  }
#endif
  return best;
}

} // namespace detail
} // namespace hetsched::sparse
