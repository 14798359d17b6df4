// SPDX-License-Identifier: MIT
#pragma once
// The settings of a runtime: from this struct, otherwise the environment, otherwise defaults.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hetsched {

/// The cores to which workers are bound.
enum class Bind : std::uint8_t {
  none,  // the operating system decides
  cores, // worker k to the k-th usable core, one hardware thread of each core first; with groups,
         // to the first core of the k-th group, and its team to the other cores of the group
};

/// What a runtime checks of a program, see Config::check.
enum class Check : std::uint8_t { none, containers, access };

/// When the dependencies of tasks that bodies spawn are computed, see Config::dependencies.
enum class Dependencies : std::uint8_t { at_spawn, when_stolen };

/// Settings of a runtime. An empty field is taken from its environment variable, otherwise it has
/// the default. A bad value throws Error(bad_config) that names the variable or field.
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
/// | window         | HETSCHED_WINDOW         | 8 tasks                                        |
/// | streams        | HETSCHED_STREAMS        | 2                                              |
/// | memory_trace   | HETSCHED_MEMORY_TRACE   | none                                           |
/// | trace          | HETSCHED_TRACE          | none                                           |
/// | trace_memory   | HETSCHED_TRACE_MEMORY   | 1073741824 (1 GiB)                             |
/// | reuse_profile  | HETSCHED_REUSE_PROFILE  | none                                           |
/// | model_dir      | HETSCHED_MODEL_DIR      | none: performance models keep no files         |
/// | machine        | HETSCHED_MACHINE        | the host's name                                |
/// | explain        | HETSCHED_EXPLAIN        | nothing                                        |
/// | priorities     | HETSCHED_PRIORITIES     | own                                            |
/// | check          | HETSCHED_CHECK          | none                                           |
/// | dependencies   | HETSCHED_DEPENDENCIES   | at_spawn                                       |
struct Config {
  /// Workers on cores, including the thread that waits in `sync`; 1 to 4096. The default is the
  /// number of groups. One core is left to the worker of each device, as far as there are cores.
  std::optional<int> cpus = {};
  /// Cores that each of these workers has for its bodies, see runtime/team.hpp; 1 to 4096.
  std::optional<int> group = {};
  std::optional<Bind> bind = {};
  /// When so many tasks are spawned and not complete, `spawn` runs tasks before it returns. The
  /// limit is checked every few spawns, so it may be passed by some dozens per thread. A nested
  /// spawn that finds no task of its own to run goes past the limit and does not wait.
  std::optional<std::uint64_t> max_live_tasks = {};
  /// Seed of the random streams from which schedulers draw.
  std::optional<std::uint64_t> seed = {};
  /// Measures the time of every body, for `Stats::types`.
  std::optional<bool> timing = {};
  /// Cores to use, in this order, by the operating system's numbers. They must be in the affinity
  /// mask of the thread that makes the runtime. Empty: all cores of the mask (see also
  /// platform/hwloc.hpp).
  std::vector<int> places = {};
  /// The devices to use: a list such as "cuda:0,1;emu:2@256MB" (docs/gpu.md), or "none". Empty: not
  /// given. Only in programs that include gpu.hpp.
  std::string devices = {};
  /// Number of tasks that a device's worker claims while it has others: their data are sent ahead,
  /// and other workers leave them alone; 1 to 1024, of which 16 are used. With 1 the worker takes
  /// one task after the other, and nothing is sent ahead.
  std::optional<int> window = {};
  /// Number of streams in which a device runs kernels; 1 to 64. Small kernels overlap.
  std::optional<int> streams = {};
  /// A file for every use, transfer and eviction of data in memory nodes, see docs/gpu.md. It is
  /// written by the runtime that began last. Without devices nothing is written.
  std::string memory_trace = {};
  /// A file for a trace of the whole run, see docs/traces.md, written when the runtime ends. A
  /// later runtime of the program with the same file name puts a number before the file's ending.
  /// Only in programs that include recording.hpp.
  std::string trace = {};
  /// Bytes that recorded events may take. The first events are kept, later ones only counted.
  std::optional<std::uint64_t> trace_memory = {};
  /// Records without a file, for Runtime::trace.
  bool record = false;
  /// A file for how often tasks use each datum, see docs/caches.md. If it is not there, uses are
  /// counted, and it is written when the runtime ends; if it is, data get them as reuse indices.
  /// Only in programs that include reuse_profile.hpp.
  std::string reuse_profile = {};
  /// The folder in which performance models keep times from run to run, see docs/perf_models.md. It
  /// is made if it is not there.
  std::string model_dir = {};
  /// The machine to which these times belong. Equal nodes of a cluster may share one name.
  std::string machine = {};
  /// The tasks whose choice of worker is explained on stderr, see Runtime::explain.
  std::string explain = {};
  /// The priorities of the tasks of a graph that is run as a whole. Values: own, min, avg.
  std::optional<Priorities> priorities = {};
  /// What is checked at a cost, to find mistakes. Values: none; containers: each operation but
  /// `spawn` throws Error(bad_data) if a container that was registered (with an allocator, or a
  /// matrix of Eigen's) has another size or place since. Such containers must outlive their
  /// handles; access: a body that writes what it declared R, or touches registered memory that it
  /// did not declare, fails its task with Error(undeclared_access), and bodies run one at a time
  /// (docs/robustness.md). access is for programs that include checking.hpp.
  std::optional<Check> check = {};
  /// When the dependencies of tasks that bodies spawn are computed. Values: at_spawn; when_stolen:
  /// the worker that runs the body runs them itself in program order, and computes dependencies
  /// only when another worker sleeps for want of tasks (docs/performance.md). when_stolen is for
  /// programs that include when_stolen.hpp. It is ignored with devices, max_live_tasks, check =
  /// access, while all is recorded or explained, and with schedulers that have hooks around bodies.
  std::optional<Dependencies> dependencies = {};
};

namespace detail {

/// Fills empty fields from the environment and checks all. Throws Error(bad_config).
void resolve_config(Config& config);

/// A line for each variable that begins with HETSCHED_ and that nobody reads, with the one whose
/// name is nearest. HETSCHED_TEST_... are for tests. `environment`: as `environ`.
[[nodiscard]] std::string unknown_variables(char const* const* environment);

} // namespace detail
} // namespace hetsched

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/core/config_inl.hpp>
#endif
