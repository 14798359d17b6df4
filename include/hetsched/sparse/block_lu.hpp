// SPDX-License-Identifier: MIT
#pragma once
// LU factorisation without pivoting of a sparse matrix in dense blocks.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_blas.hpp>
#include <hetsched/gpu/gpu_branches.hpp>
#include <hetsched/gpu/gpu_stream.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_kernels.hpp>
#include <hetsched/sparse/block_matrix.hpp>
#include <hetsched/sparse/block_solve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace sparse {

/// A(k, k) := its factors L and U; given k and the first row of the block, for messages.
template <class T>
struct GetrfBlock : Task<3>::Signature<RW<TileView<T>>, V<std::size_t>, V<std::size_t>> {
  static constexpr std::string_view name = "getrf";
};

/// A(k, j) := L(k, k)^-1 A(k, j).
template <class T>
struct RowBlock : Task<2>::Signature<R<TileView<T>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "trsm_row";
};

/// A(i, k) := A(i, k) U(k, k)^-1.
template <class T>
struct ColumnBlock : Task<2>::Signature<R<TileView<T>>, RW<TileView<T>>> {
  static constexpr std::string_view name = "trsm_column";
};

/// Of a block in a list of blocks: the places of its L(i, k) and U(k, j) in theirs.
struct Factors {
  std::uint32_t left;
  std::uint32_t upper;
};

/// A(i, j) := A(i, j) - L(i, k) U(k, j) for the blocks of one super-block, the third list, from the
/// lists of L and U.
template <class T>
struct UpdateSuperBlock : Task<4>::Signature<V<std::vector<Factors>>,
                                             R<Each<TileView<T>>>,
                                             R<Each<TileView<T>>>,
                                             RW<Each<TileView<T>>>> {
  static constexpr std::string_view name = "super_block";
};

/// The same, of which a core makes a task for each block.
template <class T>
struct SplitSuperBlock : Task<4>::Signature<V<std::vector<Factors>>,
                                            R<Each<TileView<T>>>,
                                            R<Each<TileView<T>>>,
                                            RW<Each<TileView<T>>>> {
  static constexpr std::string_view name = "super_task";
  static constexpr bool only_spawns = true;
};

namespace detail {

[[noreturn]] inline void
report_block_lu(linalg::kernels::Breakdown where, std::size_t block, std::size_t first) {
  auto message = where.what("0");
  message += " as pivot of row " + std::to_string(first + where.column) + " (block " +
             std::to_string(block) + "): without pivoting there is no factorisation";
  throw Error(ErrorCode::numerical, "block_lu", message);
}

} // namespace detail
} // namespace sparse

template <class T>
struct TaskBodyCPU<sparse::GetrfBlock<T>> {
  void operator()(TileView<T> a, std::size_t block, std::size_t first) const {
    if (auto const where = linalg::kernels::getrf_without_pivoting(a)) {
      sparse::detail::report_block_lu(*where, block, first);
    }
  }
};

template <class T>
struct TaskBodyCPU<sparse::RowBlock<T>> {
  void operator()(TileView<T const> l, TileView<T> b) const { linalg::kernels::trsm_unit(l, b); }
};

template <class T>
struct TaskBodyGPU<sparse::RowBlock<T>> {
  void operator()(GpuStream& stream, TileView<T const> l, TileView<T> b) const {
    gpu::trsm(stream, 'L', 'L', 'N', 'U', T(1), l, b);
  }
};

template <class T>
struct TaskBodyCPU<sparse::ColumnBlock<T>> {
  void operator()(TileView<T const> u, TileView<T> b) const { linalg::kernels::trsm_upper(u, b); }
};

template <class T>
struct TaskBodyGPU<sparse::ColumnBlock<T>> {
  void operator()(GpuStream& stream, TileView<T const> u, TileView<T> b) const {
    gpu::trsm(stream, 'R', 'U', 'N', 'N', T(1), u, b);
  }
};

template <class T>
struct TaskBodyCPU<sparse::UpdateSuperBlock<T>> {
  void operator()(std::vector<sparse::Factors> const& factors,
                  Each<TileView<T const>> left,
                  Each<TileView<T const>> upper,
                  Each<TileView<T>> blocks) const {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      linalg::kernels::gemm<T>(
          T(-1), left[factors[k].left], upper[factors[k].upper], T(1), blocks[k]);
    }
  }
};

template <class T>
struct TaskBodyGPU<sparse::UpdateSuperBlock<T>> {
  void operator()(GpuStream& stream,
                  std::vector<sparse::Factors> const& factors,
                  Each<TileView<T const>> left,
                  Each<TileView<T const>> upper,
                  Each<TileView<T>> blocks) const {
    // One product of a small block alone leaves most of a GPU idle.
    constexpr std::size_t most_streams = 4;
    GpuBranches const branches(stream, std::clamp<std::size_t>(blocks.size(), 1, most_streams));
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      auto const c = blocks[k];
      gpu::gemm(
          branches[k], 'N', 'N', T(-1), left[factors[k].left], upper[factors[k].upper], T(1), c);
    }
  }
};

template <class T>
struct TaskBodyCPU<sparse::SplitSuperBlock<T>> {
  using Handles = Each<Handle<TileView<T>>>;

  template <class Rt>
  void operator()(Rt& rt,
                  std::vector<sparse::Factors> const& factors,
                  Handles left,
                  Handles upper,
                  Handles blocks) const {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      rt.template spawn<linalg::Gemm<T>>(SetArch(ArchHost))(
          T(-1), left[factors[k].left], upper[factors[k].upper], T(1), blocks[k]);
    }
  }
};

template <class T>
struct TaskBodyGPU<sparse::SplitSuperBlock<T>> : TaskBodyGPU<sparse::UpdateSuperBlock<T>> {};

namespace sparse {

/// How the updates of block_lu are cut into tasks.
enum class Grain : std::uint8_t {
  fine,   // a task for each block
  coarse, // a task for each super-block
  both    // the same, of which a core makes a task for each block: for policies::Multigrain
};

/// How block_lu goes about it.
struct BlockLUOptions {
  Grain grain = Grain::both;
  /// Between the three steps of each iteration, as in the source. During step 3 the blocks that
  /// step 2 has computed have the highest reuse index, and leave devices last.
  bool barriers = false;
  bool solves_on_cores = false; // the triangular solves, too, not on cores and GPUs
};

namespace detail {

/// The updates of one iteration in one super-block.
template <class T>
struct SuperUpdate {
  using Block = typename BlockMatrix<T>::Block;

  std::vector<Factors> factors; // of each block
  std::vector<Block> left;
  std::vector<Block> upper;
  std::vector<Block> blocks;
};

/// Of super-block (row, column), by block row and column k.
template <class T>
[[nodiscard]] SuperUpdate<T>
super_update(BlockMatrix<T> const& a, std::size_t k, std::size_t row, std::size_t column) {
  auto const begin = [&](std::size_t super) { return std::max(k + 1, super * a.super_size()); };
  auto const end = [&](std::size_t super) {
    return std::min(a.size(), (super + 1) * a.super_size());
  };
  SuperUpdate<T> update;
  std::vector<std::size_t> rows;
  for (auto i = begin(row); i < end(row); ++i) {
    if (a.pattern().at(i, k)) {
      rows.push_back(i);
      update.left.push_back(a(i, k));
    }
  }
  for (auto j = begin(column); j < end(column) && !rows.empty(); ++j) {
    if (!a.pattern().at(k, j)) {
      continue;
    }
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      update.factors.push_back({i, static_cast<std::uint32_t>(update.upper.size())});
      update.blocks.push_back(a(rows[i], j));
    }
    update.upper.push_back(a(k, j));
  }
  return update;
}

/// The blocks of row and column k behind the diagonal.
template <class T, class Visit>
void each_factor(BlockMatrix<T> const& a, std::size_t k, Visit const& visit) {
  for (auto i = k + 1; i < a.size(); ++i) {
    for (auto const& [row, column] : {std::pair(i, k), std::pair(k, i)}) {
      if (a.pattern().at(row, column)) {
        visit(row, column);
      }
    }
  }
}

/// Step 3 of iteration k is about to begin, and no task runs. Its factors are the last to leave a
/// device.
template <class T>
void lock_factors(BlockMatrix<T> const& a, std::size_t k) {
  each_factor(a, k, [&](std::size_t row, std::size_t column) {
    auto block = a(row, column);
    block.reuse(INT32_MAX);
  });
}

/// It is over: they have their own indices again.
template <class T>
void unlock_factors(BlockMatrix<T> const& a, std::size_t k) {
  each_factor(a, k, [&](std::size_t row, std::size_t column) {
    auto block = a(row, column);
    block.reuse(a.reuse_index(row, column));
  });
}

/// Step 3 of iteration k. `given`: with the super-block's reuse index for all data of a task.
template <class T, class Rt>
void spawn_updates(
    Rt& rt, BlockMatrix<T> const& a, std::size_t k, std::int32_t urgency, Grain grain, bool given) {
  auto const first = (k + 1) / a.super_size();
  for (auto column = first; column < a.supers(); ++column) {
    for (auto row = first; row < a.supers(); ++row) {
      auto const [factors, left, upper, blocks] = super_update(a, k, row, column);
      if (blocks.empty()) {
        continue;
      }
      auto const index =
          reuse(given ? static_cast<std::int32_t>(row + column) : hetsched::detail::no_reuse);
      if (grain == Grain::coarse) {
        rt.template spawn<UpdateSuperBlock<T>>(priority(urgency),
                                               index)(factors, left, upper, blocks);
      } else if (grain == Grain::both) {
        rt.template spawn<SplitSuperBlock<T>>(priority(urgency),
                                              index)(factors, left, upper, blocks);
      } else {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          rt.template spawn<linalg::Gemm<T>>(priority(urgency), index)(
              T(-1), left[factors[b].left], upper[factors[b].upper], T(1), blocks[b]);
        }
      }
    }
  }
}

} // namespace detail

/// A = L U in place, block by block, without pivoting: L has ones on its diagonal, which are not
/// stored. For matrices whose pivots are known to be good, such as diagonally dominant ones; others
/// need butterflies first (butterfly.hpp). The matrix's pattern must have the fill
/// (BlockPattern::filled).
///
/// Right-looking: iteration k factors block (k, k), solves for the blocks of its row and column,
/// and updates all blocks (i, j), i, j > k, with (i, k) and (k, j) there. Only cores factor; GPUs
/// do everything else, unless the options say otherwise. A task's reuse index is its super-block's,
/// which policies::Multigrain and the cache ReuseGuided use; with barriers, only that of the blocks
/// that it updates. Priorities fall with k.
///
/// Asynchronous, but with barriers: spawns and returns; `rt.sync()` waits and throws
/// Error(numerical), naming the row, if a pivot is 0, NaN or infinite. Throws Error(bad_data) at
/// once, with nothing spawned, if the pattern lacks fill.
///
/// Source: the multigrain sparse LU on CPU and GPU, sec. 2 and 3. There each step ends with a
/// barrier; here tasks wait for what they use, unless barriers are asked for.
template <class Rt, class T>
void block_lu(Rt& rt, BlockMatrix<T> const& a, BlockLUOptions const& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: block_lu factors a matrix of float or double");
  if (a.pattern().filled() != a.pattern()) {
    throw Error(ErrorCode::bad_data,
                "block_lu",
                "the pattern lacks blocks that the factorisation fills: see BlockPattern::filled");
  }
  linalg::use_one_blas_thread();
  auto const barrier = [&] {
    if (options.barriers) {
      rt.wait();
    }
  };
  for (std::size_t k = 0; k < a.size(); ++k) {
    auto const urgency = static_cast<std::int32_t>(3 * (a.size() - k));
    rt.template spawn<GetrfBlock<T>>(priority(urgency + 2))(a(k, k), k, k * a.block_size());
    barrier();
    auto const solve = [&](auto type, auto const& block) {
      using Type = typename decltype(type)::type;
      if (options.solves_on_cores) {
        rt.template spawn<Type>(priority(urgency + 1), SetArch(ArchHost))(a(k, k), block);
      } else {
        rt.template spawn<Type>(priority(urgency + 1))(a(k, k), block);
      }
    };
    for (auto i = k + 1; i < a.size(); ++i) {
      if (a.pattern().at(i, k)) {
        solve(std::type_identity<ColumnBlock<T>>{}, a(i, k));
      }
      if (a.pattern().at(k, i)) {
        solve(std::type_identity<RowBlock<T>>{}, a(k, i));
      }
    }
    barrier();
    if (options.barriers) {
      detail::lock_factors(a, k);
    }
    detail::spawn_updates(rt, a, k, urgency, options.grain, !options.barriers);
    barrier();
    if (options.barriers) {
      detail::unlock_factors(a, k);
    }
  }
}

/// The flops of block_lu, and of its updates alone (step 3 of the source): exact for dense blocks.
struct BlockLUFlops {
  double all = 0;
  double updates = 0;
};

/// O(size^2), for a filled pattern.
[[nodiscard]] inline BlockLUFlops block_lu_flops(BlockPattern const& pattern, std::size_t block) {
  auto const cube =
      static_cast<double>(block) * static_cast<double>(block) * static_cast<double>(block);
  BlockLUFlops flops;
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    double rows = 0;
    double columns = 0;
    for (auto i = k + 1; i < pattern.size(); ++i) {
      rows += pattern.at(i, k) ? 1 : 0;
      columns += pattern.at(k, i) ? 1 : 0;
    }
    flops.updates += 2 * cube * rows * columns;
    flops.all += cube * (2.0 / 3.0 + rows + columns);
  }
  flops.all += flops.updates;
  return flops;
}

} // namespace sparse
} // namespace hetsched
