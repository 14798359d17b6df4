// SPDX-License-Identifier: MIT
#pragma once
// Reads descriptions of networks; docs/clusters.md has the format. Needs nlohmann-json.

#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/platform/network.hpp>

#include <string>

namespace hetsched {

/// The network that `text` describes, in the format of docs/clusters.md. `file` is the name that
/// errors use. Throws Error(bad_input): "FILE: /latency_s: is -1, not from 0 to ...".
[[nodiscard]] inline Network parse_network(std::string const& text, std::string const& file) {
  constexpr double fastest = 1e15; // bytes per second
  auto const json = detail::parse_json(text, file);
  detail::JsonValue const root(json, file, "");
  root.only({"format",
             "name",
             "description",
             "sources",
             "notes",
             "out_bytes_per_s",
             "in_bytes_per_s",
             "latency_s",
             "sharing",
             "latency_bytes",
             "leaf_nodes",
             "leaf_bytes_per_s"});
  if (root["format"].text() != "network-1") {
    root["format"].refuse("is not \"network-1\"");
  }
  Network network;
  network.name = root["name"].text();
  network.out_bytes_per_s = root["out_bytes_per_s"].number(1, fastest);
  auto const in = root.find("in_bytes_per_s");
  network.in_bytes_per_s = in ? in->number(1, fastest) : network.out_bytes_per_s;
  network.latency = root["latency_s"].seconds(0);
  if (auto const sharing = root.find("sharing")) {
    auto const kind = sharing->text();
    if (kind == "fair") {
      network.sharing = Network::Sharing::fair;
    } else if (kind == "none") {
      network.sharing = Network::Sharing::none;
    } else if (kind != "in order") {
      sharing->refuse("is not \"in order\", \"fair\" or \"none\"");
    }
  }
  if (auto const bytes = root.find("latency_bytes")) {
    network.latency_bytes = static_cast<std::size_t>(bytes->integer(0, 1'000'000'000'000));
  }
  if (auto const nodes = root.find("leaf_nodes")) {
    network.leaf_nodes = static_cast<int>(nodes->integer(1, 1'000'000));
    network.leaf_bytes_per_s = root["leaf_bytes_per_s"].number(1, fastest);
  } else if (auto const link = root.find("leaf_bytes_per_s")) {
    link->refuse("without leaf_nodes");
  }
  return network;
}

/// The network that a file describes.
[[nodiscard]] inline Network read_network(std::string const& path) {
  return parse_network(detail::read_text_file(path), path);
}

} // namespace hetsched
