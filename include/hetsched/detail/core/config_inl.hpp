// SPDX-License-Identifier: MIT
#pragma once
// Definitions of core/config.hpp.

#include <hetsched/core/config.hpp>
#include <hetsched/detail/core/text.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hetsched::detail {

/// Reads environment variables into the fields of a Config that are empty.
class ConfigReader {
public:
  /// A whole number from `low` to `high`; throws Error(bad_config) naming the variable.
  [[gnu::noinline, gnu::cold]] static std::uint64_t
  number(char const* variable, char const* text, std::uint64_t low, std::uint64_t high) {
    char* end = nullptr;
    errno = 0;
    auto const value = std::strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < low || value > high) {
      char why[96];
      std::snprintf(why,
                    sizeof why,
                    " is not a whole number from %llu to %llu",
                    static_cast<unsigned long long>(low),
                    static_cast<unsigned long long>(high));
      refuse(variable, text, why);
    }
    return value;
  }

  template <class Number>
  static void
  fill(std::optional<Number>& field, char const* variable, std::uint64_t low, std::uint64_t high) {
    if (char const* const text = std::getenv(variable); text != nullptr && !field) {
      field = static_cast<Number>(number(variable, text, low, high));
    }
  }

  [[gnu::noinline]] static void fill(std::string& field, char const* variable) {
    if (char const* const text = std::getenv(variable); text != nullptr && field.empty()) {
      field = std::string(text);
    }
  }

  /// One of some words. The field gets the place of the word in the list.
  template <class Value>
  static void fill(std::optional<Value>& field,
                   char const* variable,
                   std::initializer_list<std::string_view> words,
                   char const* otherwise) {
    char const* const text = std::getenv(variable);
    if (text == nullptr || field) {
      return;
    }
    int place = 0;
    for (auto const word : words) {
      if (word == text) {
        field = static_cast<Value>(place);
        return;
      }
      ++place;
    }
    refuse(variable, text, otherwise);
  }

  [[gnu::cold, gnu::noinline]] static void
  check(std::optional<int> field, char const* name, int most) {
    if (field && (*field < 1 || *field > most)) {
      throw Error(ErrorCode::bad_config, name, text("%d is not from 1 to %d", *field, most));
    }
  }

private:
  [[noreturn, gnu::noinline, gnu::cold]] static void
  refuse(char const* variable, char const* text, char const* why) {
    throw Error(ErrorCode::bad_config, variable, detail::text("'%s'%s", text, why));
  }
};

/// The variables that are read, by a Config or a policy, without HETSCHED_.
inline constexpr std::array<std::string_view, 20> variable_names{
    "NCPU",          "GROUP",        "MAX_LIVE_TASKS", "SEED",         "TIMING",
    "WINDOW",        "STREAMS",      "DEVICES",        "MEMORY_TRACE", "TRACE",
    "REUSE_PROFILE", "MODEL_DIR",    "MACHINE",        "EXPLAIN",      "BIND",
    "PRIORITIES",    "TRACE_MEMORY", "SCHEDULER",      "CHECK",        "DEPENDENCIES"};

/// How many letters to insert, drop or replace make one name of the other.
[[gnu::cold]] HETSCHED_INLINE std::size_t edits_between(std::string_view a, std::string_view b) {
  std::array<std::size_t, 33> row{};
  b = b.substr(0, row.size() - 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

[[gnu::cold]] HETSCHED_INLINE std::string unknown_variables(char const* const* environment) {
  constexpr std::string_view ours = "HETSCHED_";
  constexpr std::string_view for_tests = "TEST_";
  constexpr std::size_t most_edits = 4;
  std::string lines;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    std::string_view const entry(*environment);
    auto const name = entry.substr(0, entry.find('='));
    if (!name.starts_with(ours)) {
      continue;
    }
    auto const rest = name.substr(ours.size());
    if (rest.starts_with(for_tests) ||
        std::find(variable_names.begin(), variable_names.end(), rest) != variable_names.end()) {
      continue;
    }
    auto const nearer = [&](std::string_view a, std::string_view b) {
      return edits_between(rest, a) < edits_between(rest, b);
    };
    auto const nearest = *std::min_element(variable_names.begin(), variable_names.end(), nearer);
    bool const near = edits_between(rest, nearest) <= std::min(most_edits, nearest.size() / 2);
    auto const wrong = error_line(
        std::string(name),
        near ? text("is no variable that is read; did you mean %s%s?", ours.data(), nearest.data())
             : "is no variable that is read");
    lines = text("%s%s\n", lines.c_str(), wrong.c_str());
  }
  return lines;
}

[[gnu::cold]] HETSCHED_INLINE void resolve_config(Config& config) {
  static_assert(static_cast<int>(Priorities::own) == 0 &&
                static_cast<int>(Priorities::bottom_min) == 1 &&
                static_cast<int>(Priorities::bottom_avg) == 2);
  static_assert(static_cast<int>(Bind::none) == 0 && static_cast<int>(Bind::cores) == 1);
  [[maybe_unused]] static bool const told = [] {
    std::fputs(unknown_variables(environ).c_str(), stderr);
    return true;
  }();
  using Reader = ConfigReader;
  constexpr int most_cpus = 4096;
  constexpr int most_window = 1024;
  constexpr int most_streams = 64;
  Reader::fill(config.cpus, "HETSCHED_NCPU", 1, most_cpus);
  Reader::fill(config.group, "HETSCHED_GROUP", 1, most_cpus);
  Reader::fill(config.max_live_tasks, "HETSCHED_MAX_LIVE_TASKS", 0, UINT64_MAX);
  Reader::fill(config.seed, "HETSCHED_SEED", 0, UINT64_MAX);
  Reader::fill(config.timing, "HETSCHED_TIMING", 0, 1);
  Reader::fill(config.window, "HETSCHED_WINDOW", 1, most_window);
  Reader::fill(config.streams, "HETSCHED_STREAMS", 1, most_streams);
  Reader::fill(config.devices, "HETSCHED_DEVICES");
  Reader::fill(config.memory_trace, "HETSCHED_MEMORY_TRACE");
  Reader::fill(config.trace, "HETSCHED_TRACE");
  Reader::fill(config.trace_memory, "HETSCHED_TRACE_MEMORY", 0, UINT64_MAX);
  Reader::fill(config.reuse_profile, "HETSCHED_REUSE_PROFILE");
  Reader::fill(config.model_dir, "HETSCHED_MODEL_DIR");
  Reader::fill(config.machine, "HETSCHED_MACHINE");
  Reader::fill(config.explain, "HETSCHED_EXPLAIN");
  Reader::fill(config.priorities,
               "HETSCHED_PRIORITIES",
               {"own", "min", "avg"},
               " is neither own, min nor avg");
  static_assert(static_cast<int>(Check::none) == 0 && static_cast<int>(Check::containers) == 1 &&
                static_cast<int>(Check::access) == 2);
  Reader::fill(config.check,
               "HETSCHED_CHECK",
               {"none", "containers", "access"},
               " is neither none, containers nor access");
  static_assert(static_cast<int>(Dependencies::at_spawn) == 0 &&
                static_cast<int>(Dependencies::when_stolen) == 1);
  Reader::fill(config.dependencies,
               "HETSCHED_DEPENDENCIES",
               {"at_spawn", "when_stolen"},
               " is neither at_spawn nor when_stolen");
  Reader::fill(config.bind, "HETSCHED_BIND", {"none", "cores"}, " is neither none nor cores");
  Reader::check(config.cpus, "Config::cpus", most_cpus);
  Reader::check(config.group, "Config::group", most_cpus);
  Reader::check(config.window, "Config::window", most_window);
  Reader::check(config.streams, "Config::streams", most_streams);
}

} // namespace hetsched::detail
