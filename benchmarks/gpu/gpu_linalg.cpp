// SPDX-License-Identifier: MIT
// GEMM and Cholesky by tiles on all workers, a device's included, beside one call of the device's
// own library (cuBLAS, cuSOLVER) on the same data, transfers included in both.
//
//     in       the device's memory holds all data
//     out      it holds a third of them; the library, which cannot do that, is given all of it
//
// Host memory is pinned for both and device memory is there beforehand. The library's calls: send
// all matrices, compute, fetch the result, in one stream.

#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>

#include "../../examples/common/measure.hpp"
#include "device.hpp"

#include <memory>
#include <optional>
#include <string_view>

using namespace gpu_benchmark;
using example::MatrixXd;
using example::Options;
using example::Program;

namespace {

struct Extra {
  bool quick = false;
  std::string only = "all";
  std::string memory = "all";
};

double flops(std::string_view kernel, std::size_t n) {
  auto const size = static_cast<double>(n);
  return size * size * size * (kernel == "gemm" ? 2.0 : 1.0 / 3.0);
}

std::size_t bytes_of(MatrixXd const& m) {
  return static_cast<std::size_t>(m.size()) * sizeof(double);
}

/// C := A B + C.
class Gemm {
public:
  static constexpr std::string_view name = "gemm";

  Gemm(std::size_t n, std::uint64_t seed) {
    auto const size = static_cast<Eigen::Index>(n);
    a_ = example::random_matrix(size, size, seed);
    b_ = example::random_matrix(size, size, seed + 1);
    before_ = example::random_matrix(size, size, seed + 2);
    result = before_;
  }

  void restore() { result = before_; }

  [[nodiscard]] std::size_t bytes() const { return 3 * bytes_of(result); }

  [[nodiscard]] static bool has_library(hs_driver const& driver) { return driver.gemm != nullptr; }

  /// The library's way, ready to be called.
  class Library {
  public:
    Library(RawDevice const& device, Gemm& problem)
        : device_(device), problem_(problem), a_(device, bytes()), b_(device, bytes()),
          c_(device, bytes()), pinned_a_(device, problem.a_.data(), bytes()),
          pinned_b_(device, problem.b_.data(), bytes()),
          pinned_c_(device, problem.result.data(), bytes()) {}

    void operator()() {
      auto const n = static_cast<int>(problem_.result.rows());
      device_.copy_in(a_.at(0), problem_.a_.data(), bytes());
      device_.copy_in(b_.at(0), problem_.b_.data(), bytes());
      device_.copy_in(c_.at(0), problem_.result.data(), bytes());
      device_.check(device_.driver.gemm(device_.stream,
                                        hs_double,
                                        'N',
                                        'N',
                                        n,
                                        n,
                                        n,
                                        1,
                                        a_.at(0),
                                        n,
                                        b_.at(0),
                                        n,
                                        1,
                                        c_.at(0),
                                        n));
      device_.copy_out(problem_.result.data(), c_.at(0), bytes());
      device_.synchronize();
    }

  private:
    [[nodiscard]] std::size_t bytes() const { return bytes_of(problem_.result); }

    RawDevice const& device_;
    Gemm& problem_;
    RawMemory a_;
    RawMemory b_;
    RawMemory c_;
    Pinned pinned_a_;
    Pinned pinned_b_;
    Pinned pinned_c_;
  };

  template <class Rt>
  class Tiles {
  public:
    Tiles(Rt& rt, Gemm& problem, std::size_t tile)
        : rt_(rt), a_(rt, problem.a_, tile), b_(rt, problem.b_, tile),
          c_(rt, problem.result, tile) {}

    void spawn() { hs::linalg::gemm(rt_, 1.0, a_, b_, 1.0, c_); }

  private:
    Rt& rt_;
    hs::linalg::TiledMatrix<double> a_;
    hs::linalg::TiledMatrix<double> b_;
    hs::linalg::TiledMatrix<double> c_;
  };

  /// What there is to compare.
  [[nodiscard]] MatrixXd const& answer() const { return result; }

  MatrixXd result;

private:
  MatrixXd a_;
  MatrixXd b_;
  MatrixXd before_;
};

/// A = L L^T.
class Cholesky {
public:
  static constexpr std::string_view name = "cholesky";

  Cholesky(std::size_t n, std::uint64_t seed) {
    auto const size = static_cast<Eigen::Index>(n);
    before_ = example::random_matrix(size, size, seed);
    before_.diagonal().array() += static_cast<double>(n); // its lower triangle is what counts
    result = before_;
  }

  void restore() { result = before_; }

  [[nodiscard]] std::size_t bytes() const { return bytes_of(result); }

  [[nodiscard]] static bool has_library(hs_driver const& driver) { return driver.potrf != nullptr; }

  class Library {
  public:
    Library(RawDevice const& device, Cholesky& problem)
        : device_(device), problem_(problem), a_(device, bytes()), info_(device, sizeof(int)),
          pinned_(device, problem.result.data(), bytes()) {
      device.check(
          device.driver.potrf_work(device.stream, hs_double, 'L', order(), order(), &elements_));
      work_.emplace(device, std::max<std::size_t>(elements_, 1) * sizeof(double));
    }

    void operator()() {
      device_.copy_in(a_.at(0), problem_.result.data(), bytes());
      auto* const info = reinterpret_cast<int*>(info_.at(0));
      device_.check(device_.driver.potrf(device_.stream,
                                         hs_double,
                                         'L',
                                         order(),
                                         a_.at(0),
                                         order(),
                                         work_->at(0),
                                         elements_,
                                         info));
      device_.copy_out(problem_.result.data(), a_.at(0), bytes());
      int failed = 0;
      device_.copy_out(&failed, info, sizeof failed);
      device_.synchronize();
      if (failed != 0) {
        throw hs::Error(hs::ErrorCode::numerical, "potrf", "info = " + std::to_string(failed));
      }
    }

  private:
    [[nodiscard]] std::size_t bytes() const { return bytes_of(problem_.result); }

    [[nodiscard]] int order() const { return static_cast<int>(problem_.result.rows()); }

    RawDevice const& device_;
    Cholesky& problem_;
    RawMemory a_;
    RawMemory info_;
    std::optional<RawMemory> work_;
    std::size_t elements_ = 0;
    Pinned pinned_;
  };

  template <class Rt>
  class Tiles {
  public:
    Tiles(Rt& rt, Cholesky& problem, std::size_t tile) : rt_(rt), a_(rt, problem.result, tile) {}

    void spawn() { hs::linalg::cholesky(rt_, a_); }

  private:
    Rt& rt_;
    hs::linalg::TiledMatrix<double> a_;
  };

  [[nodiscard]] MatrixXd answer() const { return result.triangularView<Eigen::Lower>(); }

  MatrixXd result;

private:
  MatrixXd before_;
};

/// Of one scheduler's runs.
struct Runs {
  std::vector<double> seconds;
  hs::DeviceStats device; // of the last
  std::uint64_t tasks = 0;
  std::uint64_t on_device = 0;
};

class Comparison {
public:
  Comparison(Options const& options, Extra const& extra, DeviceChoice choice)
      : options_(options), extra_(extra), choice_(std::move(choice)),
        emulated_(is_emulated(choice_)), name_(RawDevice(choice_).name()) {
    if (options.json) {
      return;
    }
    print_device(name_, emulated_);
    std::printf("n = %zu, tiles of %zu; %s on cores; GFlop/s with transfers, median of %zu runs\n\n"
                "%-9s %-4s %-10s %9s %9s %8s %11s %9s %9s %7s %8s\n",
                options.n,
                options.tile,
                hs::linalg::kernel_library(),
                options.repeat,
                "kernel",
                "core",
                "scheduler",
                "GFlop/s",
                "library",
                "/library",
                "on device",
                "MB in",
                "MB out",
                "evicted",
                "overlap%");
  }

  template <class Problem>
  void measure() {
    if (extra_.only != "all" && extra_.only != Problem::name) {
      return;
    }
    Problem problem(options_.n, options_.seed);
    auto const library = measure_library(problem);
    auto const expected = MatrixXd(problem.answer());
    for (std::string_view const memory : {"in", "out"}) {
      if (extra_.memory != "all" && extra_.memory != memory) {
        continue;
      }
      example::for_each_scheduler(options_.scheduler, [&]<class S>(example::Named<S> scheduler) {
        auto const runs = measure_runtime<S>(problem, memory == "out");
        if (library) {
          check(expected, problem.answer());
        }
        print(Problem::name, memory, scheduler.name, library, runs);
      });
    }
  }

  [[nodiscard]] std::string const& complaint() const { return complaint_; }

private:
  template <class Problem>
  std::optional<double> measure_library(Problem& problem) const {
    auto choice = choice_;
    choice.capacity = emulated_ ? 2 * problem.bytes() + (std::size_t{64} << 20) : 0;
    RawDevice const device(choice);
    if (!Problem::has_library(device.driver)) {
      return std::nullopt;
    }
    typename Problem::Library call(device, problem);
    return median(time_rounds(options_.repeat, [&] { problem.restore(); }, call));
  }

  template <class S, class Problem>
  Runs measure_runtime(Problem& problem, bool out_of_core) const {
    auto const tile_bytes = options_.tile * options_.tile * sizeof(double);
    auto choice = choice_;
    if (out_of_core) {
      choice.capacity = std::max(problem.bytes() / 3, 12 * tile_bytes) / 256 * 256;
    } else if (emulated_ && choice.capacity == 0) {
      choice.capacity = (problem.bytes() + problem.bytes() / 4 + 12 * tile_bytes) / 256 * 256;
    }
    auto config = options_.config();
    config.devices = list_of(choice);
    hs::Runtime<S> rt(config);
    typename Problem::template Tiles<hs::Runtime<S>> tiles(rt, problem, options_.tile);
    Runs runs;
    runs.seconds = time_rounds(
        options_.repeat,
        [&] {
          problem.restore();
          rt.reset_stats();
        },
        [&] {
          tiles.spawn();
          rt.sync();
        });
    auto const stats = rt.stats();
    runs.device = stats.devices.at(0);
    for (auto const& type : stats.types) {
      runs.tasks += type.count;
      runs.on_device += type.arch == hs::ArchCUDA ? type.count : 0;
    }
    return runs;
  }

  void check(MatrixXd const& expected, MatrixXd const& result) {
    auto const error = (result - expected).norm() / expected.norm();
    if (!(error <= std::max(1e-13, static_cast<double>(options_.n) * 2.2e-16))) {
      complaint_ = "differs from the library's by " + std::to_string(error);
    }
  }

  void print(std::string_view kernel,
             std::string_view memory,
             std::string_view scheduler,
             std::optional<double> library,
             Runs const& runs) const {
    auto const seconds = median(runs.seconds);
    auto const work = flops(kernel, options_.n) * 1e-9;
    auto const library_s = library.value_or(std::nan(""));
    auto const& device = runs.device;
    if (options_.json) {
      JsonLine()
          .add("kernel", kernel)
          .add("device", name_)
          .add("emulated", emulated_ ? 1 : 0)
          .add("core", memory)
          .add("scheduler", scheduler)
          .add("n", options_.n)
          .add("tile", options_.tile)
          .add("repeat", options_.repeat)
          .add("seconds", seconds)
          .add("seconds_min", *std::min_element(runs.seconds.begin(), runs.seconds.end()))
          .add("gflops", work / seconds)
          .add("library_gflops", work / library_s)
          .add("of_library", library_s / seconds)
          .add("tasks", runs.tasks)
          .add("on_device", runs.on_device)
          .add("bytes_in", device.bytes_from_host)
          .add("bytes_out", device.bytes_to_host)
          .add("evictions", device.evictions_clean + device.evictions_dirty)
          .add("overlap", device.overlap_ratio())
          .print();
      return;
    }
    char count[48];
    std::snprintf(count,
                  sizeof count,
                  "%llu/%llu",
                  static_cast<unsigned long long>(runs.on_device),
                  static_cast<unsigned long long>(runs.tasks));
    std::printf("%-9s %-4s %-10s %9.1f %9.1f %8.3f %11s %9.1f %9.1f %7llu %8.1f%s\n",
                std::string(kernel).c_str(),
                std::string(memory).c_str(),
                std::string(scheduler).c_str(),
                work / seconds,
                work / library_s,
                library_s / seconds,
                count,
                static_cast<double>(device.bytes_from_host) * 1e-6,
                static_cast<double>(device.bytes_to_host) * 1e-6,
                static_cast<unsigned long long>(device.evictions_clean + device.evictions_dirty),
                device.overlap_ratio() * 100,
                emulated_ ? "  EMULATED" : "");
    std::fflush(stdout);
  }

  Options options_;
  Extra extra_;
  DeviceChoice choice_;
  bool emulated_;
  std::string name_;
  std::string complaint_;
};

std::string compare(Options options, Extra const& extra) {
  auto const choice = choose_device("latency=10us&bandwidth=10GB/s");
  bool const small = extra.quick || is_emulated(choice);
  if (options.n == 0) {
    options.n = !small ? 16'384 : extra.quick && is_emulated(choice) ? 512 : 2048;
  }
  if (options.tile == 0) {
    options.tile = std::max<std::size_t>(options.n / 16, 1);
  }
  if (options.repeat == 0) {
    options.repeat = extra.quick ? 1 : 5;
  }
  example::check_memory("--n", options.n, 8);
  Comparison comparison(options, extra, choice);
  comparison.measure<Gemm>();
  comparison.measure<Cholesky>();
  return comparison.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "gpu_linalg",
      "Compares GEMM and Cholesky by tiles with one call of a device's own library.",
      "--n, --tile: 0: as the device needs. The device is the first of HETSCHED_DEVICES, else the\n"
      "first GPU, else an emulated one, whose library is the one that computes on cores. core: "
      "in,\n"
      "the device's memory holds all data; out, a third. on device: tasks that ran there, of all.\n"
      "Transfers are timed, allocations are not. The last five columns are of the last run.\n"
      "JSON keys: kernel, device, emulated (0 or 1), core, scheduler, n, tile, repeat, seconds,\n"
      "seconds_min, gflops, library_gflops, of_library, tasks, on_device, bytes_in, bytes_out,\n"
      "evictions, overlap."};
  program.add_options = [&](CLI::App& app) {
    example::add_flag(app, "--quick", extra.quick, "small matrices, one run: some seconds");
    example::add_choice(app, "--case", {"gemm", "cholesky", "all"}, extra.only, "what to compute");
    example::add_choice(
        app, "--core", {"in", "out", "all"}, extra.memory, "how much the device holds");
  };
  program.defaults.n = 0;
  program.defaults.tile = 0;
  program.defaults.repeat = 0;
  program.defaults.scheduler = "priority";
  program.largest_n = 100'000;
  return example::run_program(
      argc, argv, program, [&](Options const& options) { return compare(options, extra); });
}
