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
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

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

  [[nodiscard]] std::vector<JsonValue> elements() const {
    if (!value_->is_array()) {
      refuse("is no array");
    }
    std::vector<JsonValue> all;
    all.reserve(value_->size());
    for (std::size_t k = 0; k < value_->size(); ++k) {
      all.emplace_back((*value_)[k], *file_, where_ + "/" + std::to_string(k));
    }
    return all;
  }

  [[nodiscard]] std::vector<JsonValue> elements(std::size_t count) const {
    auto all = elements();
    if (all.size() != count) {
      refuse("has " + std::to_string(all.size()) + " elements, not " + std::to_string(count));
    }
    return all;
  }

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

/// Refuses an object with the same key twice. nlohmann-json would keep the last one.
class UniqueKeys {
public:
  using Json = nlohmann::json;

  explicit UniqueKeys(std::string const& file) : file_(&file) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !keys_.back().insert(parsed.get<std::string>()).second) {
      throw Error(ErrorCode::bad_input, *file_, "a key comes twice: " + parsed.dump());
    }
    return true;
  }

private:
  std::string const* file_;
  std::vector<std::set<std::string>> keys_;
};

/// Throws Error(bad_input).
[[nodiscard]] inline nlohmann::json parse_json(std::string const& text, std::string const& file) {
  try {
    return nlohmann::json::parse(text, UniqueKeys(file));
  } catch (nlohmann::json::exception const& error) {
    throw Error(ErrorCode::bad_input, file, JsonValue::printable(error.what(), 300));
  }
}

} // namespace hetsched::detail
