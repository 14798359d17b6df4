// SPDX-License-Identifier: MIT
#pragma once
// The small lists in a trace file: workers, memory nodes and task types.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/detail/trace/formats/trace_columns.hpp>
#include <hetsched/trace/trace.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Keeps these lists as a tree until all of the file is read: they point at each other, and may
/// come in any order.
class TraceTree {
public:
  using Json = nlohmann::json;

  explicit TraceTree(std::string const& file) : file_(file) {}

  /// Opens the list of that name.
  void begin(std::string const& name) {
    name_ = name;
    open_.push_back(&(root_[name] = Json::array()));
  }

  /// Opens an object or an array inside the one that was opened last.
  void open(Json value) {
    if (open_.size() == 3) {
      refuse("is nested too deep");
    }
    open_.push_back(&add(std::move(value)));
  }

  /// Closes the one that was opened last. Returns whether that was the list.
  [[nodiscard]] bool close() {
    open_.pop_back();
    return open_.empty();
  }

  /// The key of the next value in an object. Returns whether the key is new.
  [[nodiscard]] bool key(std::string const& name) {
    key_ = name;
    return !open_.back()->contains(name);
  }

  /// Adds a value to the one that was opened last.
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

  /// Reads all lists into the trace. Each must have come.
  void read(Trace& trace) const {
    JsonValue const root(root_, file_, "");
    auto const nodes = root["nodes"].elements().size();
    for (auto const& list : TraceTable<>::lists()) {
      for (auto const& entry : root[list.name].elements()) {
        read_entry(list, entry, nodes, trace);
      }
    }
  }

private:
  static constexpr std::size_t most_entries = 1'000'000;

  static void
  read_entry(TraceList const& list, JsonValue const& entry, std::size_t nodes, Trace& trace) {
    std::vector<std::string_view> names{"name"};
    for (auto const& column : list.columns) {
      names.emplace_back(column.name);
    }
    if (list.has_expected) {
      names.emplace_back("expected_ns");
    }
    entry.only(names);
    auto const row = list.size(trace);
    list.grow(trace);
    list.set_label(trace, row, entry["name"].any_text());
    for (auto const& column : list.columns) {
      auto high = column.high;
      if (column.holds == TraceColumn::Holds::node) {
        if (nodes == 0) {
          entry.refuse("has a node, and there is none");
        }
        high = static_cast<std::int64_t>(nodes) - 1;
      }
      column.set(trace, row, entry[column.name].signed_integer(column.low, high));
    }
    if (list.has_expected) {
      read_expected(entry, trace.types[row]);
    }
  }

  static void read_expected(JsonValue const& entry, Trace::Type& type) {
    if (auto const expected = entry.find("expected_ns")) {
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
