// SPDX-License-Identifier: MIT
#pragma once
// Definitions of core/config.hpp.

#include <hetsched/core/config.hpp>

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
      field = text;
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

[[gnu::cold]] HETSCHED_INLINE void resolve_config(Config& config) {
  static_assert(static_cast<int>(Priorities::own) == 0 &&
                static_cast<int>(Priorities::bottom_min) == 1 &&
                static_cast<int>(Priorities::bottom_avg) == 2);
  static_assert(static_cast<int>(Bind::none) == 0 && static_cast<int>(Bind::cores) == 1);
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
  Reader::fill(config.model_dir, "HETSCHED_MODEL_DIR");
  Reader::fill(config.machine, "HETSCHED_MACHINE");
  Reader::fill(config.explain, "HETSCHED_EXPLAIN");
  Reader::fill(config.priorities,
               "HETSCHED_PRIORITIES",
               {"own", "min", "avg"},
               " is neither own, min nor avg");
  Reader::fill(config.bind, "HETSCHED_BIND", {"none", "cores"}, " is neither none nor cores");
  Reader::check(config.cpus, "Config::cpus", most_cpus);
  Reader::check(config.group, "Config::group", most_cpus);
  Reader::check(config.window, "Config::window", most_window);
  Reader::check(config.streams, "Config::streams", most_streams);
}

} // namespace hetsched::detail
