// SPDX-License-Identifier: MIT
// What the runtime costs where there is nothing to gain from it (Lima et al. 2015, sec. 5.3,
// fig. 7): T1 / Tserial of y := a x + y in single precision.
//
//     cpu      T1: a task for each block on one worker       Tserial: one loop over the vectors
//     device   T1: the same on one device, and y comes home  Tserial: H2D of x's block and y's
//              in sync()                                     block, axpy, D2H of y's, block after
//                                                            block in one stream
//
// Both with transfers, with pinned memory, and without allocations. The runtime may do several
// things at a time on the device, the serial program cannot: below 1 is possible.

#include <hetsched/linalg/axpy.hpp>

#include "device.hpp"

#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

using namespace gpu_benchmark;
using example::Options;
using example::Program;

using Floats = hs::VectorView<float>;

namespace {

constexpr float alpha = 2.5F;

struct Saxpy : hs::Task<3>::Signature<float, hs::R<Floats>, hs::RW<Floats>> {
  static constexpr std::string_view name = "saxpy";
};

} // namespace

template <>
struct hetsched::TaskBodyGPU<Saxpy> {
  void operator()(hs::GpuStream& stream, float a, hs::VectorView<float const> x, Floats y) const {
    auto const n = static_cast<int>(y.size());
    stream.check(stream.driver().axpy(stream.stream(), hs_float, n, a, x.data(), 1, y.data(), 1));
  }
};

namespace {

struct Extra {
  bool quick = false;
  std::size_t blocks = 0;
  std::string on = "all";
};

/// x, y and what becomes of y.
class Vectors {
public:
  explicit Vectors(std::size_t n) : x(n), y(n), before_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i % 1001) / 1001;
      before_[i] = static_cast<float>(i % 499) / 499;
    }
  }

  void restore() { std::memcpy(y.data(), before_.data(), y.size() * sizeof(float)); }

  [[nodiscard]] std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      count += std::abs(y[i] - (alpha * x[i] + before_[i])) <= 1e-6F ? 0 : 1;
    }
    return count;
  }

  [[nodiscard]] std::size_t bytes() const { return y.size() * sizeof(float); }

  std::vector<float> x;
  std::vector<float> y;

private:
  std::vector<float> before_;
};

class Overhead {
public:
  explicit Overhead(Options const& options) : options_(options) {}

  void on_cpu(Vectors& v, std::size_t blocks) {
    auto const serial = rounds(v, [&] { loop(v); });
    auto config = options_.config();
    config.cpus = 1;
    config.devices = "none";
    auto const parallel = with_runtime(v, config, blocks, [](auto& rt, auto& xs, auto& ys) {
      hs::linalg::axpy(rt, alpha, xs, ys);
    });
    print("cpu", "", false, v.x.size(), blocks, serial, parallel);
  }

  void on_device(Vectors& v, std::size_t blocks, DeviceChoice choice) {
    if (choice.capacity == 0 && is_emulated(choice)) {
      choice.capacity = 2 * (v.bytes() + (blocks + 1) * 256) / 256 * 256;
    }
    std::string name;
    std::vector<double> serial;
    {
      RawDevice const device(choice);
      name = device.name();
      Pinned const x(device, v.x.data(), v.bytes());
      Pinned const y(device, v.y.data(), v.bytes());
      RawMemory const dx(device, v.bytes());
      RawMemory const dy(device, v.bytes());
      serial = rounds(v, [&] { serial_program(device, v, blocks, dx, dy); });
    }
    auto config = options_.config();
    config.cpus = 1;
    config.devices = list_of(choice);
    auto const parallel = with_runtime(v, config, blocks, [](auto& rt, auto& xs, auto& ys) {
      for (std::size_t k = 0; k < ys.size(); ++k) {
        rt.template spawn<Saxpy>()(alpha, xs[k], ys[k]);
      }
    });
    print("device", name, is_emulated(choice), v.x.size(), blocks, serial, parallel);
  }

  [[nodiscard]] std::string complaint() const {
    return wrong_ == 0 ? "" : std::to_string(wrong_) + " elements are wrong";
  }

private:
  static void loop(Vectors& v) {
    for (std::size_t i = 0; i < v.y.size(); ++i) {
      v.y[i] += alpha * v.x[i];
    }
  }

  static void serial_program(RawDevice const& device,
                             Vectors& v,
                             std::size_t blocks,
                             RawMemory const& dx,
                             RawMemory const& dy) {
    auto const n = v.y.size();
    auto const step = (n + blocks - 1) / blocks;
    for (std::size_t first = 0; first < n; first += step) {
      auto const size = std::min(step, n - first);
      auto const offset = first * sizeof(float);
      auto const bytes = size * sizeof(float);
      device.copy_in(dx.at(offset), &v.x[first], bytes);
      device.copy_in(dy.at(offset), &v.y[first], bytes);
      device.check(device.driver.axpy(device.stream,
                                      hs_float,
                                      static_cast<int>(size),
                                      alpha,
                                      dx.at(offset),
                                      1,
                                      dy.at(offset),
                                      1));
      device.copy_out(&v.y[first], dy.at(offset), bytes);
    }
    device.synchronize();
  }

  template <class Run>
  std::vector<double> rounds(Vectors& v, Run&& run) {
    auto seconds = time_rounds(options_.repeat, [&] { v.restore(); }, run);
    wrong_ += v.wrong();
    return seconds;
  }

  template <class Spawn>
  std::vector<double>
  with_runtime(Vectors& v, hs::Config const& config, std::size_t blocks, Spawn&& spawn) {
    hs::Runtime<> rt(config);
    auto const n = v.y.size();
    auto const cut = hs::block_rows((n + blocks - 1) / blocks);
    auto const xs = rt.partition(rt.data(v.x.data(), n), cut);
    auto const ys = rt.partition(rt.data(v.y.data(), n), cut);
    return rounds(v, [&] {
      spawn(rt, xs, ys);
      rt.sync();
    });
  }

  void print(std::string_view on,
             std::string const& device,
             bool emulated,
             std::size_t n,
             std::size_t blocks,
             std::vector<double> const& serial,
             std::vector<double> const& parallel) const {
    auto const t1 = median(parallel);
    auto const t_serial = median(serial);
    if (options_.json) {
      JsonLine()
          .add("kernel", "saxpy_overhead")
          .add("on", on)
          .add("device", device)
          .add("emulated", emulated ? 1 : 0)
          .add("n", n)
          .add("blocks", blocks)
          .add("repeat", options_.repeat)
          .add("seconds", t1)
          .add("seconds_min", *std::min_element(parallel.begin(), parallel.end()))
          .add("serial_s", t_serial)
          .add("serial_min", *std::min_element(serial.begin(), serial.end()))
          .add("ratio", t1 / t_serial)
          .print();
      return;
    }
    std::printf("%-7s %10zu %7zu %11.3f %11.3f %11.3f%s\n",
                std::string(on).c_str(),
                n,
                blocks,
                t1 * 1e3,
                t_serial * 1e3,
                t1 / t_serial,
                emulated ? "  EMULATED" : "");
    std::fflush(stdout);
  }

  Options options_;
  std::size_t wrong_ = 0;
};

/// Whether three vectors and as much again on an emulated device take less than a quarter of this
/// machine's memory.
bool fits(std::size_t n) {
  auto const memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return 5.0 * sizeof(float) * static_cast<double>(n) <= memory / 4;
}

std::string compare(Options options, Extra const& extra) {
  auto const choice = choose_device("latency=10us&bandwidth=10GB/s&kernel=10us");
  if (options.repeat == 0) {
    options.repeat = extra.quick ? 3 : 11;
  }
  auto sizes = std::vector<std::size_t>{1 << 20, 1 << 22, 1 << 24, 1 << 26};
  auto counts = std::vector<std::size_t>{1, 16, 64, 256};
  if (extra.quick) {
    sizes = {1 << 16, 1 << 20};
    counts = {4, 32};
  }
  if (options.n != 0) {
    example::check_memory("--n", options.n, 4, 1);
    sizes = {options.n};
  } else {
    std::erase_if(sizes, [](std::size_t n) { return !fits(n); });
  }
  if (extra.blocks != 0) {
    counts = {extra.blocks};
  }
  if (!options.json) {
    print_device(RawDevice(choice).name(), is_emulated(choice));
    std::printf("medians of %zu runs\n\n%-7s %10s %7s %11s %11s %11s\n",
                options.repeat,
                "on",
                "n",
                "blocks",
                "T1 ms",
                "Tserial ms",
                "T1/Tserial");
  }
  Overhead overhead(options);
  for (auto const n : sizes) {
    Vectors v(n);
    for (auto const blocks : counts) {
      if (extra.on != "device") {
        overhead.on_cpu(v, std::min(blocks, n));
      }
      if (extra.on != "cpu") {
        overhead.on_device(v, std::min(blocks, n), choice);
      }
    }
  }
  return overhead.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "saxpy_overhead",
      "Compares y := a x + y by blocks, as tasks, with a serial program: T1 / Tserial.",
      "--n: elements of a vector (0: several, up to 2^26, as far as memory allows). One worker, "
      "or\n"
      "one device: the first of HETSCHED_DEVICES, else the first GPU, else an emulated one with\n"
      "10 GB/s. Tserial on a device: block after block in one stream, with transfers, without\n"
      "allocations. --scheduler and --cpus are without effect: Runtime<> with one worker.\n"
      "JSON keys: kernel, on (cpu or device), device, emulated (0 or 1), n, blocks, repeat, "
      "seconds,\nseconds_min, serial_s, serial_min, ratio."};
  program.add_options = [&](CLI::App& app) {
    example::add_flag(app, "--quick", extra.quick, "small sizes, few runs: some seconds");
    example::add_number(
        app, "--blocks", 0, 1'000'000, extra.blocks, "in which vectors are cut; 0: several");
    example::add_choice(app, "--on", {"cpu", "device", "all"}, extra.on, "what to measure");
  };
  program.defaults.n = 0;
  program.defaults.repeat = 0;
  program.parts = "";
  program.largest_n = 2'000'000'000;
  return example::run_program(
      argc, argv, program, [&](Options const& options) { return compare(options, extra); });
}
