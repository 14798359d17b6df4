// SPDX-License-Identifier: MIT
#pragma once
// Reads descriptions of machines; docs/platforms.md has the format. Needs nlohmann-json.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/platform/platform.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// Makes a Platform from a file's JSON value.
class PlatformReader {
public:
  explicit PlatformReader(JsonValue const& root) : root_(root) {}

  [[nodiscard]] Platform read() {
    root_.only({"format",
                "name",
                "description",
                "sources",
                "notes",
                "published_ratios",
                "suites",
                "cpu_model",
                "cpu_cores",
                "cpu_workers",
                "gpu_model",
                "gpu_workers",
                "gpu_memory_bytes",
                "memory_nodes",
                "bandwidth_bytes_per_s",
                "latency_s",
                "topology",
                "kernels"});
    if (root_["format"].text() != "platform-1") {
      root_["format"].refuse("is not \"platform-1\"");
    }
    platform_.name = root_["name"].text();
    if (auto const description = root_.find("description")) {
      platform_.description = description->text();
    }
    read_workers();
    read_nodes();
    read_routes();
    if (auto const topology = root_.find("topology")) {
      read_topology(*topology);
    }
    for (auto const& kernel : root_["kernels"].elements()) {
      read_kernel(kernel);
    }
    if (platform_.kernels.empty()) {
      root_["kernels"].refuse("is empty");
    }
    return std::move(platform_);
  }

private:
  static constexpr std::uint64_t most_workers = 100'000;
  static constexpr std::uint64_t most_gpus = 1'000; // the number of routes is quadratic in it
  static constexpr double fastest = 1e15;           // bytes or operations per second

  [[nodiscard]] static std::string text_or_empty(std::optional<JsonValue> const& value) {
    return value ? value->text() : std::string();
  }

  void read_workers() {
    auto const cores = root_["cpu_cores"].integer(1, most_workers);
    auto const cpus = root_["cpu_workers"].integer(0, cores);
    auto const gpus = root_["gpu_workers"].integer(0, most_gpus);
    if (cpus + gpus == 0) {
      root_["cpu_workers"].refuse("is 0, and there are no GPUs");
    }
    platform_.cores = static_cast<int>(cores);
    platform_.classes = {
        {"cpu", ArchHost, static_cast<int>(cpus), text_or_empty(root_.find("cpu_model"))},
        {"cuda", ArchCUDA, static_cast<int>(gpus), text_or_empty(root_.find("gpu_model"))}};
  }

  void read_nodes() {
    auto const gpus = static_cast<std::size_t>(platform_.classes[1].workers);
    auto const names = root_["memory_nodes"].elements(gpus + 1);
    std::size_t capacity = 0;
    if (gpus != 0) {
      capacity = root_["gpu_memory_bytes"].integer(1, std::uint64_t{1} << 50U);
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      platform_.nodes.push_back({names[k].text(), k == 0 ? 0 : capacity});
      if (!node_numbers_.emplace(names[k].text(), k).second) {
        names[k].refuse("is the name of an earlier node");
      }
    }
  }

  void read_routes() {
    auto const count = platform_.nodes.size();
    auto const bandwidths = root_["bandwidth_bytes_per_s"].elements(count);
    auto const latencies = root_["latency_s"].elements(count);
    for (std::size_t from = 0; from < count; ++from) {
      auto const bandwidth = bandwidths[from].elements(count);
      auto const latency = latencies[from].elements(count);
      for (std::size_t to = 0; to < count; ++to) {
        Platform::Route route;
        if (from != to) {
          route.bytes_per_s = bandwidth[to].number(1, fastest);
          route.latency = latency[to].seconds(0);
        } else if (!bandwidth[to].is_null()) {
          bandwidth[to].refuse("is not null, but within one node nothing is moved");
        }
        platform_.routes.push_back(std::move(route));
      }
    }
  }

  void read_topology(JsonValue const& topology) {
    topology.only({"links", "routes"});
    for (auto const& link : topology["links"].elements()) {
      auto const parts = link.elements(2);
      platform_.links.push_back({parts[0].text(), parts[1].number(1, fastest)});
    }
    topology["routes"].each_member([&](std::string const& ends, JsonValue const& links) {
      auto const arrow = ends.find('>');
      auto const from = node_named(ends.substr(0, arrow));
      auto const to = arrow == std::string::npos ? from : node_named(ends.substr(arrow + 1));
      if (from == platform_.nodes.size() || to == platform_.nodes.size() || from == to) {
        links.refuse("is not between two nodes, as in 'ram>gpu0'");
      }
      auto& route = platform_.routes[from * platform_.nodes.size() + to];
      for (auto const& number : links.elements()) {
        if (platform_.links.empty()) {
          number.refuse("there are no links");
        }
        route.links.push_back(number.integer(0, platform_.links.size() - 1));
      }
    });
  }

  /// Its number, or how many there are if there is no such node.
  [[nodiscard]] std::size_t node_named(std::string const& name) const {
    auto const found = node_numbers_.find(name);
    return found != node_numbers_.end() ? found->second : platform_.nodes.size();
  }

  void read_kernel(JsonValue const& value) {
    value.only({"kernel",
                "precision",
                "tile",
                "library",
                "codelet",
                "algorithms",
                "data_bytes",
                "flops",
                "measured",
                "noisy",
                "note",
                "cpu",
                "cuda",
                "cuda_devices",
                "cpu_groups",
                "table"});
    Platform::Kernel kernel;
    kernel.name = value["kernel"].text();
    auto const precision = value["precision"].text();
    if (precision != "single" && precision != "double") {
      value["precision"].refuse("is neither \"single\" nor \"double\"");
    }
    kernel.precision =
        precision == "single" ? Precision::single_precision : Precision::double_precision;
    kernel.tile = value["tile"].integer(1, 1'000'000);
    kernel.library = value["library"].text();
    for (auto const& algorithm : value["algorithms"].elements()) {
      kernel.algorithms.push_back(algorithm.text());
    }
    kernel.data_bytes = value["data_bytes"].integer(0, std::uint64_t{1} << 50U);
    if (auto const flops = value.find("flops")) {
      kernel.flops = flops->number(0, 1e24);
    }
    if (auto const measured = value.find("measured")) {
      kernel.measured = measured->truth();
    }
    kernel.times = {read_time(value, "cpu"), read_time(value, "cuda")};
    if (!kernel.times[0] && !kernel.times[1]) {
      value.refuse("has a time on no class of worker");
    }
    if (auto const groups = value.find("cpu_groups")) {
      groups->each_member([&](std::string const& cores, JsonValue const& time) {
        read_group(kernel, cores, time);
      });
      std::sort(kernel.on_groups.begin(), kernel.on_groups.end());
    }
    platform_.kernels.push_back(std::move(kernel));
    check_uses(value);
  }

  /// Of the newest kernel. A file that names an algorithm twice means no more by it.
  void check_uses(JsonValue const& value) {
    auto const newest = platform_.kernels.size() - 1;
    auto const& algorithms = platform_.kernels[newest].algorithms;
    for (std::size_t k = 0; k < algorithms.size(); ++k) {
      auto const [place, fresh] = uses_.insert({newest, k});
      if (!fresh && place->kernel != newest) {
        value.refuse("is there already, for algorithm '" + algorithms[k] + "'");
      }
    }
  }

  void read_group(Platform::Kernel& kernel, std::string const& cores, JsonValue const& time) const {
    auto const digits = cores.find_first_not_of("0123456789") == std::string::npos;
    auto const count = digits && !cores.empty() && cores.size() < 7 ? std::stoi(cores) : 0;
    if (count < 1 || count > platform_.cores) {
      time.refuse("is not the time on a number of cores that the machine has");
    }
    kernel.on_groups.emplace_back(count, time.seconds(1e-9));
  }

  [[nodiscard]] std::optional<Platform::KernelTime> read_time(JsonValue const& kernel,
                                                              char const* key) const {
    auto const value = kernel.find(key);
    if (!value) {
      return std::nullopt;
    }
    value->only({"mean_s", "std_s", "n"});
    Platform::KernelTime time;
    time.mean = (*value)["mean_s"].seconds(1e-9);
    if (auto const spread = value->find("std_s")) {
      time.spread = spread->seconds(0);
    }
    if (auto const samples = value->find("n")) {
      time.samples = samples->integer(0, std::uint64_t{1} << 60U);
    }
    return time;
  }

  /// A kernel in one of its algorithms, by their numbers.
  struct Use {
    std::size_t kernel;
    std::size_t algorithm;
  };

  struct UseOrder {
    std::vector<Platform::Kernel> const* kernels;

    bool operator()(Use a, Use b) const {
      auto const& first = (*kernels)[a.kernel];
      auto const& second = (*kernels)[b.kernel];
      return std::tie(first.algorithms[a.algorithm],
                      first.tile,
                      first.precision,
                      first.name,
                      first.library) < std::tie(second.algorithms[b.algorithm],
                                                second.tile,
                                                second.precision,
                                                second.name,
                                                second.library);
    }
  };

  JsonValue root_;
  Platform platform_;
  std::map<std::string, std::size_t> node_numbers_;
  std::set<Use, UseOrder> uses_{UseOrder{&platform_.kernels}};
};

} // namespace detail

/// The machine that `text` describes, in the format of docs/platforms.md. `file` is the name that
/// errors use. Throws Error(bad_input): "FILE: /kernels/3/cpu/mean_s: is -1, not from 1e-09 to
/// ...".
[[nodiscard]] inline Platform parse_platform(std::string const& text, std::string const& file) {
  auto const json = detail::parse_json(text, file);
  return detail::PlatformReader(detail::JsonValue(json, file, "")).read();
}

/// The machine that a file describes.
[[nodiscard]] inline Platform read_platform(std::string const& path) {
  return parse_platform(detail::read_text_file(path), path);
}

} // namespace hetsched
