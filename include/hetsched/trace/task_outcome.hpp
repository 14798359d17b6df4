// SPDX-License-Identifier: MIT
#pragma once
// How the execution of a task ended, as traces say it.

#include <cstdint>

namespace hetsched {

enum class TaskOutcome : std::uint8_t {
  done,      // the body returned
  failed,    // the body threw, or could not have its data
  cancelled, // the body was skipped
  unfinished // when recording ended
};

} // namespace hetsched
