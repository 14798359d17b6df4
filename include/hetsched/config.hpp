// SPDX-License-Identifier: MIT
#pragma once
// How a runtime is set up: by this struct, else by the environment, else by defaults.

#include <hetsched/error.hpp>
#include <hetsched/types.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

/// Where workers are bound.
enum class Bind : std::uint8_t {
  none,  // left to the operating system
  cores, // worker k to the k-th usable core, one hardware thread of each core first; or to the
         // first core of the k-th group, and the others of its team to the others
};

/// Settings of a runtime. A field left empty is taken from its environment variable, else from the
/// default. A bad value throws Error(bad_config) that names the variable or field.
///
/// | field          | variable                | default                                        |
/// |----------------|-------------------------|------------------------------------------------|
/// | cpus           | HETSCHED_NCPU           | usable cores (affinity mask, cgroup CPU quota) |
/// | group          | HETSCHED_GROUP          | 1                                              |
/// | bind           | HETSCHED_BIND           | cores; none if that takes more than are usable |
/// | max_live_tasks | HETSCHED_MAX_LIVE_TASKS | 0: no limit                                    |
/// | seed           | HETSCHED_SEED           | 1                                              |
/// | timing         | HETSCHED_TIMING         | 0: Stats::types stays empty                    |
/// | devices        | HETSCHED_DEVICES        | cuda: all there are                            |
/// | window         | HETSCHED_WINDOW         | 4 tasks                                        |
/// | streams        | HETSCHED_STREAMS        | 2                                              |
/// | memory_trace   | HETSCHED_MEMORY_TRACE   | none                                           |
/// | trace          | HETSCHED_TRACE          | none                                           |
/// | trace_memory   | HETSCHED_TRACE_MEMORY   | 1073741824 (1 GiB)                             |
/// | model_dir      | HETSCHED_MODEL_DIR      | none: performance models keep no files         |
/// | machine        | HETSCHED_MACHINE        | the host's name                                |
/// | explain        | HETSCHED_EXPLAIN        | nothing                                        |
/// | priorities     | HETSCHED_PRIORITIES     | own                                            |
struct Config {
  /// Workers on cores, the thread that waits in `sync` included; 1 to 4096. By default as many as
  /// there are groups; one core is left to the worker of each device, as far as there are.
  std::optional<int> cpus = {};
  /// Cores that each of these workers has for the bodies it runs, see team.hpp; 1 to 4096.
  std::optional<int> group = {};
  std::optional<Bind> bind = {};
  /// When so many tasks are spawned and not complete, `spawn` runs tasks before it returns. Checked
  /// every few spawns, so the limit may be passed by some dozens per thread; a nested spawn that
  /// finds nothing of its own to run goes on past it rather than wait.
  std::optional<std::uint64_t> max_live_tasks = {};
  /// Of the random streams that schedulers draw from.
  std::optional<std::uint64_t> seed = {};
  /// Times every body, for `Stats::types`.
  std::optional<bool> timing = {};
  /// Cores to use, in order, by the operating system's numbers, of those in the affinity mask of
  /// the thread that makes the runtime; empty: all of these (see also hwloc.hpp).
  std::vector<int> places = {};
  /// Which devices: a list such as "cuda:0,1;emu:2@256MB", see docs/gpu.md; "none": none; empty:
  /// not given. Only in programs that include gpu.hpp.
  std::string devices = {};
  /// Tasks that a device's worker commits to at a time; 1 to 1024. Transfers and kernels of those
  /// overlap.
  std::optional<int> window = {};
  /// Streams in which a device runs kernels; 1 to 64. Small kernels run side by side.
  std::optional<int> streams = {};
  /// A file to which every use, transfer and eviction of data in memory nodes is written, see
  /// docs/gpu.md; of the runtime that began last. Without devices nothing is.
  std::string memory_trace = {};
  /// A file for a trace of all that happens, see docs/traces.md, written when the runtime ends; a
  /// later runtime of the program with the same one puts its number before the file's ending. Only
  /// in programs that include recording.hpp.
  std::string trace = {};
  /// Bytes that recorded events may take; what comes first is kept, the rest counted.
  std::optional<std::uint64_t> trace_memory = {};
  /// Records without a file, for Runtime::trace.
  bool record = false;
  /// Where performance models keep what they know from run to run, see docs/perf_models.md; made if
  /// it is not there.
  std::string model_dir = {};
  /// Whose times those are: one name for all nodes of a cluster that are alike lets them share.
  std::string machine = {};
  /// Of which tasks to print on stderr why they went where they went, see Runtime::explain.
  std::string explain = {};
  /// Of the tasks of a graph that is run as a whole. The variable's values: own, min, avg.
  std::optional<Priorities> priorities = {};
};

namespace detail {

/// A whole number from `low` to `high`; throws Error(bad_config) naming the variable.
[[nodiscard]] inline std::uint64_t
env_number(char const* variable, char const* text, std::uint64_t low, std::uint64_t high) {
  char* end = nullptr;
  errno = 0;
  auto const value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < low || value > high) {
    throw Error(ErrorCode::bad_config,
                variable,
                "'" + std::string(text) + "' is not a whole number from " + std::to_string(low) +
                    " to " + std::to_string(high));
  }
  return value;
}

template <class Number>
void from_env(std::optional<Number>& field,
              char const* variable,
              std::uint64_t low,
              std::uint64_t high) {
  if (char const* const text = std::getenv(variable); text != nullptr && !field) {
    field = static_cast<Number>(env_number(variable, text, low, high));
  }
}

inline void from_env(std::string& field, char const* variable) {
  if (char const* const text = std::getenv(variable); text != nullptr && field.empty()) {
    field = text;
  }
}

inline void check_range(std::optional<int> field, char const* name, int most) {
  if (field && (*field < 1 || *field > most)) {
    throw Error(ErrorCode::bad_config,
                name,
                std::to_string(*field) + " is not from 1 to " + std::to_string(most));
  }
}

inline void from_env(std::optional<Priorities>& field, char const* variable) {
  if (char const* const text = std::getenv(variable); text != nullptr && !field) {
    std::string_view const view(text);
    if (view != "own" && view != "min" && view != "avg") {
      throw Error(ErrorCode::bad_config,
                  variable,
                  "'" + std::string(view) + "' is neither own, min nor avg");
    }
    field = view == "own"   ? Priorities::own
            : view == "min" ? Priorities::bottom_min
                            : Priorities::bottom_avg;
  }
}

/// Fills empty fields from the environment and checks all.
[[nodiscard]] inline Config resolve_config(Config config) {
  constexpr int most_cpus = 4096;
  constexpr int most_window = 1024;
  constexpr int most_streams = 64;
  from_env(config.cpus, "HETSCHED_NCPU", 1, most_cpus);
  from_env(config.group, "HETSCHED_GROUP", 1, most_cpus);
  from_env(config.max_live_tasks, "HETSCHED_MAX_LIVE_TASKS", 0, UINT64_MAX);
  from_env(config.seed, "HETSCHED_SEED", 0, UINT64_MAX);
  from_env(config.timing, "HETSCHED_TIMING", 0, 1);
  from_env(config.window, "HETSCHED_WINDOW", 1, most_window);
  from_env(config.streams, "HETSCHED_STREAMS", 1, most_streams);
  from_env(config.devices, "HETSCHED_DEVICES");
  from_env(config.memory_trace, "HETSCHED_MEMORY_TRACE");
  from_env(config.trace, "HETSCHED_TRACE");
  from_env(config.trace_memory, "HETSCHED_TRACE_MEMORY", 0, UINT64_MAX);
  from_env(config.model_dir, "HETSCHED_MODEL_DIR");
  from_env(config.machine, "HETSCHED_MACHINE");
  from_env(config.explain, "HETSCHED_EXPLAIN");
  from_env(config.priorities, "HETSCHED_PRIORITIES");
  if (char const* const text = std::getenv("HETSCHED_BIND"); text != nullptr && !config.bind) {
    std::string_view const view(text);
    if (view != "none" && view != "cores") {
      throw Error(ErrorCode::bad_config,
                  "HETSCHED_BIND",
                  "'" + std::string(view) + "' is neither none nor cores");
    }
    config.bind = view == "none" ? Bind::none : Bind::cores;
  }
  check_range(config.cpus, "Config::cpus", most_cpus);
  check_range(config.group, "Config::group", most_cpus);
  check_range(config.window, "Config::window", most_window);
  check_range(config.streams, "Config::streams", most_streams);
  return config;
}

} // namespace detail
} // namespace hetsched
