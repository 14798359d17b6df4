// SPDX-License-Identifier: MIT
#pragma once
// First in, first out replacement. (policies::Fifo is a queue.)

#include <hetsched/concepts/cache.hpp>
#include <hetsched/detail/policies/block_table.hpp>

namespace hetsched::policies {

/// Decides: the unpinned block that has been in the node longest leaves first, however often it was
///   used; of blocks brought in by one task, a clean one.
/// Source: the textbook.
/// Cost: O(1) per call; victim O(pinned blocks older than it + blocks brought in by its task).
/// Needs: use.task.
/// Threading: called under the memory node's lock.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: what every task uses leaves as soon as what one task used.
class FifoCache : public detail::OldestFirst {
public:
  void access(BlockId /*block*/, BlockUse const& /*use*/) noexcept {}
};

static_assert(cache_policy<FifoCache>);

} // namespace hetsched::policies
