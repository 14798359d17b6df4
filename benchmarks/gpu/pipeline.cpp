// SPDX-License-Identifier: MIT
// How far transfers hide under kernels (Lima et al. 2015, sec. 3.4.3, fig. 4): a stream of
// independent tasks for one device, each with an input to send (H2D), a kernel (K) and a result to
// fetch (D2H), all of data of its own.
//
//     sequential   H K D H K D H K D      window 1; the program waits for each result, sync(handle)
//     results      H K H K H K            window 1; each result is fetched by a task on a core, so
//                      D   D   D          that it comes home while the next task is under way
//     all          H H H H                the same with a window of several tasks
//                    K K K K
//                      D D D D
//     timed        as all, with a performance model that notes every kernel's time, by the device's
//                  events: what that costs (Lima et al. took such times without overlap)
//
// One stream for kernels, so that they run one after another. Kernels are made to take as long as
// an input, if the device is fast enough.

#include <hetsched/policies/perf_models/history.hpp>

#include "device.hpp"

#include <array>
#include <cmath>
#include <string_view>

using namespace gpu_benchmark;
using example::Options;
using example::Program;

using Floats = hs::VectorView<float>;

namespace {

int passes = 0; // over the result, after its first; set before any task is spawned

/// The kernels of a task: result := input.
hs_status
launch(hs_driver const& driver, hs_stream* stream, std::size_t n, void const* input, void* result) {
  auto const size = static_cast<int>(n);
  auto status = driver.blas_copy(stream, hs_float, size, input, 1, result, 1);
  for (int pass = 0; pass < passes && status == hs_ok; ++pass) {
    status = driver.scal(stream, hs_float, size, 1, result, 1);
  }
  return status;
}

struct Work : hs::Task<2>::Signature<hs::R<Floats>, hs::W<Floats>> {
  static constexpr std::string_view name = "work";
};

} // namespace

template <>
struct hetsched::TaskBodyGPU<Work> {
  void operator()(hs::GpuStream& stream, hs::VectorView<float const> input, Floats result) const {
    stream.check(
        launch(stream.driver(), stream.stream(), result.size(), input.data(), result.data()));
  }
};

namespace {

struct Extra {
  bool quick = false;
  std::size_t window = 4;
};

struct Mode {
  std::string_view name;
  bool one_by_one;
  int window;
  bool timed = false;
};

/// Seconds of one transfer or kernel that has the device for itself.
struct Stages {
  double in = 0;
  double kernel = 0;
  double out = 0;

  [[nodiscard]] double sum() const { return in + kernel + out; }

  [[nodiscard]] double longest() const { return std::max({in, kernel, out}); }
};

/// Times one operation by events.
template <class Give>
double time_alone(RawDevice const& device, Give&& give) {
  std::array<hs_event*, 2> events{};
  for (auto& event : events) {
    device.check(device.driver.event_create(device.device, &event));
  }
  std::vector<double> seconds;
  for (int k = 0; k < 8; ++k) {
    device.check(device.driver.event_record(events[0], device.stream));
    give();
    device.check(device.driver.event_record(events[1], device.stream));
    device.synchronize();
    std::int64_t ns = 0;
    device.check(device.driver.event_elapsed(events[0], events[1], &ns));
    if (k > 0) { // libraries set themselves up in the first
      seconds.push_back(static_cast<double>(ns) * 1e-9);
    }
  }
  for (auto* event : events) {
    device.driver.event_destroy(event);
  }
  return median(seconds);
}

/// Chooses `passes`.
Stages measure_stages(RawDevice const& device, std::size_t n) {
  std::vector<float> host(n, 1);
  auto const bytes = n * sizeof(float);
  Pinned const pinned(device, host.data(), bytes);
  RawMemory const input(device, bytes);
  RawMemory const result(device, bytes);
  auto const kernel = [&] {
    return time_alone(device, [&] {
      device.check(launch(device.driver, device.stream, n, input.at(0), result.at(0)));
    });
  };
  Stages stages;
  stages.in = time_alone(device, [&] { device.copy_in(input.at(0), host.data(), bytes); });
  passes = 0;
  auto const first = kernel();
  passes = 8;
  auto const one = (kernel() - first) / passes;
  passes = one > 0 ? static_cast<int>(std::clamp((stages.in - first) / one, 0.0, 1e4)) : 0;
  stages.kernel = kernel();
  stages.out = time_alone(device, [&] { device.copy_out(host.data(), result.at(0), bytes); });
  return stages;
}

struct Round {
  double seconds = 0;
  hs::DeviceStats device;
};

struct Buffers {
  Buffers(std::size_t tasks, std::size_t n) : inputs(tasks), results(tasks) {
    for (std::size_t k = 0; k < tasks; ++k) {
      inputs[k].assign(n, static_cast<float>(k + 1));
      results[k].resize(n);
    }
  }

  /// How many elements are wrong.
  [[nodiscard]] std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      for (std::size_t i = 0; i < inputs[k].size(); ++i) {
        count += results[k][i] == inputs[k][i] ? 0 : 1;
      }
    }
    return count;
  }

  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> results;
};

class Pipeline {
public:
  Pipeline(Options const& options, DeviceChoice const& choice)
      : options_(options), choice_(choice), buffers_(options.n, options.tile) {
    RawDevice const device(choice);
    name_ = device.name();
    stages_ = measure_stages(device, options.tile);
  }

  void print_head() const {
    if (options_.json) {
      return;
    }
    print_device(name_, is_emulated(choice_));
    std::printf("%zu tasks, each with an input and a result of %zu bytes; alone: H2D %.3f ms, "
                "kernel %.3f ms, D2H %.3f ms\nideal: %.3f ms, the longest stage of all tasks; "
                "median of %zu runs (min .. max)\n\n"
                "%-10s %-10s %6s %10s %25s %8s %8s %8s\n",
                options_.n,
                options_.tile * sizeof(float),
                stages_.in * 1e3,
                stages_.kernel * 1e3,
                stages_.out * 1e3,
                ideal() * 1e3,
                options_.repeat,
                "mode",
                "scheduler",
                "window",
                "ms",
                "(min .. max)",
                "/ideal",
                "hidden%",
                "overlap%");
  }

  template <class S>
  void run(std::string_view scheduler, Mode const& mode) {
    if (mode.timed) {
      run_with<S, hs::policies::History>(scheduler, mode);
    } else {
      run_with<S, hs::policies::NoModel>(scheduler, mode);
    }
  }

  [[nodiscard]] std::string const& complaint() const { return complaint_; }

private:
  template <class S, class PerfModel>
  void run_with(std::string_view scheduler, Mode const& mode) {
    auto config = options_.config();
    config.cpus = options_.cpus.value_or(1);
    config.window = mode.window;
    config.streams = 1;
    config.devices = list_of(choice_);
    std::vector<Round> rounds;
    {
      hs::Runtime<S, hs::policies::Lru, PerfModel> rt(config);
      std::vector<hs::Handle<Floats>> inputs;
      std::vector<hs::Handle<Floats>> results;
      for (std::size_t k = 0; k < options_.n; ++k) {
        inputs.push_back(rt.data(buffers_.inputs[k]));
        results.push_back(rt.data(buffers_.results[k]));
      }
      for (std::size_t r = 0; r <= options_.repeat; ++r) {
        for (auto& result : buffers_.results) {
          std::fill(result.begin(), result.end(), 0.0F);
        }
        rt.reset_stats();
        auto const begin = now();
        for (std::size_t k = 0; k < options_.n; ++k) {
          rt.template spawn<Work>(hs::SetArch(hs::ArchCUDA))(inputs[k], results[k]);
          if (mode.one_by_one) {
            rt.sync(results[k]);
          } else {
            rt.spawn()([](hs::VectorView<float const> /*here*/) {}, hs::read(results[k]));
          }
        }
        rt.sync();
        Round round{now() - begin, rt.stats().devices.at(0)};
        check(round.device);
        if (r > 0) { // in the first, memory is pinned
          rounds.push_back(std::move(round));
        }
      }
    }
    print(scheduler, mode, rounds);
  }

  [[nodiscard]] double ideal() const { return stages_.longest() * static_cast<double>(options_.n); }

  /// Everything went where it should, once.
  void check(hs::DeviceStats const& device) {
    auto const bytes = options_.n * options_.tile * sizeof(float);
    if (auto const wrong = buffers_.wrong(); wrong != 0) {
      complaint_ = std::to_string(wrong) + " elements are wrong";
    } else if (device.bytes_from_host != bytes || device.bytes_to_host != bytes) {
      complaint_ = "sent " + std::to_string(device.bytes_from_host) + " and fetched " +
                   std::to_string(device.bytes_to_host) + " bytes instead of " +
                   std::to_string(bytes);
    }
  }

  void print(std::string_view scheduler, Mode const& mode, std::vector<Round>& rounds) const {
    std::sort(rounds.begin(), rounds.end(), [](Round const& a, Round const& b) {
      return a.seconds < b.seconds;
    });
    auto const& middle = rounds[(rounds.size() - 1) / 2];
    auto const& device = middle.device;
    auto const transfers = device.transfers.seconds();
    auto const hidden = 1 - (middle.seconds - device.kernels.seconds()) / transfers;
    if (options_.json) {
      JsonLine()
          .add("kernel", "pipeline")
          .add("device", name_)
          .add("emulated", is_emulated(choice_) ? 1 : 0)
          .add("mode", mode.name)
          .add("scheduler", scheduler)
          .add("window", mode.window)
          .add("tasks", options_.n)
          .add("bytes", options_.tile * sizeof(float))
          .add("repeat", options_.repeat)
          .add("seconds", middle.seconds)
          .add("seconds_min", rounds.front().seconds)
          .add("seconds_max", rounds.back().seconds)
          .add("h2d_s", stages_.in)
          .add("kernel_s", stages_.kernel)
          .add("d2h_s", stages_.out)
          .add("ideal_s", ideal())
          .add("ratio", middle.seconds / ideal())
          .add("transfers_s", transfers)
          .add("kernels_s", device.kernels.seconds())
          .add("hidden", hidden)
          .add("overlap", device.overlap_ratio())
          .print();
      return;
    }
    char range[64];
    std::snprintf(range,
                  sizeof range,
                  "(%.2f .. %.2f)",
                  rounds.front().seconds * 1e3,
                  rounds.back().seconds * 1e3);
    std::printf("%-10s %-10s %6d %10.2f %25s %8.3f %8.1f %8.1f%s\n",
                std::string(mode.name).c_str(),
                std::string(scheduler).c_str(),
                mode.window,
                middle.seconds * 1e3,
                range,
                middle.seconds / ideal(),
                hidden * 100,
                device.overlap_ratio() * 100,
                is_emulated(choice_) ? "  EMULATED" : "");
    std::fflush(stdout);
  }

  Options options_;
  DeviceChoice choice_;
  Buffers buffers_;
  std::string name_;
  Stages stages_;
  std::string complaint_;
};

std::string compare(Options options, Extra const& extra) {
  auto const choice = choose_device("latency=2ms&kernel=2ms");
  if (options.n == 0) {
    options.n = extra.quick ? 16 : 64;
  }
  if (options.tile == 0) {
    options.tile = is_emulated(choice) ? 16'384 : extra.quick ? 1'048'576 : 4'194'304;
  }
  if (options.repeat == 0) {
    options.repeat = extra.quick ? 1 : 5;
  }
  example::check_memory("--n", options.n * options.tile, 1, 1);
  Pipeline pipeline(options, choice);
  pipeline.print_head();
  auto const window = static_cast<int>(extra.window);
  for (auto const& mode : {Mode{"sequential", true, 1},
                           Mode{"results", false, 1},
                           Mode{"all", false, window},
                           Mode{"timed", false, window, true}}) {
    example::for_each_scheduler(options.scheduler, [&]<class S>(example::Named<S> scheduler) {
      pipeline.run<S>(scheduler.name, mode);
    });
  }
  return pipeline.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "pipeline",
      "Measures how far a device's transfers hide under its kernels.",
      "--n: tasks; --tile: floats of each input and each result (0: as the device needs).\n"
      "Modes: sequential, one operation at a time; results, they come home while the next task\n"
      "runs; all, with a window of --window tasks; timed, the same with the performance model\n"
      "History. The device is the first of HETSCHED_DEVICES,\n"
      "else the first GPU, else an emulated one whose transfers and kernels take 2 ms each.\n"
      "/ideal: time / longest stage of all tasks. hidden%: of the time of all transfers,\n"
      "1 - (time - kernels) / transfers; overlap%: the part of it during which a kernel ran, from\n"
      "the device's events (Stats::devices).\n"
      "JSON keys: kernel, device, emulated (0 or 1), mode, scheduler, window, tasks, bytes, "
      "repeat,\nseconds, seconds_min, seconds_max, h2d_s, kernel_s, d2h_s (of one, alone), "
      "ideal_s, ratio,\ntransfers_s, kernels_s, hidden, overlap."};
  program.add_options = [&](CLI::App& app) {
    example::add_flag(app, "--quick", extra.quick, "few tasks, one run: some seconds");
    example::add_number(app, "--window", 1, 1024, extra.window, "of the last two modes");
  };
  program.defaults.n = 0;
  program.defaults.tile = 0;
  program.defaults.repeat = 0;
  program.defaults.scheduler = "ws";
  program.parts = "inputs and results, in floats";
  return example::run_program(
      argc, argv, program, [&](Options const& options) { return compare(options, extra); });
}
