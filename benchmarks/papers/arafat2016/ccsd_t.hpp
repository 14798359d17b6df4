// SPDX-License-Identifier: MIT
#pragma once
// The contractions of the (T) step of CCSD(T) for the paper's input (sec. 4.3).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arafat2016 {

/// A block of a tensor, of doubles.
struct Block {
  std::size_t bytes = 0;
};

/// A product of two blocks, as an m x k and a k x n matrix, that is added to a third one.
struct Contraction {
  std::uint32_t task = 0;   // whose t3 block it adds to
  std::uint32_t output = 0; // block: m x n
  std::uint32_t left = 0;   // block of t2: m x k
  std::uint32_t right = 0;  // block of v2: k x n
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;

  [[nodiscard]] double flops() const {
    return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// Blocks are t3's, one for each task and in their order, then those of t2 and v2 in the order in
/// which they are first read. Contractions are in the order of tasks.
struct CcsdT {
  std::vector<Block> blocks;
  std::vector<Contraction> contractions;
  std::size_t tasks = 0;
};

/// cs: a plane of symmetry. The second of the two tiles of each kind is of its second irrep.
enum class PointSymmetry : std::uint8_t { none, cs };

/// The orbitals in a tile of each kind.
struct Tiles {
  std::array<std::size_t, 2> occupied = {16, 5};
  std::array<std::size_t, 2> unoccupied = {40, 11};
};

/// The doubles part, a task for each block of t3 as NWChem has them (src/tce/ccsd_t of
/// github.com/nwchemgit/nwchem: ccsd_t_neword.F, offl_ccsd_t_doubles_l.F, tce_hashnsort.F). Where
/// the paper says nothing:
/// - [16,5,16,5] and [40,11,40,11], `tiles` twice, are two tiles of spin alpha, then two of beta.
///   The reference is restricted: of t3, blocks whose six spins (1 and 2) sum up to more than 8 are
///   left out, and blocks of t2 and v2 that have only beta tiles are those of the alpha tiles.
/// - A task has tiles p4 <= p5 <= p6, h1 <= h2 <= h3 whose spins, and irreps, agree. Its products
///   are t(p p' h h7) v(h7 p" h' h") and t(p p7 h h') v(p' p" h" p7), each with the nine ways to
///   choose p or p" and h or h", and with all tiles h7 or p7 for which the block of t is not zero.
///   That of v then is not zero either.
/// - If tiles are equal, some of the nine ways read the same blocks. NWChem reads them once, but
///   adds their product once for each way, with indices in another order. Here, too, each way is a
///   contraction.
/// The singles (t1 times v2) are left out: they are less than 2 % of the operations.
/// That makes 52 tasks, 1728 contractions and 1.63e12 operations; with cs 26, 432 and 6.4e11.
[[nodiscard]] CcsdT ccsd_t(PointSymmetry symmetry, Tiles const& tiles = {});

} // namespace arafat2016
