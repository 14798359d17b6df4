// SPDX-License-Identifier: MIT
#pragma once
// Settings of a task collection, and what it counts.

#include <hetsched/core/time.hpp>

#include <cstddef>
#include <cstdint>

namespace hetsched {

/// How long a task is expected to take; 0: not known, or it has no such body.
struct EstimatedTimes {
  Duration cpu;
  Duration gpu;
};

/// The same on all ranks.
struct CollectionOptions {
  /// Tasks at a time that have left the queue for a core, or for a GPU, and have not ended: while
  /// some compute, patches for others come, and sums of others go. Thieves do not get them. 0: two
  /// for each worker, and up to 64 if tasks are so short that these run out between two looks.
  int cpu_tasks = 0;
  int gpu_tasks = 0;

  /// A task that left the queue for a core runs on one, and one for a GPU on one, as in the paper
  /// (Arafat et al. 2016, figure 4). Else the runtime's scheduler chooses: better if it knows how
  /// long tasks take, worse if not. A task whose device is lost before its end then fails.
  bool keep_kind = false;

  /// A core leaves a task that is better on a GPU to this rank's GPUs if they are expected to be
  /// done with it earlier, with all that they have to do before; and a GPU likewise. Else, as in
  /// the paper, a worker without tasks of the kind that it does best takes what there is. Not with
  /// unsorted queues.
  bool leave_to_faster = false;

  std::size_t shared_tasks = 4096; // at most, that a rank releases to thieves at a time; < 65,536
  std::size_t inbox_tasks = 1024;  // room for those that others add to a rank at a time

  /// Host memory for patches that are not in use. Those that were read are kept in it, so that
  /// other tasks that read them need not get them again, until `process` returns.
  std::size_t kept_bytes = std::size_t{256} << 20U;

  std::uint64_t seed = 1; // of the choice of victims
};

/// What one rank has done since the collection was made.
struct CollectionStats {
  std::uint64_t added = 0;     // here, by the program and by bodies
  std::uint64_t completed = 0; // here
  std::uint64_t failed = 0;    // of these

  std::uint64_t steal_attempts = 0; // victims looked at
  std::uint64_t steals = 0;         // that brought something
  std::uint64_t stolen = 0;         // tasks
  std::uint64_t released = 0;       // tasks for thieves
  std::uint64_t taken_back = 0;     // of these

  std::uint64_t gets = 0;     // patches
  std::uint64_t get_hits = 0; // patches that were still here
  std::uint64_t bytes_got = 0;
  std::uint64_t bytes_put = 0; // and added
  std::uint64_t waves = 0;     // looks whether all ranks are done
};

} // namespace hetsched
