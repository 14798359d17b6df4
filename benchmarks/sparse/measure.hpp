// SPDX-License-Identifier: MIT
#pragma once
// The program around each sparse solver: one process per measurement, so that memory is the
// solver's own and no solver's idle threads disturb another's.
//
//     PROGRAM versions                                  a line of versions, a line of its orderings
//     PROGRAM case size seed workers rounds ordering    words and numbers of what was measured
//
// Each round is a new solver, and prints the seconds of its phases. A small matrix before them is
// not counted: it finds no code in memory and no threads.

#include "matrices.hpp"

#ifdef HETSCHED_HAVE_LAPACKE
#include <cblas.h>
#endif

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sparse_peers {

struct Request {
  std::string_view name; // of the matrix, as in matrix_of
  std::string size;
  std::uint64_t seed = 1;
  int workers = 1;
  int rounds = 1;
  std::string ordering;
};

/// What a solver throws for a matrix that is not its kind.
struct NotForThis : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, std::string const& what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

/// The BLAS that this program is linked with.
[[nodiscard]] inline std::string blas_name() {
#ifdef HETSCHED_HAVE_LAPACKE
  std::string name = openblas_get_config();
  name += " on ";
  name += openblas_get_corename();
  return name;
#else
  return "no BLAS";
#endif
}

/// One process. Solvers that are several have a team of this kind, with MPI.
class Alone {
public:
  Alone(int /*argc*/, char** /*argv*/) {}

  [[nodiscard]] static bool leads() { return true; }

  /// Returns when all have called it.
  static void meet() {}

  /// The sum over the team, for the process that leads.
  [[nodiscard]] static double sum(double value) { return value; }
};

/// Bytes of this process in memory now, and most so far.
[[nodiscard]] inline double resident_bytes() {
  long pages = 0;
  if (auto* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) {
      pages = 0;
    }
    std::fclose(file);
  }
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

[[nodiscard]] inline double peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

/// Seconds that passed, and those of all processors that worked for the team.
struct Time {
  double elapsed = 0;
  double processor = 0;
};

[[nodiscard]] inline double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Team, class Work>
Time time_of(Team& team, Work&& work) {
  team.meet();
  auto const processor = processor_seconds();
  auto const begin = std::chrono::steady_clock::now();
  work();
  team.meet();
  std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - begin;
  return {elapsed.count(), team.sum(processor_seconds() - processor)};
}

/// What one round measured.
struct Round {
  Time analyse;
  Time factor;
  Time refactor;
  Time solve;
  double error = 0;
  double flops = 0;
};

/// Moves `seconds` of what passed in `whole` to `other`, and their share of the processors' time.
inline void move_time(double seconds, Time& whole, Time& other) {
  auto const share = whole.elapsed > 0 ? std::min(1.0, seconds / whole.elapsed) : 0;
  other.elapsed += share * whole.elapsed;
  other.processor += share * whole.processor;
  whole.elapsed *= 1 - share;
  whole.processor *= 1 - share;
}

/// Analyses and factorises `a`, solves with it, factorises `other` and solves with that, too.
template <class Peer, class Team>
Round one_round(Team& team, Request const& request, Sparse const& a, Sparse const& other) {
  Round round;
  Vector const b = right_hand_side(a.rows());
  Vector x;
  Peer peer(request);
  round.analyse = time_of(team, [&] { peer.analyze(a); });
  round.factor = time_of(team, [&] { peer.factorize(a); });
  if constexpr (requires { peer.analysis_seconds(); }) { // one call does both
    move_time(peer.analysis_seconds(), round.factor, round.analyse);
  }
  round.solve = time_of(team, [&] { x = peer.solve(b); });
  round.error = team.leads() ? backward_error(a, x, b) : 0;
  round.refactor = time_of(team, [&] { peer.refactorize(other); });
  x = peer.solve(b);
  if (team.leads()) {
    round.error = std::max(round.error, backward_error(other, x, b));
  }
  if constexpr (requires { peer.flops(); }) {
    round.flops = peer.flops();
  }
  return round;
}

/// Runs the request and prints what it measured. `Peer` is made from the request and offers
///   void analyze(Sparse const&)          what depends on the pattern alone, or mostly
///   void factorize(Sparse const&)
///   void refactorize(Sparse const&)      of a matrix with the same pattern
///   Vector solve(Vector const&)          with the last factors
///   double analysis_seconds()            optional: of `factorize`, what was analysis
///   double flops()                       optional: of the factorisation
/// and, for `versions`, static functions version() and orderings(), separated by blanks.
template <class Peer, class Team>
void measure(Team& team, Request const& request) {
  auto const warm = laplacian(4);
  (void)one_round<Peer>(team, request, warm, warm);
  auto const a = matrix_of(request.name, request.size, request.seed);
  require(a.rows() == a.cols() && a.rows() > 0, "the matrix is not square");
  auto const other = with_other_values(a);
  auto const before = resident_bytes();
  double memory = 0;
  for (int r = 0; r < request.rounds; ++r) {
    auto const round = one_round<Peer>(team, request, a, other);
    if (r == 0) {
      memory = team.sum(std::max(0.0, peak_bytes() - before));
    }
    if (team.leads()) {
      auto const print = [](char const* phase, Time const& time) {
        std::printf("%s %.9g %s_processor %.9g\n", phase, time.elapsed, phase, time.processor);
      };
      print("analyse", round.analyse);
      print("factor", round.factor);
      print("refactor", round.refactor);
      print("solve", round.solve);
      std::printf("error %.9g flops %.9g\n", round.error, round.flops);
    }
  }
  if (team.leads()) {
    std::printf("memory %.9g rows %td entries %td\n",
                memory,
                static_cast<std::ptrdiff_t>(a.rows()),
                static_cast<std::ptrdiff_t>(a.nonZeros()));
  }
}

template <class Peer, class Team = Alone>
int peer_main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "versions") {
    std::printf("%s\n%s\n", Peer::version().c_str(), Peer::orderings());
    return 0;
  }
  if (argc != 7) {
    std::fprintf(stderr, "%s: run by `sparse_solvers`, not by hand\n", argv[0]);
    return 2;
  }
  try {
    Team team(argc, argv);
    auto const number = [](char const* text) { return std::strtoull(text, nullptr, 10); };
    measure<Peer>(team,
                  {argv[1],
                   argv[2],
                   number(argv[3]),
                   static_cast<int>(number(argv[4])),
                   static_cast<int>(number(argv[5])),
                   argv[6]});
  } catch (NotForThis const&) {
    std::printf("cannot 1\n");
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}

} // namespace sparse_peers
