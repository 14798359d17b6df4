// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace hetsched::emulated {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double longest_ns = 1e9 * 3600 * 24; // a day: no sum or product overflows

constexpr std::array times{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};

constexpr std::array sizes{Unit{"", 1},
                           Unit{"B", 1},
                           Unit{"kB", 1e3},
                           Unit{"MB", 1e6},
                           Unit{"GB", 1e9},
                           Unit{"TB", 1e12},
                           Unit{"KiB", 1024.0},
                           Unit{"MiB", 1024.0 * 1024},
                           Unit{"GiB", 1024.0 * 1024 * 1024}};

constexpr std::array plain{Unit{"", 1}};

/// A finite number that is not negative, and its unit.
std::optional<double> parse_number(std::string_view text, std::span<Unit const> units) {
  double value = 0;
  auto const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) {
    return std::nullopt;
  }
  std::string_view const name(rest, static_cast<std::size_t>(end - rest));
  for (auto const& unit : units) {
    if (unit.name == name) {
      return value * unit.factor;
    }
  }
  return std::nullopt;
}

bool parse_time(std::string_view text, std::chrono::nanoseconds& time) {
  auto const value = parse_number(text, times);
  if (!value || *value > longest_ns) {
    return false;
  }
  time = std::chrono::nanoseconds(std::llround(*value));
  return true;
}

bool parse_bandwidth(std::string_view text, double& bytes_per_second) {
  if (text.ends_with("/s")) {
    text.remove_suffix(2);
  }
  auto const value = parse_number(text, sizes);
  bytes_per_second = value.value_or(0);
  return bytes_per_second >= 1;
}

bool parse_factor(std::string_view text, double& factor) {
  factor = parse_number(text, plain).value_or(0);
  return factor >= 1 && factor <= 1e4;
}

/// OP@N.
bool parse_fault(std::string_view text, bool loses_device, std::vector<Fault>& faults) {
  auto const at = text.find('@');
  if (at == std::string_view::npos) {
    return false;
  }
  auto const number = text.substr(at + 1);
  Fault fault{.loses_device = loses_device};
  auto const [rest, error] =
      std::from_chars(number.data(), number.data() + number.size(), fault.call);
  if (error != std::errc{} || rest != number.data() + number.size() || fault.call == 0) {
    return false;
  }
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (kind_names[i] == text.substr(0, at)) {
      fault.kind = static_cast<Kind>(i);
      faults.push_back(fault);
      return true;
    }
  }
  return false;
}

/// Returns what is wrong with the option's value, or "".
std::string_view parse_option(std::string_view key, std::string_view value, Options& options) {
  if (key == "bandwidth") {
    return parse_bandwidth(value, options.bytes_per_second) ? "" : "is no bandwidth like 10GB/s";
  }
  if (key == "latency" || key == "kernel") {
    auto& time = key == "latency" ? options.latency : options.kernel;
    return parse_time(value, time) ? "" : "is no time like 20us, a day at most";
  }
  if (key == "slow") {
    return parse_factor(value, options.slow) ? "" : "is no factor from 1 to 10000";
  }
  if (key == "fail" || key == "lost") {
    return parse_fault(value, key == "lost", options.faults)
               ? ""
               : "is not like copy@3; what can fail: allocate, copy, kernel, event, stream, pin";
  }
  return "is none of bandwidth, latency, kernel, slow, fail, lost";
}

} // namespace

std::string parse_options(std::string_view text, Options& options) {
  while (!text.empty()) {
    auto const end = text.find('&');
    auto const option = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    auto const equals = option.find('=');
    auto const value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
    auto const wrong = parse_option(option.substr(0, equals), value, options);
    if (!wrong.empty()) {
      return std::string("option '").append(option).append("' ").append(wrong);
    }
  }
  return "";
}

std::chrono::nanoseconds copy_time(Options const& options, std::size_t bytes, bool far) {
  auto time = options.latency;
  if (far && options.bytes_per_second > 0) {
    auto const ns = std::ceil(1e9 * static_cast<double>(bytes) / options.bytes_per_second);
    time += std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(ns, longest_ns)));
  }
  return time;
}

} // namespace hetsched::emulated
