// SPDX-License-Identifier: MIT
// What a task costs here and in other runtimes, side by side in one run.
//
//     independent       n empty tasks without data
//     independent_data  the same, each declaring a datum of its own
//     chain             n tasks that read and write one datum
//     cholesky_graph    the tile Cholesky graph of 40 x 40 tiles with empty bodies
//     fibonacci         a nested task for each call, without cutoff
//     cholesky          a real Cholesky factorisation, each with its best tile
//
// Each measurement is a process of its own; all runtimes are measured in turn, as often as
// --repeat says, so that what disturbs the machine meets them alike. Ratios are of neighbours in
// time; their interval holds the median with 95 % confidence (order statistics).

#include "../../examples/common/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace example;

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
                          {"fibonacci", 32, 22, "ns/task"},
                          {"cholesky", 4096, 1024, "GFlop/s"},
                          {"cholesky", 8192, 0, "GFlop/s"}};

struct Peer {
  std::string name;
  std::string path;
  std::string version;
};

/// What one process said, in order.
struct Answer {
  std::vector<double> seconds; // of the counted rounds
  double tasks = 0;
  double bound = 0;     // seconds, of hetsched's Cholesky
  double gemm_rate = 0; // flop/s, as well
};

std::string own_folder() {
  char path[4096];
  auto const length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string const self(path, length < 0 ? 0 : static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1);
}

std::string quoted(std::string const& text) {
  std::string result = "'";
  for (char const c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

/// The lines a command prints; nothing if it fails.
std::optional<std::string> output_of(std::string const& command) {
  std::string text;
  auto* const pipe = ::popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (pipe == nullptr) {
    return std::nullopt;
  }
  char buffer[4096];
  while (auto const got = std::fread(buffer, 1, sizeof buffer, pipe)) {
    text.append(buffer, got);
  }
  return ::pclose(pipe) == 0 ? std::optional(text) : std::nullopt;
}

std::vector<Peer> find_peers() {
  std::vector<Peer> peers;
  for (std::string const name :
       {"hetsched", "libgomp", "llvm_openmp", "onetbb", "starpu", "openblas"}) {
    auto const path = own_folder() + "overhead_" + name;
    if (auto version = output_of(quoted(path) + " versions")) {
      while (!version->empty() && std::isspace(static_cast<unsigned char>(version->back()))) {
        version->pop_back();
      }
      peers.push_back({name, path, *version});
    }
  }
  if (peers.empty() || peers.front().name != "hetsched") {
    bad_input("overhead_hetsched", "is not beside this program, or does not run");
  }
  return peers;
}

std::optional<Answer> ask(Peer const& peer,
                          std::string_view graph,
                          std::size_t n,
                          std::size_t tile,
                          int workers,
                          int rounds,
                          std::string const& scheduler) {
  std::ostringstream command;
  command << quoted(peer.path) << ' ' << graph << ' ' << n << ' ' << tile << ' ' << workers << ' '
          << rounds << ' ' << scheduler;
  auto const text = output_of(command.str());
  if (!text) {
    return std::nullopt;
  }
  Answer answer;
  std::istringstream lines(*text);
  std::string key;
  double value = 0;
  while (lines >> key >> value) {
    if (key == "seconds") {
      answer.seconds.push_back(value);
    } else if (key == "tasks") {
      answer.tasks = value;
    } else if (key == "bound") {
      answer.bound = value;
    } else if (key == "gemm_rate") {
      answer.gemm_rate = value;
    }
  }
  if (answer.seconds.size() < 2) {
    return std::nullopt;
  }
  answer.seconds.erase(answer.seconds.begin()); // the first finds no memory, threads, data
  return answer;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const n = values.size();
  return n == 0 ? std::nan("") : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

/// The median and the order statistics between which the true one lies with 95 % confidence
/// (normal approximation of the binomial); all there is of few values.
Interval interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const n = static_cast<double>(values.size());
  auto const reach = 1.96 * std::sqrt(n) / 2;
  auto const low = std::max(0.0, std::floor(n / 2 - reach));
  auto const high = std::min(n - 1, std::ceil(n / 2 + reach) - 1);
  return {median(values),
          values[static_cast<std::size_t>(low)],
          values[static_cast<std::size_t>(high)]};
}

double cholesky_flops(std::size_t n) {
  auto const size = static_cast<double>(n);
  return size * (size + 1) * (2 * size + 1) / 6;
}

/// All measurements of one graph with one number of workers.
class Comparison {
public:
  Comparison(
      Options const& options, Extra const& extra, Case const& which, std::size_t n, int workers)
      : options_(options), which_(which), n_(n), workers_(workers), rounds_(extra.quick ? 2 : 3) {
    if (which.graph == "cholesky") {
      rounds_ = 1;
    }
  }

  void measure(std::vector<Peer> const& peers, std::size_t repeat) {
    std::vector<Peer> able;
    for (auto const& peer : peers) {
      if (auto const tile = best_tile(peer)) {
        able.push_back(peer);
        tiles_[peer.name] = *tile;
      }
    }
    for (std::size_t r = 0; r < repeat; ++r) {
      if (which_.graph == "fibonacci") {
        serial_.push_back(value(peers.front(), "serial_fibonacci").value_or(std::nan("")));
      }
      for (std::size_t k = 0; k < able.size(); ++k) {
        auto const& peer = able[(k + r) % able.size()];
        values_[peer.name].push_back(value(peer, which_.graph).value_or(std::nan("")));
      }
    }
    order_ = able;
  }

  void print() const {
    auto const found = values_.find("hetsched");
    if (found == values_.end()) {
      throw hs::Error(hs::ErrorCode::cannot_run, "overhead_hetsched", "failed");
    }
    auto const& ours = found->second;
    auto const serial = median(serial_);
    for (auto const& peer : order_) {
      auto const& theirs = values_.at(peer.name);
      std::vector<double> ratios;
      for (std::size_t r = 0; r < ours.size(); ++r) {
        // above 1: the other is slower, whatever the unit
        ratios.push_back(faster_is_more() ? ours[r] / theirs[r] : theirs[r] / ours[r]);
      }
      auto const cost = interval(theirs);
      auto const ratio = interval(ratios);
      if (options_.json) {
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
            .add("repetitions", ours.size());
        if (!serial_.empty()) {
          line.add("times_serial", cost.median / serial);
        }
        if (faster_is_more()) {
          line.add("tile", tiles_.at(peer.name));
        }
        if (peer.name == "hetsched" && faster_is_more()) {
          line.add("of_bound", median(of_bound_)).add("of_gemm_rate", median(of_gemm_));
        }
        line.print();
        continue;
      }
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
        std::printf("; %.1f times the serial program", cost.median / serial);
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
    std::fflush(stdout);
  }

private:
  [[nodiscard]] bool faster_is_more() const { return which_.graph == "cholesky"; }

  /// The tile to measure with: what was given, else the fastest of some; nothing if the peer cannot
  /// do this graph.
  std::optional<std::size_t> best_tile(Peer const& peer) {
    if (!faster_is_more() || peer.name == "openblas" || options_.tile != 0) {
      auto const tile = std::max<std::size_t>(options_.tile, 1);
      return ask_peer(peer, which_.graph, tile, 1) ? std::optional(tile) : std::nullopt;
    }
    std::optional<std::size_t> best;
    double fastest = 0;
    for (std::size_t const tile : {128, 192, 256, 320, 384, 512}) {
      auto const answer = tile * 4 <= n_ ? ask_peer(peer, which_.graph, tile, 1) : std::nullopt;
      if (answer && (!best || median(answer->seconds) < fastest)) {
        fastest = median(answer->seconds);
        best = tile;
      }
    }
    return best;
  }

  std::optional<Answer>
  ask_peer(Peer const& peer, std::string_view graph, std::size_t tile, int rounds) const {
    return ask(peer, graph, n_, tile, workers_, rounds, options_.scheduler);
  }

  std::optional<double> value(Peer const& peer, std::string_view graph) {
    auto const answer = ask_peer(peer, graph, tiles_[peer.name], rounds_);
    if (!answer) {
      return std::nullopt;
    }
    auto const seconds = median(answer->seconds);
    if (!faster_is_more()) {
      return seconds / answer->tasks * 1e9;
    }
    if (answer->bound > 0) {
      of_bound_.push_back(answer->bound / seconds);
      of_gemm_.push_back(cholesky_flops(n_) / seconds / answer->gemm_rate);
    }
    return cholesky_flops(n_) / seconds / 1e9;
  }

  Options options_;
  Case which_;
  std::size_t n_;
  int workers_;
  int rounds_;
  std::vector<Peer> order_;
  std::map<std::string, std::size_t> tiles_;
  std::map<std::string, std::vector<double>> values_;
  std::vector<double> serial_;
  std::vector<double> of_bound_;
  std::vector<double> of_gemm_;
};

std::string compare(Options options, Extra const& extra) {
  auto const peers = find_peers();
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
  for (auto const& which : cases) {
    auto n = extra.quick ? which.quick_n : which.n;
    if (options.n != 0 && which.graph.substr(0, 8) != "cholesky" && which.graph != "fibonacci") {
      n = options.n;
    }
    if (n == 0 || (extra.only != "all" && extra.only != which.graph)) {
      continue;
    }
    for (int const workers : options.cpus ? std::vector{*options.cpus} : all) {
      Comparison comparison(options, extra, which, n, workers);
      comparison.measure(peers, options.repeat);
      comparison.print();
    }
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
      "--n: tasks of the first three graphs (0: as documented). --tile: of the real "
      "Cholesky\n(0: the best of some, for each runtime). --cpus: only so many workers, "
      "instead of 1 and 2."};
  program.add_options = [&](CLI::App& app) {
    add_flag(app, "--quick", extra.quick, "small sizes, few repetitions: under a minute");
    add_choice(app,
               "--case",
               {"independent",
                "independent_data",
                "chain",
                "cholesky_graph",
                "fibonacci",
                "cholesky",
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
    return compare(options, extra);
  });
}
