// SPDX-License-Identifier: MIT
#pragma once

// The memory of a controlled run. Each run has the same addresses, so that it can be repeated, and
// what it frees is filled and never used again, so that a use of freed memory is seen.

namespace own_memory {

/// A run begins or ends. Between the two, `operator new` takes memory of the run.
void begin() noexcept;
void end() noexcept;

/// After a run: what is wrong with its memory, or null. Blocks that were not freed, or freed blocks
/// that were written to.
[[nodiscard]] char const* fault() noexcept;

} // namespace own_memory
