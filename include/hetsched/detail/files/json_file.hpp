// SPDX-License-Identifier: MIT
#pragma once
// JSON files whose errors name file and place. Needs nlohmann-json.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/files/text_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

class JsonElements;

/// One value of a file, with its file and its place there (a JSON pointer, RFC 6901). A function
/// whose condition does not hold throws an Error(bad_input) that names both.
class JsonValue {
public:
  using Json = nlohmann::json;

  JsonValue(Json const& value, std::string const& file, std::string where)
      : value_(&value), file_(&file), where_(std::move(where)) {}

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, *file_, (where_.empty() ? "/" : where_) + ": " + why);
  }

  [[nodiscard]] bool is_null() const noexcept { return value_->is_null(); }

  [[nodiscard]] bool is_array() const noexcept { return value_->is_array(); }

  /// The value of a key, which must be there.
  [[nodiscard]] JsonValue operator[](char const* key) const {
    auto const found = object().find(key);
    if (found == value_->end()) {
      refuse("'" + std::string(key) + "' is missing");
    }
    return {*found, *file_, where_ + "/" + key};
  }

  /// The same. Returns nothing if the key is missing or the value is null.
  [[nodiscard]] std::optional<JsonValue> find(char const* key) const {
    auto const found = object().find(key);
    if (found == value_->end() || found->is_null()) {
      return std::nullopt;
    }
    return JsonValue(*found, *file_, where_ + "/" + key);
  }

  /// Refuses keys other than these.
  template <class Keys = std::initializer_list<std::string_view>>
  void only(Keys const& keys) const {
    for (auto const& [key, value] : object().items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        refuse("'" + printable(key) + "' is not known here");
      }
    }
  }

  /// Calls `visit(key, value)` for each.
  template <class Visit>
  void each_member(Visit&& visit) const {
    for (auto const& [key, value] : object().items()) {
      visit(key, JsonValue(value, *file_, where_ + "/" + printable(key)));
    }
  }

  /// All of an array.
  [[nodiscard]] JsonElements elements() const;

  /// The same of an array of so many.
  [[nodiscard]] JsonElements elements(std::size_t count) const;

  static constexpr std::size_t longest_text = 4096;

  /// A text that is not empty and has at most longest_text bytes.
  [[nodiscard]] std::string text() const {
    if (!value_->is_string()) {
      refuse("is no string");
    }
    auto const& string = value_->get_ref<std::string const&>();
    if (string.empty() || string.size() > longest_text) {
      refuse(string.empty() ? "is empty" : "is longer than 4096 bytes");
    }
    return string;
  }

  /// A text of any length.
  [[nodiscard]] std::string any_text() const {
    if (!value_->is_string()) {
      refuse("is no string");
    }
    return value_->get<std::string>();
  }

  [[nodiscard]] bool truth() const {
    if (!value_->is_boolean()) {
      refuse("is neither true nor false");
    }
    return value_->get<bool>();
  }

  [[nodiscard]] double number(double low, double high) const {
    if (!value_->is_number()) {
      refuse("is no number");
    }
    auto const number = value_->get<double>();
    if (!(number >= low && number <= high)) {
      refuse("is " + value_->dump() + ", not from " + shown(low) + " to " + shown(high));
    }
    return number;
  }

  [[nodiscard]] std::uint64_t integer(std::uint64_t low, std::uint64_t high) const {
    if (!value_->is_number_integer()) {
      refuse("is no whole number");
    }
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < low ||
        value_->get<std::uint64_t>() > high) {
      refuse("is " + value_->dump() + ", not from " + std::to_string(low) + " to " +
             std::to_string(high));
    }
    return value_->get<std::uint64_t>();
  }

  [[nodiscard]] std::int64_t signed_integer(std::int64_t low, std::int64_t high) const {
    if (!value_->is_number_integer()) {
      refuse("is no whole number");
    }
    auto const fits = !value_->is_number_unsigned() ||
                      value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    auto const number = fits ? value_->get<std::int64_t>() : INT64_MAX;
    if (!fits || number < low || number > high) {
      refuse("is " + value_->dump() + ", not from " + std::to_string(low) + " to " +
             std::to_string(high));
    }
    return number;
  }

  /// Seconds, from `low` on, rounded to nanoseconds; a year at most.
  [[nodiscard]] Duration seconds(double low) const {
    constexpr double year = 366.0 * 24 * 3600;
    return {static_cast<std::int64_t>(std::llround(number(low, year) * 1e9))};
  }

  /// The key as a one-line message shows it.
  [[nodiscard]] static std::string printable(std::string const& key, std::size_t most = 60) {
    std::string shown;
    for (auto const c : key.substr(0, most)) {
      shown += c >= ' ' && c <= '~' ? c : '?';
    }
    return shown;
  }

private:
  friend JsonElements;

  [[nodiscard]] Json const& object() const {
    if (!value_->is_object()) {
      refuse("is no object");
    }
    return *value_;
  }

  [[nodiscard]] static std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

  Json const* value_;
  std::string const* file_;
  std::string where_;
};

/// The elements of an array. Each is made when it is asked for: a place for each would take more
/// memory than the file.
class JsonElements {
public:
  class Iterator {
  public:
    Iterator(JsonElements const& all, std::size_t at) : all_(&all), at_(at) {}

    [[nodiscard]] JsonValue operator*() const { return (*all_)[at_]; }

    Iterator& operator++() {
      ++at_;
      return *this;
    }

    [[nodiscard]] bool operator==(Iterator const& other) const { return at_ == other.at_; }

  private:
    JsonElements const* all_;
    std::size_t at_;
  };

  explicit JsonElements(JsonValue array) : array_(std::move(array)) {
    if (!array_.is_array()) {
      array_.refuse("is no array");
    }
  }

  [[nodiscard]] std::size_t size() const { return array_.value_->size(); }

  [[nodiscard]] bool empty() const { return size() == 0; }

  [[nodiscard]] JsonValue operator[](std::size_t k) const {
    return {(*array_.value_)[k], *array_.file_, array_.where_ + "/" + std::to_string(k)};
  }

  [[nodiscard]] Iterator begin() const { return {*this, 0}; }

  [[nodiscard]] Iterator end() const { return {*this, size()}; }

private:
  JsonValue array_;
};

inline JsonElements JsonValue::elements() const {
  return JsonElements(*this);
}

inline JsonElements JsonValue::elements(std::size_t count) const {
  auto all = elements();
  if (all.size() != count) {
    refuse("has " + std::to_string(all.size()) + " elements, not " + std::to_string(count));
  }
  return all;
}

/// nlohmann-json's parser calls it for each value, and it makes a tree of them, in linear time.
/// Refused is what that library would take: a key that comes twice, and any number of levels. With
/// a callback the library's own tree would take time that is quadratic in an array's length.
class JsonTree {
public:
  using Json = nlohmann::json;

  static constexpr std::size_t most_levels = 64;

  explicit JsonTree(std::string const& file) : file_(&file) {}

  [[nodiscard]] Json take() { return std::move(root_); }

  // Called by the parser.

  bool null() { return add(nullptr); }

  bool boolean(bool value) { return add(value); }

  bool number_integer(std::int64_t value) { return add(value); }

  bool number_unsigned(std::uint64_t value) { return add(value); }

  bool number_float(double value, std::string const& /*text*/) { return add(value); }

  bool string(std::string& value) { return add(std::move(value)); }

  bool binary(Json::binary_t const& /*value*/) { return false; } // is not in texts

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }

  bool start_array(std::size_t /*size*/) { return open(Json::array()); }

  bool end_object() { return close(); }

  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    auto const [place, fresh] = members.emplace(std::move(name), nullptr);
    if (!fresh) {
      refuse("a key comes twice: \"" + JsonValue::printable(place->first) + "\"");
    }
    member_ = &place->second;
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t /*position*/, std::string const& /*read*/, Exception const& error) {
    std::string const why = error.what(); // g++ sees that a call does not return if no type is open
    refuse(JsonValue::printable(why, 300));
  }

private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, *file_, why);
  }

  template <class Value>
  bool add(Value&& value) {
    place_for(std::forward<Value>(value));
    return true;
  }

  bool open(Json value) {
    if (open_.size() == most_levels) {
      refuse("is nested in more than " + std::to_string(most_levels) + " levels");
    }
    open_.push_back(&place_for(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// The next value, where it belongs.
  template <class Value>
  Json& place_for(Value&& value) {
    if (open_.empty()) {
      return root_ = std::forward<Value>(value);
    }
    if (open_.back()->is_object()) {
      return *member_ = std::forward<Value>(value);
    }
    return open_.back()->emplace_back(std::forward<Value>(value));
  }

  std::string const* file_;
  Json root_;
  std::vector<Json*> open_; // objects and arrays, the innermost last
  Json* member_ = nullptr;  // of the innermost object, for the next value
};

/// Throws Error(bad_input).
[[nodiscard]] inline nlohmann::json parse_json(std::string const& text, std::string const& file) {
  JsonTree tree(file);
  nlohmann::json::sax_parse(text, &tree);
  return tree.take();
}

} // namespace hetsched::detail
