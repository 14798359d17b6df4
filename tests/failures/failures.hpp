// SPDX-License-Identifier: MIT
#pragma once
// Programs that run while something fails, and the counts by which it does.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace failures {

/// What a program asks for.
struct Program {
  std::string_view name;
  bool (*run)(std::string_view name); // whether the result is right; what it throws is clear
};

/// Of threads alone, of each scheduler that ships, of devices, recordings and files, of virtual
/// time.
std::span<Program const> thread_programs();
std::vector<Program> scheduler_programs();
std::span<Program const> device_programs();
std::span<Program const> other_programs();

/// Failures are counted from here on. `memory_again`: nothing fails any more, unless all later
/// calls are to fail, too.
void begin_to_fail();
void memory_again();

/// Nothing is counted or fails any more.
void stop_failing();

} // namespace failures
