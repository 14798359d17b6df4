// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations over any transport of messages.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/concepts/transport.hpp>
#include <hetsched/detail/cluster/rma_calls.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/cluster/window_service.hpp>
#include <hetsched/detail/cluster/windows.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

namespace hetsched {

/// One rank's end of windows over a Transport; see concepts/rma_transport.hpp. It needs nothing but
/// messages, so it works wherever the transport does.
///
///     hs::MpiTransport transport(session);
///     hs::RmaOverMessages rma(transport);
///
/// An operation is a message to the target, which carries it out while it polls, and one back. The
/// elements of dense patches go straight to their place; others are packed.
///
/// All ranks begin and end it together, and use the transport for nothing else in between. If an
/// exception ends it, it does not wait for the others' end, and the transport should be aborted.
///
/// Cost: O(1) and two messages for an operation on another rank, none on its own; allocate and free
///   ranks() - 1 messages from each rank.
template <Transport T>
class RmaOverMessages : public detail::RmaCalls<RmaOverMessages<T>> {
public:
  /// The transport outlives it.
  explicit RmaOverMessages(T& transport)
      : transport_(transport),
        service_(transport.rank(), transport.ranks(), transport.kept(), this, &send) {}

  RmaOverMessages(RmaOverMessages const&) = delete;
  RmaOverMessages& operator=(RmaOverMessages const&) = delete;

  ~RmaOverMessages() {
    try {
      if (std::uncaught_exceptions() == exceptions_) {
        call({.kind = detail::WindowCall::Kind::end});
      }
    } catch (std::exception const&) { // a rank is gone, or the ranks do not all end here
    }
    flush();
  }

  [[nodiscard]] int rank() const noexcept { return transport_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return transport_.ranks(); }

  Window allocate(WindowElement element, std::size_t elements) {
    return call(
        {.kind = detail::WindowCall::Kind::allocate, .element = element, .elements = elements});
  }

  void free(Window window) {
    (void)service_.windows().at(window);
    (void)call({.kind = detail::WindowCall::Kind::free, .window = window.number});
  }

  [[nodiscard]] std::size_t elements(Window window, int rank) const {
    return service_.windows().elements(window, rank);
  }

  [[nodiscard]] void* memory(Window window) { return service_.windows().at(window).memory.get(); }

  template <RmaInbox I>
  bool poll(I& inbox) {
    transport_.poll(service_);
    return service_.tell_news(inbox);
  }

  void abort(std::string_view line) { transport_.abort(line); }

private:
  friend class detail::RmaCalls<RmaOverMessages>;

  static constexpr std::int64_t grace_ns = 1'000'000'000;
  static constexpr std::int64_t pause_ns = 20'000;

  static void send(void* of,
                   int to,
                   std::span<std::byte const> head,
                   std::span<std::byte const> payload,
                   std::uint64_t cookie) {
    static_cast<RmaOverMessages*>(of)->transport_.send(to, head, payload, cookie);
  }

  void begin_operation(Window window, detail::RmaOperation const& operation, std::uint64_t cookie) {
    service_.begin(window, operation, cookie);
  }

  void poll_messages() {
    if (!transport_.poll(service_)) {
      detail::pause_for(pause_ns);
    }
  }

  /// Until the transport reads nothing of this rank's any more, or for a second.
  void flush() noexcept {
    try {
      auto const begin = detail::monotonic_ns();
      while (!service_.all_sent() && detail::monotonic_ns() - begin < grace_ns) {
        poll_messages();
      }
    } catch (std::exception const&) { // this rank is gone: nobody reads its memory
    }
  }

  Window call(detail::WindowCall const& call) {
    service_.call(call);
    while (!service_.all_called()) {
      poll_messages();
    }
    return service_.finish_call();
  }

  int exceptions_ = std::uncaught_exceptions();
  T& transport_;
  detail::WindowService service_;
};

} // namespace hetsched
