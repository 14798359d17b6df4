// SPDX-License-Identifier: MIT
#pragma once
// The paper's claims, read from a file, and the words that they may use.

#include "../common/claims.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace multigrain {

/// What a strategy's name stands for.
struct Strategy {
  enum class Where { cpus, gpu, both };                    // of step 3
  enum class Tasks { fine, coarse, both };                 // both: super-tasks, split on cores
  enum class Order { round_robin, deque, reuse };          // who gets which task
  enum class Memory { nothing, guided, lru, as_system_1 }; // what stays in the GPU's memory

  std::string name;
  Where where = Where::both;
  Tasks tasks = Tasks::both;
  Order order = Order::reuse;
  Memory memory = Memory::guided; // as_system_1: guided, in as much memory as system 1 has
  std::string without_cache = {}; // the same with the cache off, if there is that
  std::string coarse = {};        // the same with coarse grain, if there is that
};

/// All that are simulated, without the system.
[[nodiscard]] std::vector<Strategy> const& strategies();

/// A strategy's name is that of one of these, with "@2" behind it on system 2. Null: none of these,
/// but a number that follows from others ("sum", "streamed").
[[nodiscard]] Strategy const* strategy_of(std::string const& name);

/// The index of the system: 0 or 1.
[[nodiscard]] std::size_t system_of(std::string const& name);

/// "@2" or nothing.
[[nodiscard]] std::string suffix_of(std::string const& name);

struct Settings {
  std::size_t block = 0;              // elements in a row of a block
  std::size_t super = 0;              // blocks in a row of a super-block
  std::vector<std::size_t> sizes;     // blocks in a row of the matrix
  std::vector<std::string> platforms; // of the two systems: files without folder and ending
  std::vector<papers::Claim> claims;
};

/// Points are numbers of blocks in a row, n. Throws Error(bad_input) that names file and place.
[[nodiscard]] Settings read_settings(std::string const& path);

} // namespace multigrain
