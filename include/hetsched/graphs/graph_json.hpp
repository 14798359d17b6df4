// SPDX-License-Identifier: MIT
#pragma once
// Task graphs in files; docs/platforms.md has the format. Needs nlohmann-json.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/detail/graphs/edge_limit.hpp>
#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// The access modes of data, which are all but `value`.
inline constexpr std::array data_modes{AccessMode::read,
                                       AccessMode::write,
                                       AccessMode::read_write,
                                       AccessMode::reduce,
                                       AccessMode::commute};

/// Makes a graph from a file's JSON value.
class GraphReader {
public:
  explicit GraphReader(JsonValue const& root) : root_(root) {}

  [[nodiscard]] NamedGraph read() {
    root_.only({"format", "description", "data", "tasks"});
    if (root_["format"].text() != "graph-1") {
      root_["format"].refuse("is not \"graph-1\"");
    }
    if (auto const data = root_.find("data")) {
      for (auto const& bytes : data->elements()) {
        bytes_.push_back(bytes.integer(0, std::uint64_t{1} << 50U));
      }
    }
    declared_ = bytes_.size();
    for (auto const& task : root_["tasks"].elements()) {
      read_task(task);
    }
    result_.graph = TaskGraph(std::move(nodes_), std::move(bytes_));
    return std::move(result_);
  }

private:
  void read_task(JsonValue const& value) {
    value.only({"type", "label", "priority", "accesses", "after"});
    TaskGraph::Node node;
    node.type = result_.name(value["type"].text());
    node.archs = ArchMask{0xff};
    if (auto const label = value.find("label")) {
      node.label = label->text();
    }
    if (auto const priority = value.find("priority")) {
      node.priority = static_cast<std::int32_t>(priority->signed_integer(INT32_MIN, INT32_MAX));
    }
    nodes_.push_back(std::move(node));
    results_.push_back(none);
    if (auto const accesses = value.find("accesses")) {
      for (auto const& access : accesses->elements()) {
        read_access(access);
      }
    }
    if (auto const after = value.find("after")) {
      for (auto const& task : after->elements()) {
        read_edge(task);
      }
    }
  }

  void read_access(JsonValue const& value) {
    auto const parts = value.elements();
    if (parts.size() != 2 && parts.size() != 3) {
      value.refuse("is not [datum, mode] or [datum, \"CW\", operator]");
    }
    if (declared_ == 0) {
      value.refuse("names a datum, and there are none");
    }
    GraphAccess access;
    access.data = static_cast<std::uint32_t>(parts[0].integer(0, declared_ - 1));
    auto const mode = parts[1].text();
    auto const known =
        std::find_if(data_modes.begin(), data_modes.end(), [&](AccessMode candidate) {
          return to_string(candidate) == mode;
        });
    if (known == data_modes.end()) {
      parts[1].refuse("is none of R, W, RW, CW, Commute");
    }
    access.mode = *known;
    if ((access.mode == AccessMode::reduce) != (parts.size() == 3)) {
      value.refuse("CW, and nothing else, needs the name of its operator");
    }
    if (parts.size() == 3) {
      access.reduction = result_.name(parts[2].text()).data();
    }
    if (!use(access.data)) {
      value.refuse("names a datum that this task has already");
    }
    if (!edges_.take(access)) {
      root_.refuse(EdgeLimit::exceeded);
    }
    nodes_.back().accesses.push_back(access);
  }

  /// The newest task uses the datum. False if it already did.
  [[nodiscard]] bool use(std::uint32_t datum) {
    users_.resize(bytes_.size(), 0);
    return std::exchange(users_[datum], nodes_.size()) != nodes_.size();
  }

  /// An edge from an earlier task, by a datum of no bytes that only later tasks read.
  void read_edge(JsonValue const& value) {
    auto const self = nodes_.size() - 1;
    if (self == 0) {
      value.refuse("the first task comes after no other");
    }
    auto const before = value.integer(0, self - 1);
    if (results_[before] == none) {
      results_[before] = static_cast<std::uint32_t>(bytes_.size());
      bytes_.push_back(0);
      nodes_[before].accesses.push_back({results_[before], AccessMode::write, nullptr});
    }
    if (!use(results_[before])) {
      value.refuse("is there already");
    }
    nodes_[self].accesses.push_back({results_[before], AccessMode::read, nullptr});
  }

  static constexpr auto none = static_cast<std::uint32_t>(-1);

  JsonValue root_;
  NamedGraph result_;
  std::vector<TaskGraph::Node> nodes_;
  std::vector<std::uint32_t> results_; // of each task: the datum for the tasks that come after it
  std::vector<std::size_t> bytes_;
  std::size_t declared_ = 0;       // number of data that the file declares
  std::vector<std::size_t> users_; // of each datum: the newest task, by number from 1
  EdgeLimit edges_;                // those of data that the file declares; others are in the file
};

} // namespace detail

/// The graph that `text` describes. `file` is the name that errors use. Throws Error(bad_input).
[[nodiscard]] inline NamedGraph parse_graph(std::string const& text, std::string const& file) {
  auto const json = detail::parse_json(text, file);
  return detail::GraphReader(detail::JsonValue(json, file, "")).read();
}

/// The graph that a file describes.
[[nodiscard]] inline NamedGraph read_graph(std::string const& path) {
  return parse_graph(detail::read_text_file(path), path);
}

/// The text that read_graph reads: types, labels, priorities and accesses of all tasks. Operators
/// of CW accesses are distinguished, not named. The classes that may run a task (Node::archs) are
/// left out.
[[nodiscard]] inline std::string graph_text(TaskGraph const& graph) {
  std::map<void const*, std::string>
      operators; // used for look-ups only, so the order of pointers has no effect
  std::string text = "{\"format\": \"graph-1\",\n\"data\": ";
  auto sizes = nlohmann::json::array();
  for (auto const bytes : graph.data_bytes()) {
    sizes.push_back(bytes);
  }
  text += sizes.dump() + ",\n\"tasks\": [";
  char const* separator = "\n";
  for (auto const& node : graph.nodes()) {
    nlohmann::ordered_json task;
    task["type"] = node.type;
    if (!node.label.empty()) {
      task["label"] = node.label;
    }
    if (node.priority != 0) {
      task["priority"] = node.priority;
    }
    auto accesses = nlohmann::ordered_json::array();
    for (auto const& access : node.accesses) {
      auto entry = nlohmann::ordered_json::array({access.data, to_string(access.mode)});
      if (access.mode == AccessMode::reduce) {
        auto const name = "op" + std::to_string(operators.size());
        entry.push_back(operators.emplace(access.reduction, name).first->second);
      }
      accesses.push_back(std::move(entry));
    }
    task["accesses"] = std::move(accesses);
    text += separator + task.dump();
    separator = ",\n";
  }
  return text + "\n]}\n";
}

} // namespace hetsched
