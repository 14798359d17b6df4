// SPDX-License-Identifier: MIT
#pragma once
// Makes a trace of a file with nlohmann-json's parser.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/detail/trace/formats/trace_check.hpp>
#include <hetsched/detail/trace/formats/trace_columns.hpp>
#include <hetsched/detail/trace/formats/trace_tree.hpp>
#include <hetsched/trace/trace.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// nlohmann-json's parser calls it for each value, and it makes a trace of them. A tree of all
/// values would be many times as large as the trace.
class TraceReader {
public:
  using Json = nlohmann::json;

  explicit TraceReader(std::string const& file) : file_(file), tree_(file) {}

  /// To be called after the parser's last call. Every number in the result is a valid place.
  [[nodiscard]] Trace finish() {
    for (auto const* const name : {"format", "workers", "nodes", "types", "labels", "tasks"}) {
      if (std::find(members_.begin(), members_.end(), name) == members_.end()) {
        refuse("/", "'" + std::string(name) + "' is missing");
      }
    }
    tree_.read(trace_);
    TraceCheck(trace_, file_).run();
    return std::move(trace_);
  }

  // Called by the parser.

  bool null() {
    if (in_ == In::tree) {
      tree_.add(nullptr);
      return true;
    }
    refuse_kind();
  }

  bool boolean(bool value) {
    if (in_ == In::tree) {
      tree_.add(value);
    } else if (in_ == In::column && column_->holds == TraceColumn::Holds::truth) {
      set(value ? 1 : 0);
    } else if (in_ == In::top && key_ == "simulated") {
      trace_.simulated = value;
    } else {
      refuse_kind();
    }
    return true;
  }

  bool number_integer(std::int64_t value) {
    if (in_ == In::tree) {
      tree_.add(value);
    } else if (in_ == In::column && column_->holds != TraceColumn::Holds::mode) {
      set(value);
    } else if (in_ == In::bounds) {
      trace_.bounds.emplace_back(key_, Duration{within(value, 0, trace_year)});
    } else if (in_ == In::top && key_ == "dropped") {
      trace_.dropped = static_cast<std::uint64_t>(within(value, 0, INT64_MAX));
    } else {
      refuse_kind();
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) {
    if (in_ == In::tree) {
      tree_.add(value);
      return true;
    }
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      refuse(where(), "is " + std::to_string(value) + ", which is too large");
    }
    return number_integer(static_cast<std::int64_t>(value));
  }

  bool number_float(double value, std::string const& /*text*/) {
    if (in_ == In::tree) {
      tree_.add(value);
      return true;
    }
    refuse_kind();
  }

  bool string(std::string& value) {
    if (in_ == In::tree) {
      tree_.add(std::move(value));
    } else if (in_ == In::labels) {
      trace_.labels.push_back(value);
    } else if (in_ == In::column && column_->holds == TraceColumn::Holds::mode) {
      set(mode_of(value));
    } else if (in_ == In::about) {
      trace_.about.emplace_back(key_, value);
    } else if (in_ == In::top && key_ == "format") {
      if (value != "trace-4" && value != "trace-3" && value != "trace-2" && value != "trace-1") {
        refuse(where(), "is \"" + JsonValue::printable(value) + "\", not \"trace-4\"");
      }
    } else if (in_ == In::top && key_ == "scheduler") {
      trace_.scheduler = value;
    } else {
      refuse_kind();
    }
    return true;
  }

  bool binary(Json::binary_t const& /*value*/) { refuse_kind(); }

  bool start_object(std::size_t /*size*/) {
    switch (in_) {
    case In::nothing:
      in_ = In::top;
      return true;
    case In::tree:
      tree_.open(Json::object());
      return true;
    case In::top:
      group_ = key_ == "data_bytes" ? nullptr : find_trace_group(key_);
      if (group_ == nullptr && key_ != "about" && key_ != "bounds_ns") {
        refuse_kind();
      }
      in_ = key_ == "about" ? In::about : key_ == "bounds_ns" ? In::bounds : In::group;
      columns_seen_.clear();
      return true;
    default:
      refuse_kind();
    }
  }

  bool end_object() {
    if (in_ == In::tree) {
      in_ = tree_.close() ? In::top : In::tree;
    } else if (in_ == In::group) {
      for (auto const& column : group_->columns) {
        if (!contains(columns_seen_, column.name)) {
          refuse(std::string("/") + group_->name, std::string("'") + column.name + "' is missing");
        }
      }
      in_ = In::top;
    } else {
      in_ = in_ == In::top ? In::nothing : In::top;
    }
    return true;
  }

  bool start_array(std::size_t /*size*/) {
    if (in_ == In::tree) {
      tree_.open(Json::array());
    } else if (in_ == In::group) {
      begin_column(*std::find_if(group_->columns.begin(), group_->columns.end(), [&](auto& column) {
        return column.name == key_;
      }));
    } else if (in_ == In::top && key_ == "data_bytes") {
      group_ = find_trace_group(key_);
      columns_seen_.clear();
      begin_column(group_->columns.front());
    } else if (in_ == In::top && key_ == "labels") {
      trace_.labels.clear();
      in_ = In::labels;
    } else if (in_ == In::top && is_tree(key_)) {
      in_ = In::tree;
      tree_.begin(key_);
    } else {
      refuse_kind();
    }
    return true;
  }

  bool end_array() {
    if (in_ == In::tree) {
      in_ = tree_.close() ? In::top : In::tree;
    } else if (in_ == In::column) {
      auto const size = group_->size(trace_);
      if (row_ != size) {
        refuse_length(row_, size);
      }
      columns_seen_.emplace_back(column_->name);
      in_ = *column_->name == '\0' ? In::top : In::group;
    } else {
      in_ = In::top;
    }
    return true;
  }

  bool key(std::string& name) {
    if (in_ == In::tree) {
      if (!tree_.key(name)) {
        refuse_twice(name);
      }
      return true;
    }
    if (in_ == In::group) {
      auto const known = std::any_of(group_->columns.begin(),
                                     group_->columns.end(),
                                     [&](auto const& column) { return column.name == name; });
      if (!known) {
        refuse(std::string("/") + group_->name,
               "'" + JsonValue::printable(name) + "' is not known here");
      }
      if (contains(columns_seen_, name)) {
        refuse_twice(name);
      }
    } else if (in_ == In::top) {
      check_member(name);
      members_.push_back(name);
    } else {
      in_ == In::about ? check_fact(trace_.about, name) : check_fact(trace_.bounds, name);
    }
    key_ = std::move(name);
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t /*position*/, std::string const& /*read*/, Exception const& error) {
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.size(), why.find("] ") + 2)); // the library's number for it
    refuse("", "is no JSON, or not all of it: " + JsonValue::printable(std::string(why), 300));
  }

private:
  static constexpr std::size_t most_facts = 1000;

  enum class In : std::uint8_t { nothing, top, about, bounds, labels, group, column, tree };

  template <class Names, class Name>
  [[nodiscard]] static bool contains(Names const& names, Name const& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  [[nodiscard]] static bool is_tree(std::string_view name) {
    auto const lists = TraceTable<>::lists();
    return std::any_of(
        lists.begin(), lists.end(), [name](auto const& list) { return list.name == name; });
  }

  template <class Facts>
  void check_fact(Facts const& facts, std::string const& name) const {
    if (std::any_of(facts.begin(), facts.end(), [&](auto& fact) { return fact.first == name; })) {
      refuse_twice(name);
    }
    if (facts.size() == most_facts) {
      refuse(in_ == In::about ? "/about" : "/bounds_ns", "has more than 1000 members");
    }
  }

  void check_member(std::string const& name) const {
    bool const known = find_trace_group(name) != nullptr || is_tree(name) || name == "format" ||
                       name == "simulated" || name == "scheduler" || name == "about" ||
                       name == "bounds_ns" || name == "dropped" || name == "labels";
    if (!known) {
      auto const shown = "'" + JsonValue::printable(name) + "'";
      members_.empty() ? refuse("", "is no trace of format \"trace-4\": it begins with " + shown)
                       : refuse("/", shown + " is not known here");
    }
    if (contains(members_, name)) {
      refuse_twice(name);
    }
  }

  // Columns.

  void begin_column(TraceColumn const& column) {
    column_ = &column;
    row_ = 0;
    in_ = In::column;
  }

  void set(std::int64_t value) {
    if (value < column_->low || value > column_->high) {
      (void)within(value, column_->low, column_->high);
    }
    if (columns_seen_.empty()) {
      group_->grow(trace_);
    } else if (row_ == group_->size(trace_)) {
      refuse_length(row_ + 1, row_);
    }
    column_->set(trace_, row_, value);
    ++row_;
  }

  [[nodiscard]] std::int64_t mode_of(std::string const& text) const {
    constexpr std::array modes{AccessMode::read,
                               AccessMode::write,
                               AccessMode::read_write,
                               AccessMode::reduce,
                               AccessMode::commute};
    for (auto const mode : modes) {
      if (text == to_string(mode)) {
        return static_cast<std::int64_t>(mode);
      }
    }
    refuse_kind();
  }

  // Errors.

  [[noreturn]] void refuse(std::string const& where, std::string const& why) const {
    throw Error(ErrorCode::bad_input, file_, where + (where.empty() ? "" : ": ") + why);
  }

  [[noreturn]] void refuse_twice(std::string const& name) const {
    refuse("", "a key comes twice: '" + JsonValue::printable(name) + "'");
  }

  [[noreturn]] void refuse_length(std::size_t has, std::size_t others) const {
    refuse(std::string("/") + group_->name + "/" + column_->name,
           "has " + std::string(has > others ? "more than " : "") +
               std::to_string(std::min(has, others)) + " entries, and others have " +
               (has > others ? "no more" : std::to_string(others)));
  }

  [[nodiscard]] std::int64_t within(std::int64_t value, std::int64_t low, std::int64_t high) const {
    if (value < low || value > high) {
      refuse(where(),
             "is " + std::to_string(value) + ", not from " + std::to_string(low) + " to " +
                 std::to_string(high));
    }
    return value;
  }

  /// The place of the value that the parser reads.
  [[nodiscard]] std::string where() const {
    switch (in_) {
    case In::nothing:
      return "";
    case In::about:
      return "/about/" + JsonValue::printable(key_);
    case In::bounds:
      return "/bounds_ns/" + JsonValue::printable(key_);
    case In::labels:
      return "/labels/" + std::to_string(trace_.labels.size());
    case In::group:
      return std::string("/") + group_->name + "/" + key_;
    case In::column:
      return std::string("/") + group_->name + (*column_->name != '\0' ? "/" : "") + column_->name +
             "/" + std::to_string(row_);
    default:
      return "/" + key_;
    }
  }

  /// Refuses a value of the wrong kind.
  [[noreturn]] void refuse_kind() const {
    switch (in_) {
    case In::nothing:
      refuse("", "is no trace of format \"trace-4\": it is no JSON object");
    case In::about:
    case In::labels:
      refuse(where(), "is no string");
    case In::bounds:
      refuse(where(), "is no whole number");
    case In::group:
      refuse(where(), "is no array");
    case In::column:
      refuse(where(),
             column_->holds == TraceColumn::Holds::mode ? "is none of R, W, RW, CW, Commute"
                                                        : "is no whole number");
    default:
      refuse(where(),
             key_ == "format" || key_ == "scheduler" ? "is no string"
             : key_ == "simulated"                   ? "is neither true nor false"
             : key_ == "dropped"                     ? "is no whole number"
             : is_tree(key_) || key_ == "labels" || key_ == "data_bytes" ? "is no array"
                                                                         : "is no object");
    }
  }

  std::string const& file_;
  Trace trace_;
  In in_ = In::nothing;
  std::string key_;                   // of the next value, outside of the tree
  std::vector<std::string> members_;  // so far
  TraceGroup const* group_ = nullptr; // that the value is in
  std::vector<std::string_view> columns_seen_;
  TraceColumn const* column_ = nullptr;
  std::size_t row_ = 0;
  TraceTree tree_;
};

} // namespace hetsched::detail
