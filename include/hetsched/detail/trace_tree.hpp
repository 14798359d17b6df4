// SPDX-License-Identifier: MIT
#pragma once
// What is small in a trace file: workers, memory nodes and task types.

#include <hetsched/detail/json_file.hpp>
#include <hetsched/detail/trace_columns.hpp>
#include <hetsched/error.hpp>
#include <hetsched/time.hpp>
#include <hetsched/trace.hpp>
#include <hetsched/types.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Keeps these lists as a tree until all of the file is read: they point at each other, and may
/// come in any order.
class TraceTree {
public:
  using Json = nlohmann::json;

  explicit TraceTree(std::string const& file) : file_(file) {}

  /// The list of that name; it is open then.
  void begin(std::string const& name) {
    name_ = name;
    open_.push_back(&(root_[name] = Json::array()));
  }

  /// An object or an array in what was opened last.
  void open(Json value) {
    if (open_.size() == 3) {
      refuse("is nested too deep");
    }
    open_.push_back(&add(std::move(value)));
  }

  /// What was opened last. Whether that was the list.
  [[nodiscard]] bool close() {
    open_.pop_back();
    return open_.empty();
  }

  /// Of the value that comes, in an object. Whether that has it not already.
  [[nodiscard]] bool key(std::string const& name) {
    key_ = name;
    return !open_.back()->contains(name);
  }

  /// A value in what was opened last.
  template <class Value>
  Json& add(Value&& value) {
    auto& parent = *open_.back();
    if (parent.is_object()) {
      return parent[key_] = std::forward<Value>(value);
    }
    if (open_.size() == 1 && parent.size() == most_entries) {
      refuse("has more than 1000000 entries");
    }
    parent.push_back(std::forward<Value>(value));
    return parent.back();
  }

  /// All lists, each of which must have come.
  void read(Trace& trace) const {
    JsonValue const root(root_, file_, "");
    for (auto const& its : root["nodes"].elements()) {
      its.only({"name", "bytes"});
      trace.nodes.push_back({its["name"].any_text(), its["bytes"].integer(0, most_bytes)});
    }
    for (auto const& its : root["workers"].elements()) {
      read_worker(its, trace);
    }
    for (auto const& its : root["types"].elements()) {
      read_type(its, trace);
    }
  }

private:
  static constexpr std::size_t most_entries = 1'000'000;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60U;

  static void read_worker(JsonValue const& its, Trace& trace) {
    its.only({"name", "arch", "node", "cores"});
    if (trace.nodes.empty()) {
      its.refuse("has a node, and there is none");
    }
    auto& worker = trace.workers.emplace_back();
    worker.name = its["name"].any_text();
    worker.arch.index = static_cast<std::uint8_t>(its["arch"].integer(0, max_archs - 1));
    worker.node.value = static_cast<std::int32_t>(its["node"].integer(0, trace.nodes.size() - 1));
    worker.cores = static_cast<int>(its["cores"].integer(1, 1'000'000));
  }

  static void read_type(JsonValue const& its, Trace& trace) {
    its.only({"name", "expected_ns"});
    auto& type = trace.types.emplace_back();
    type.name = its["name"].any_text();
    if (auto const expected = its.find("expected_ns")) {
      auto const times = expected->elements();
      if (times.size() > type.expected.size()) {
        expected->refuse("has more than 8 entries");
      }
      for (std::size_t k = 0; k < times.size(); ++k) {
        if (!times[k].is_null()) {
          type.expected[k] = Duration{times[k].signed_integer(0, trace_year)};
        }
      }
    }
  }

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, file_, "/" + name_ + ": " + why);
  }

  std::string const& file_;
  Json root_ = Json::object();
  std::string name_;        // of the list that is open
  std::vector<Json*> open_; // from the list on
  std::string key_;
};

} // namespace hetsched::detail
