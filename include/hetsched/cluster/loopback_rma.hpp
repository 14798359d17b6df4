// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations between ranks in one process, for tests.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/loopback_rma_state.hpp>
#include <hetsched/detail/cluster/rma_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched {

class LoopbackRmaTransport;

/// Connects `ranks` ranks of one process, and outlives their transports. Operations take effect
/// while their own rank polls, whatever the target does, as with hardware for RDMA. Any thread may
/// call it at any time.
///
///     hs::LoopbackRmaNetwork net(4, {.delay = 5});
///     auto transport = net.transport(0); // in the thread of rank 0
class LoopbackRmaNetwork {
public:
  /// Throws Error(bad_config) for no rank.
  explicit LoopbackRmaNetwork(int ranks, LoopbackRmaOptions options = {})
      : state_(ranks, options) {}

  LoopbackRmaNetwork(LoopbackRmaNetwork const&) = delete;
  LoopbackRmaNetwork& operator=(LoopbackRmaNetwork const&) = delete;

  [[nodiscard]] int ranks() const noexcept { return state_.ranks(); }

  /// `rank` in 0 .. ranks() - 1.
  [[nodiscard]] LoopbackRmaTransport transport(int rank);

  /// Ends a rank, if it is not gone: calls of it that begin after this throw, and all others lose
  /// it.
  void kill(int rank, std::string_view why = "was killed") { state_.end(rank, why); }

private:
  friend class LoopbackRmaTransport;

  detail::LoopbackRmaState state_;
};

/// One rank's end of a LoopbackRmaNetwork; see concepts/rma_transport.hpp. One for each rank.
///
/// Cost: an operation is O(log n) with n operations of that rank under way, and the copy.
/// Threading: as for every transport. Parts have a lock each, which orders operations on them.
class LoopbackRmaTransport : public detail::RmaCalls<LoopbackRmaTransport> {
public:
  LoopbackRmaTransport(LoopbackRmaNetwork& network, int rank)
      : state_(&network.state_), own_(network.state_, rank) {}

  [[nodiscard]] int rank() const noexcept { return own_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return state_->ranks(); }

  Window allocate(WindowElement element, std::size_t elements) {
    return own_.allocate(element, elements);
  }

  void free(Window window) { own_.free(window); }

  [[nodiscard]] std::size_t elements(Window window, int rank) const {
    return own_.windows().elements(window, rank);
  }

  [[nodiscard]] void* memory(Window window) {
    return own_.windows().at(window).memory[static_cast<std::size_t>(rank())]->bytes.data();
  }

  template <RmaInbox I>
  bool poll(I& inbox) {
    return own_.poll(inbox);
  }

  /// The others lose this rank. Returns; its calls throw from then on.
  void abort(std::string_view line) { state_->abort(rank(), line); }

private:
  friend class detail::RmaCalls<LoopbackRmaTransport>;

  void begin_operation(Window window, detail::RmaOperation const& operation, std::uint64_t cookie) {
    own_.begin(window, operation, cookie);
  }

  detail::LoopbackRmaState* state_;
  detail::LoopbackRmaRank own_;
};

static_assert(RmaTransport<LoopbackRmaTransport>);

inline LoopbackRmaTransport LoopbackRmaNetwork::transport(int rank) {
  return {*this, rank};
}

} // namespace hetsched
