// SPDX-License-Identifier: MIT
#pragma once
// Bytes that cross between host and devices, for tasks that are divided among classes of workers.

#include <hetsched/detail/bounds/bound_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// If one of a version's tasks runs on a device and another one on the host, the version crosses at
/// least once. So a crossing is as large as the sum over all versions of the bytes times the
/// difference between what two of the tasks do on devices: the producer, and a reader.
class BoundCrossings {
public:
  explicit BoundCrossings(BoundModel const& model) : model_(model) {
    for (auto const& lane : model.lanes) {
      idle_ = std::max(idle_, static_cast<double>(lane.idle.ns));
    }
    for (std::size_t g = 0; g < model.devices; ++g) {
      double in = 0;
      double out = 0;
      for (auto const& lane : model.lanes) {
        in = std::max(in, lane.in[g]);
        out = std::max(out, lane.out[g]);
      }
      byte_in_ = g == 0 ? in : std::min(byte_in_, in);
      byte_out_ = g == 0 ? out : std::min(byte_out_, out);
    }
  }

  /// Adds the crossings in both directions, unless one device could make them within the makespan,
  /// or transfers move as many bytes in the program's solution. Returns whether it did.
  template <class Program>
  bool cut(DividedTasks const& tasks, double makespan, Program& program) {
    if (model_.devices == 0 || rounds_ == most_rounds) {
      return false;
    }
    double bytes_in = 0;
    double bytes_out = 0;
    auto in = crossing(tasks, true, bytes_in);
    auto out = crossing(tasks, false, bytes_out);
    if (bytes_in * byte_in_ + bytes_out * byte_out_ + idle_ <= makespan) {
      return false;
    }
    bool const more_in = bytes_in > moved(program, true) * (1 + tolerance);
    bool const more_out = bytes_out > moved(program, false) * (1 + tolerance);
    if (more_in) {
      program.add(std::move(in));
    }
    if (more_out) {
      program.add(std::move(out));
    }
    rounds_ += more_in || more_out ? 1 : 0;
    return more_in || more_out;
  }

private:
  static constexpr int most_rounds = 60;
  static constexpr double tolerance = 1e-6;

  template <class Program>
  [[nodiscard]] double moved(Program const& program, bool in) const {
    return rounds_ == 0 ? 0 : program.moved(in);
  }

  [[nodiscard]] BoundCrossing crossing(DividedTasks const& tasks, bool in, double& bytes) const {
    std::map<std::uint32_t, std::int64_t> sums;
    for (auto const& version : model_.versions) {
      auto const made = version.producer;
      auto const at_producer = made == BoundVersion::none ? 0 : tasks.on_devices[made];
      double most = 0;
      auto reader = BoundVersion::none;
      for (auto const v : version.readers) {
        auto const more = (tasks.on_devices[v] - at_producer) * (in ? 1 : -1);
        if (more > most) {
          most = more;
          reader = v;
        }
      }
      if (reader == BoundVersion::none) {
        continue;
      }
      auto const size = in ? version.bytes : -version.bytes;
      sums[reader] += size;
      if (made != BoundVersion::none) {
        sums[made] -= size;
      }
      bytes += most * static_cast<double>(version.bytes);
    }
    return {in, {sums.begin(), sums.end()}};
  }

  BoundModel const& model_;
  int rounds_ = 0;
  double idle_ = 0;     // of lanes
  double byte_in_ = 0;  // time for a byte on the fastest device
  double byte_out_ = 0; //
};

} // namespace hetsched::detail
