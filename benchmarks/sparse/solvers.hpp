// SPDX-License-Identifier: MIT
#pragma once
// The programs that `sparse_solvers` compares: finding them, running one, reading its answer.

#include "../overhead/peers.hpp"
#include "../overhead/statistics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sparse_solvers {

/// How a solver uses more than one core.
enum class Parallel { none, threads, processes };

/// What is known of a solver before it runs.
struct Kind {
  std::string_view name;
  Parallel parallel;
  int fewest = 1;             // workers that it is measured with
  bool definite_only = false; // for symmetric positive definite matrices
};

inline constexpr Kind kinds[] = {{"hetsched", Parallel::threads},
                                 {"hetsched_cholesky", Parallel::threads, 1, true},
                                 {"umfpack", Parallel::threads},
                                 {"mumps", Parallel::threads},
                                 {"mumps_mpi", Parallel::processes, 2},
                                 {"superlu_dist", Parallel::processes},
                                 {"eigen", Parallel::none},
                                 {"klu", Parallel::none},
                                 {"cholmod", Parallel::threads, 1, true}};

struct Solver {
  Kind kind;
  std::string path;
  std::string version;
  std::vector<std::string> orderings;
};

/// A matrix by its case, size (or file) and seed.
struct Which {
  std::string name;
  std::string size;
  std::uint64_t seed = 1;
  bool definite = false; // known to be symmetric positive definite, or perhaps so
};

/// Seconds of the phases; `total` is the first three.
inline constexpr std::array<std::string_view, 5> phases{
    "analyse", "factor", "solve", "total", "refactor"};
inline constexpr std::size_t total = 3;

using Times = std::array<double, phases.size()>;

/// What one process said: the medians of its rounds.
struct Answer {
  Times seconds{};
  double error = 0; // the largest
  double flops = 0;
  double memory = 0;
  double rows = 0;
  double entries = 0;
  bool cannot = false; // the matrix is not its kind
};

/// What comes before a solver's program on a command line.
[[nodiscard]] inline std::string environment(Kind const& kind, int workers, std::size_t limit) {
  auto const threads = std::to_string(kind.parallel == Parallel::processes ? 1 : workers);
  std::string text = "OMP_NUM_THREADS=" + threads + " OPENBLAS_NUM_THREADS=" + threads + ' ';
  auto const timeout = "timeout " + std::to_string(limit) + ' ';
  if (kind.parallel == Parallel::processes) {
    // Open MPI's: as root, and cores as the system shares them out, as for everybody.
    text += "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
            "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none " +
            timeout + "mpirun -n " + std::to_string(workers) + ' ';
    return text;
  }
  return text + timeout;
}

/// Those that were built and run, hetsched first.
[[nodiscard]] inline std::vector<Solver> find_solvers() {
  std::vector<Solver> solvers;
  for (auto const& kind : kinds) {
    auto const path = overhead::own_folder() + "sparse_solvers_" + std::string(kind.name);
    auto const text =
        overhead::output_of(environment(kind, 1, 60) + overhead::quoted(path) + " versions");
    if (!text) {
      continue;
    }
    std::istringstream lines(*text);
    Solver solver{kind, path, "", {}};
    std::getline(lines, solver.version);
    for (std::string ordering; lines >> ordering;) {
      solver.orderings.push_back(ordering);
    }
    if (!solver.orderings.empty()) {
      solvers.push_back(solver);
    }
  }
  if (solvers.empty() || solvers.front().kind.name != "hetsched") {
    example::bad_input("sparse_solvers_hetsched", "is not beside this program, or does not run");
  }
  return solvers;
}

/// Which clock the seconds of an answer are of: that on the wall, or that of the processors.
enum class Clock { elapsed, processor };

/// Nothing if the process failed, or was ended after `limit` seconds.
[[nodiscard]] inline std::optional<Answer> ask(Solver const& solver,
                                               Which const& which,
                                               int workers,
                                               int rounds,
                                               std::string const& ordering,
                                               Clock clock,
                                               std::size_t limit) {
  std::ostringstream command;
  command << environment(solver.kind, workers, limit) << overhead::quoted(solver.path) << ' '
          << which.name << ' ' << overhead::quoted(which.size) << ' ' << which.seed << ' '
          << workers << ' ' << rounds << ' ' << ordering;
  auto const text = overhead::output_of(command.str());
  if (!text) {
    return std::nullopt;
  }
  std::map<std::string, std::vector<double>> said;
  std::istringstream words(*text);
  std::string key;
  for (std::string number; words >> key >> number;) {
    said[key].push_back(std::strtod(number.c_str(), nullptr)); // `inf`, too
  }
  Answer answer;
  answer.cannot = said.contains("cannot");
  if (answer.cannot) {
    return answer;
  }
  std::string const suffix = clock == Clock::processor ? "_processor" : "";
  for (std::size_t p = 0; p < phases.size(); ++p) {
    if (p != total) {
      answer.seconds[p] = overhead::median(said[std::string(phases[p]) + suffix]);
    }
  }
  answer.seconds[total] = answer.seconds[0] + answer.seconds[1] + answer.seconds[2];
  auto const& errors = said["error"];
  if (errors.size() != static_cast<std::size_t>(rounds) || said["memory"].size() != 1) {
    return std::nullopt;
  }
  answer.error = *std::max_element(errors.begin(), errors.end());
  answer.flops = said["flops"].front();
  answer.memory = said["memory"].front();
  answer.rows = said["rows"].front();
  answer.entries = said["entries"].front();
  return answer;
}

} // namespace sparse_solvers
