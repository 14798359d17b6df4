// SPDX-License-Identifier: MIT
#pragma once
// Memory that can be put back as it was, with every object in it. Link snapshot_memory.cpp.

#include <cstddef>
#include <vector>

/// While one lives, `new` takes from the memory. There is one memory for the program; one thread
/// uses it. What is deleted leaves a hole.
class SnapshotMemory {
public:
  SnapshotMemory() noexcept;
  SnapshotMemory(SnapshotMemory const&) = delete;
  SnapshotMemory& operator=(SnapshotMemory const&) = delete;
  ~SnapshotMemory();

  /// Forgets everything in the memory. No destructor runs.
  static void clear() noexcept;

  /// How many objects that `new` made there are not deleted.
  [[nodiscard]] static std::size_t blocks() noexcept;

  static void save(std::vector<std::byte>& to);

  /// Objects are what and where they were when `from` was saved.
  static void restore(std::vector<std::byte> const& from) noexcept;
};
