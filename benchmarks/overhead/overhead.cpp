// SPDX-License-Identifier: MIT
// What a task costs here and in other runtimes, side by side in one run.
//
//     independent       n empty tasks without data
//     independent_data  the same, each declaring a datum of its own
//     chain             n tasks that read and write one datum
//     cholesky_graph    the tile Cholesky graph of 40 x 40 tiles with empty bodies
//     cholesky_again    the same, run again and again: by runtimes that can keep a graph without
//                       building it anew
//     fibonacci         a nested task for each call, without cutoff
//     fork_join         the same by coroutines; others have tasks
//     cholesky          a real Cholesky factorisation, each with its best tile
//     lu, qr            real factorisations beside OpenBLAS's own
//
// Each measurement is a process of its own; all runtimes are measured in turn, as often as
// --repeat says, so that what disturbs the machine meets them alike. Ratios are of neighbours in
// time; their interval holds the median with 95 % confidence (order statistics). A target is met if
// the whole interval reaches it, missed if none of it does, else unresolved.

#include "../../examples/common/program.hpp"
#include "peers.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace example;
using overhead::Interval;
using overhead::interval;
using overhead::median;
using overhead::Peer;

namespace {

struct Extra {
  bool quick = false;
  std::string only = "all";
};

/// A graph and the sizes it is measured at.
struct Case {
  std::string_view graph;
  std::size_t n;
  std::size_t quick_n;
  std::string_view unit; // of what is printed
};

constexpr Case cases[] = {{"independent", 100000, 20000, "ns/task"},
                          {"independent_data", 100000, 20000, "ns/task"},
                          {"chain", 100000, 20000, "ns/task"},
                          {"cholesky_graph", 40, 40, "ns/task"},
                          {"cholesky_again", 40, 40, "ns/task"},
                          {"fibonacci", 32, 22, "ns/task"},
                          {"fork_join", 32, 22, "ns/task"},
                          {"cholesky", 4096, 1024, "GFlop/s"},
                          {"cholesky", 8192, 0, "GFlop/s"},
                          {"lu", 4096, 512, "GFlop/s"},
                          {"qr", 4096, 512, "GFlop/s"}};

double flops(std::string_view graph, std::size_t n) {
  auto const size = static_cast<double>(n);
  return graph == "cholesky" ? size * (size + 1) * (2 * size + 1) / 6
         : graph == "lu"     ? size * (4 * size * size - 3 * size + 5) / 6
                             : 4 * size * size * size / 3;
}

/// How many targets were met, missed or left unresolved.
using Verdicts = std::map<std::string, int, std::less<>>;

/// All measurements of one graph with one number of workers.
class Comparison {
public:
  Comparison(
      Options const& options, Extra const& extra, Case const& which, std::size_t n, int workers)
      : options_(options), which_(which), n_(n), workers_(workers), rounds_(extra.quick ? 2 : 3) {
    if (faster_is_more() || (calls_itself() && !extra.quick)) {
      rounds_ = 1;
    }
  }

  void measure(std::vector<Peer> const& peers, std::size_t repeat) {
    for (auto const& peer : peers) {
      if (auto const tile = best_tile(peer)) {
        able_.push_back(peer);
        tiles_[peer.name] = *tile;
      }
    }
    for (std::size_t r = 0; r < repeat; ++r) {
      if (calls_itself()) {
        serial_.push_back(value(peers.front(), "serial_fibonacci", workers_));
        if (workers_ == 2) {
          alone_.push_back(value(peers.front(), which_.graph, 1));
        }
      }
      for (std::size_t k = 0; k < able_.size(); ++k) {
        auto const& peer = able_[(k + r) % able_.size()];
        values_[peer.name].push_back(value(peer, which_.graph, workers_));
      }
    }
  }

  void print(Verdicts& verdicts) const {
    auto const found = values_.find("hetsched");
    if (found == values_.end()) {
      throw hs::Error(hs::ErrorCode::cannot_run, "overhead_hetsched", "failed");
    }
    auto const& ours = found->second;
    for (auto const& peer : able_) {
      auto const& theirs = values_.at(peer.name);
      // above 1: the other is slower, whatever the unit
      auto const ratio =
          interval(faster_is_more() ? quotients(ours, theirs) : quotients(theirs, ours));
      if (options_.json) {
        print_json(peer, interval(theirs), ratio);
      } else {
        print_row(peer, interval(theirs), ratio);
      }
      judge(verdicts, peer.name, ratio);
    }
    if (!serial_.empty()) {
      judge(verdicts, "serial", interval(quotients(serial_, ours)));
    }
    if (!alone_.empty()) {
      judge(verdicts, "two workers", interval(quotients(alone_, ours)));
    }
    if (!of_bound_.empty()) {
      judge(verdicts, "bound", interval(of_bound_));
    }
    std::fflush(stdout);
  }

private:
  [[nodiscard]] bool faster_is_more() const { return which_.unit == "GFlop/s"; }

  [[nodiscard]] bool calls_itself() const {
    return which_.graph == "fibonacci" || which_.graph == "fork_join";
  }

  static std::vector<double> quotients(std::vector<double> a, std::vector<double> const& b) {
    for (std::size_t r = 0; r < a.size(); ++r) {
      a[r] /= b[r];
    }
    return a;
  }

  void print_row(Peer const& peer, Interval const& cost, Interval const& ratio) const {
    std::printf("%-16s %6zu %2d %-12s %9.4g [%.4g, %.4g] %s",
                std::string(which_.graph).c_str(),
                n_,
                workers_,
                peer.name.c_str(),
                cost.median,
                cost.low,
                cost.high,
                std::string(which_.unit).c_str());
    if (peer.name != "hetsched") {
      std::printf(
          "; hetsched is %.2f [%.2f, %.2f] times as fast", ratio.median, ratio.low, ratio.high);
    }
    if (!serial_.empty()) {
      std::printf("; %.1f times the serial program", cost.median / median(serial_));
    }
    if (faster_is_more() && peer.name != "openblas") {
      std::printf("; tiles of %zu", tiles_.at(peer.name));
    }
    if (peer.name == "hetsched" && faster_is_more()) {
      std::printf("; %.1f %% of the bound, %.1f %% of the GEMM rate",
                  100 * median(of_bound_),
                  100 * median(of_gemm_));
    }
    std::printf("\n");
  }

  void print_json(Peer const& peer, Interval const& cost, Interval const& ratio) const {
    JsonLine line;
    line.add("kernel", which_.graph)
        .add("n", n_)
        .add("runtime", peer.name)
        .add("version", peer.version)
        .add("cpus", workers_)
        .add("unit", which_.unit)
        .add("median", cost.median)
        .add("low", cost.low)
        .add("high", cost.high)
        .add("hetsched_faster", ratio.median)
        .add("hetsched_faster_low", ratio.low)
        .add("hetsched_faster_high", ratio.high)
        .add("repetitions", values_.at(peer.name).size());
    if (!serial_.empty()) {
      line.add("times_serial", cost.median / median(serial_));
    }
    if (faster_is_more()) {
      line.add("tile", tiles_.at(peer.name));
    }
    if (peer.name == "hetsched" && faster_is_more()) {
      line.add("of_bound", median(of_bound_)).add("of_gemm_rate", median(of_gemm_));
    }
    line.print();
  }

  /// Says what became of the target for this, if there is one.
  void judge(Verdicts& verdicts, std::string const& compared, Interval const& value) const {
    auto const* const target = overhead::target_of(which_.graph, n_, workers_, compared);
    if (target == nullptr) {
      return;
    }
    auto const result = overhead::verdict(value, target->goal);
    ++verdicts[std::string(result)];
    if (options_.json) {
      JsonLine()
          .add("target", which_.graph)
          .add("n", n_)
          .add("cpus", workers_)
          .add("against", compared)
          .add("goal", target->goal)
          .add("value", value.median)
          .add("low", value.low)
          .add("high", value.high)
          .add("verdict", result)
          .print();
    } else {
      std::printf("%-16s %6zu %2d   target: %s, at least %.2f: %.2f [%.2f, %.2f], %s\n",
                  std::string(which_.graph).c_str(),
                  n_,
                  workers_,
                  compared.c_str(),
                  target->goal,
                  value.median,
                  value.low,
                  value.high,
                  std::string(result).c_str());
    }
  }

  /// The tile to measure with: what was given, else the fastest of some; nothing if the peer cannot
  /// do this graph.
  std::optional<std::size_t> best_tile(Peer const& peer) {
    if (!faster_is_more() || peer.name == "openblas" || options_.tile != 0) {
      auto const tile = std::max<std::size_t>(options_.tile, 1);
      // whether it can: asked with the smallest problem
      auto const answer =
          overhead::ask(peer, which_.graph, std::min<std::size_t>(n_, 20), tile, workers_, 1, "ws");
      return answer ? std::optional(tile) : std::nullopt;
    }
    std::optional<std::size_t> best;
    double fastest = 0;
    for (std::size_t const tile : {64, 96, 128, 192, 256, 320, 384, 512}) {
      if (tile < 128 && which_.graph != "lu") {
        continue; // LU's are as high as the matrix
      }
      auto const answer =
          tile * 4 <= n_ ? ask_peer(peer, which_.graph, tile, workers_, 1) : std::nullopt;
      if (answer && (!best || median(answer->seconds) < fastest)) {
        fastest = median(answer->seconds);
        best = tile;
      }
    }
    return best;
  }

  std::optional<overhead::Answer> ask_peer(
      Peer const& peer, std::string_view graph, std::size_t tile, int workers, int rounds) const {
    return overhead::ask(peer, graph, n_, tile, workers, rounds, options_.scheduler);
  }

  /// One process's ns per task or GFlop/s; not a number if it failed.
  double value(Peer const& peer, std::string_view graph, int workers) {
    auto const answer = ask_peer(peer, graph, tiles_[peer.name], workers, rounds_);
    if (!answer) {
      return std::nan("");
    }
    auto const seconds = median(answer->seconds);
    if (!faster_is_more()) {
      return seconds / answer->tasks * 1e9;
    }
    if (answer->bound > 0) {
      of_bound_.push_back(answer->bound / seconds);
      of_gemm_.push_back(flops(which_.graph, n_) / seconds / answer->gemm_rate);
    }
    return flops(which_.graph, n_) / seconds / 1e9;
  }

  Options options_;
  Case which_;
  std::size_t n_;
  int workers_;
  int rounds_;
  std::vector<Peer> able_;
  std::map<std::string, std::size_t> tiles_;
  std::map<std::string, std::vector<double>> values_;
  std::vector<double> serial_;
  std::vector<double> alone_; // hetsched with one worker
  std::vector<double> of_bound_;
  std::vector<double> of_gemm_;
};

std::string compare(Options options, Extra const& extra) {
  auto const peers = overhead::find_peers();
  Verdicts verdicts;
  if (!options.json) {
    for (auto const& peer : peers) {
      std::printf("%-12s %s\n", peer.name.c_str(), peer.version.c_str());
    }
    std::printf("ns/task or GFlop/s: median [95 %% of it] of %zu processes each, in turn.\n"
                "libgomp and LLVM OpenMP run a task at its spawn with one worker, and when many "
                "wait;\noneTBB is given the edges of a graph; StarPU's submitting thread shares "
                "the cores.\n",
                options.repeat);
  }
  auto const all = std::vector<int>{1, 2};
  std::string_view last;
  for (auto const& which : cases) {
    auto const n = options.n != 0 ? options.n : extra.quick ? which.quick_n : which.n;
    bool const again = options.n != 0 && which.graph == last;
    last = which.graph;
    if (n == 0 || again || (extra.only != "all" && extra.only != which.graph)) {
      continue;
    }
    for (int const workers : options.cpus ? std::vector{*options.cpus} : all) {
      Comparison comparison(options, extra, which, n, workers);
      comparison.measure(peers, options.repeat);
      comparison.print(verdicts);
    }
  }
  if (!options.json) {
    std::printf("targets: %d met, %d missed, %d unresolved\n",
                verdicts["met"],
                verdicts["missed"],
                verdicts["unresolved"]);
  }
  return "";
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "overhead",
      "Compares what tasks cost with libgomp, LLVM OpenMP, oneTBB and StarPU, those that "
      "are installed.",
      "--n: size of the graph that --case names: tasks, tiles, Fibonacci's argument, order of "
      "the\nmatrix (0: as documented). --tile: of the real Cholesky (0: the best of some, for "
      "each\nruntime). --cpus: only so many workers, instead of 1 and 2."};
  program.add_options = [&](CLI::App& app) {
    add_flag(app, "--quick", extra.quick, "small sizes, few repetitions: under a minute");
    add_choice(app,
               "--case",
               {"independent",
                "independent_data",
                "chain",
                "cholesky_graph",
                "cholesky_again",
                "fibonacci",
                "fork_join",
                "cholesky",
                "lu",
                "qr",
                "all"},
               extra.only,
               "one of the graphs, or all");
  };
  program.defaults.n = 0;
  program.defaults.tile = 0;
  program.defaults.repeat = 0;
  program.defaults.scheduler = "ws";
  return run_program(argc, argv, program, [&](Options options) {
    if (options.repeat == 0) {
      options.repeat = extra.quick ? 3 : 31;
    }
    if (options.n != 0 && extra.only == "all") {
      bad_input("--n", "needs --case, of which it is the size");
    }
    return compare(options, extra);
  });
}
