// SPDX-License-Identifier: MIT
#pragma once
// Identifiers and small enumerations that every layer shares.

#include <hetsched/core/version.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace hetsched {

/// A spawned task. Opaque, with a generation: an id that is kept after its task has ended never
/// names another task that is live at the same time. Policies keep ids, never references.
struct TaskId {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(TaskId, TaskId) = default;

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return value != 0; }
};

inline constexpr TaskId no_task{};

/// The result of a theft. `contested`: the owner of the queue has used it since the last theft.
struct Stolen {
  TaskId task;
  bool contested = false;

  constexpr operator TaskId() const noexcept { return task; }

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return task.value != 0; }
};

/// A worker, numbered from 0. `no_worker` stands for a thread outside the runtime.
struct WorkerId {
  std::int32_t value = -1;

  friend constexpr auto operator<=>(WorkerId, WorkerId) = default;

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return value >= 0; }

  /// Position in an array with one entry per worker; only for a real worker.
  [[nodiscard]] constexpr std::size_t index() const noexcept {
    return static_cast<std::size_t>(value);
  }
};

inline constexpr WorkerId no_worker{};

/// A memory node; node 0 is host memory.
struct NodeId {
  std::int32_t value = 0;

  friend constexpr auto operator<=>(NodeId, NodeId) = default;
};

inline constexpr NodeId host_node{0};

/// A class of processors, at most `max_archs` of them. 0 is a host core, 1 a CUDA device; simulated
/// platforms number further classes from 2.
struct Arch {
  std::uint8_t index = 0;

  friend constexpr auto operator<=>(Arch, Arch) = default;
};

inline constexpr int max_archs = 8;

/// A class known at compile time, so that asking for a body that does not exist cannot compile.
template <std::uint8_t Index>
struct ArchTag {
  static constexpr Arch value{Index};

  constexpr operator Arch() const noexcept { return value; } // NOLINT: the tag is the value
};

inline constexpr ArchTag<0> ArchHost{};
inline constexpr ArchTag<1> ArchCUDA{};

/// A set of processor classes, one bit each.
struct ArchMask {
  std::uint8_t bits = 0;

  friend constexpr auto operator<=>(ArchMask, ArchMask) = default;

  [[nodiscard]] constexpr bool has(Arch arch) const noexcept {
    return ((bits >> arch.index) & 1U) != 0;
  }

  [[nodiscard]] static constexpr ArchMask only(Arch arch) noexcept {
    return {static_cast<std::uint8_t>(1U << arch.index)};
  }

  friend constexpr ArchMask operator|(ArchMask a, ArchMask b) noexcept {
    return {static_cast<std::uint8_t>(a.bits | b.bits)};
  }

  friend constexpr ArchMask operator&(ArchMask a, ArchMask b) noexcept {
    return {static_cast<std::uint8_t>(a.bits & b.bits)};
  }
};

/// What a scheduler asks of the engine after it has stored a ready task: wake no worker, any worker
/// that can run the task, or one named worker.
class Wake {
public:
  constexpr Wake() noexcept = default; // none

  [[nodiscard]] static constexpr Wake none() noexcept { return Wake{}; }

  [[nodiscard]] static constexpr Wake any() noexcept { return Wake{-1}; }

  [[nodiscard]] static constexpr Wake worker(WorkerId worker) noexcept {
    return Wake{worker.value};
  }

  [[nodiscard]] constexpr bool is_none() const noexcept { return code_ == -2; }

  [[nodiscard]] constexpr bool is_any() const noexcept { return code_ == -1; }

  /// The worker named, or `no_worker`.
  [[nodiscard]] constexpr WorkerId target() const noexcept {
    return WorkerId{code_ < 0 ? -1 : code_};
  }

  friend constexpr bool operator==(Wake, Wake) = default;

private:
  explicit constexpr Wake(std::int32_t code) noexcept : code_(code) {}

  std::int32_t code_ = -2;
};

/// Who keeps a scheduler's state consistent: the engine, by one lock around all hooks, or the
/// scheduler's own queues.
enum class Threading : std::uint8_t { serialized, concurrent };

/// What a scheduler promises about priorities; see concepts/scheduler.hpp.
enum class PriorityScope : std::uint8_t { none, per_queue, global };

/// The priorities that `Runtime::run` gives the tasks of a graph: their own (`hs::priority`), or
/// priorities by their bottom levels, the longest paths to the end of the graph (Kumar 2017, sec.
/// 2.2.2). The length of a task is then the time that the performance model, or the platform in
/// virtual time, predicts: on the fastest class of worker that may run it, or on average over all
/// workers that may. Transfers do not count. Classes without a prediction are left out. A task
/// without any prediction counts as the mean of the tasks with one; if no task has one, each counts
/// as one. Equal levels get equal priorities. 0 is the lowest.
enum class Priorities : std::uint8_t { own, bottom_min, bottom_avg };

} // namespace hetsched
