// SPDX-License-Identifier: MIT
#pragma once
// How an emulated device behaves: how slow it is, and which calls fail.
//
// `key=value`, joined by '&':
//   bandwidth=10GB/s  copies with the host or another device take at least bytes / bandwidth; also
//                     kB, MB, KiB, MiB, GiB, or a plain number of bytes per second
//   latency=20us      added to each copy; ns, us, ms, s
//   kernel=1ms        each call of BLAS, LAPACK or `run` takes at least that long
//   slow=2.5          copies, fills, kernels take so many times as long, the above included
//   fail=copy@3       the third copy given to the device fails; may be there several times
//   lost=kernel@5     with its fifth kernel the device is lost
//
// What fail and lost can count, each per device and from 1:
//   allocate  allocate; it answers hs_no_memory
//   copy      copy, when the stream comes to it
//   kernel    BLAS, LAPACK, run; when the stream comes to it
//   event     event_create and event_record
//   stream    stream_create and stream_wait
//   pin       pin and allocate_pinned

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::emulated {

enum class Kind { allocate, copy, kernel, event, stream, pin };

/// The names in options, in the order of Kind.
inline constexpr std::array<std::string_view, 6> kind_names{
    "allocate", "copy", "kernel", "event", "stream", "pin"};

struct Fault {
  Kind kind = Kind::allocate;
  std::uint64_t call = 1;
  bool loses_device = false;
};

struct Options {
  double bytes_per_second = 0; // 0: no limit
  std::chrono::nanoseconds latency{0};
  std::chrono::nanoseconds kernel{0};
  double slow = 1;
  std::vector<Fault> faults;
};

/// Returns what is wrong with the text, with the option's name. Returns "" if nothing is wrong.
[[nodiscard]] std::string parse_options(std::string_view text, Options& options);

/// The shortest time of a copy. `far`: the other side is the host or another device.
[[nodiscard]] std::chrono::nanoseconds
copy_time(Options const& options, std::size_t bytes, bool far);

} // namespace hetsched::emulated
