// SPDX-License-Identifier: MIT
#pragma once
// What the conformance kit for one-sided transports checks, and what it drives.

#include <hetsched/concepts/rma_port.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/testing/findings.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched::testing {

/// The rules of concepts/rma_transport.hpp that can be checked from outside.
enum class RmaRule : std::uint8_t {
  window,  // a new part is not zeroed, or has another size than its rank said
  copied,  // get or put copies other elements, or more of them
  reused,  // what was given to put or accumulate is read after `done`
  sum,     // accumulates are lost or not atomic
  atomic,  // fetch_add or compare_swap is lost or not atomic
  visible, // an operation does not see what others did before it
  done,    // `done` not once for each operation
  refused, // a bad call does not throw Error(bad_call), or does something
  ends,    // a rank is lost twice, never or without reason, or operations on it are done later
  answer,  // poll does not answer whether it reported an event
  threw,   // a call threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(RmaRule rule) noexcept {
  switch (rule) {
  case RmaRule::window:
    return "a new window has the parts that were asked for, zeroed";
  case RmaRule::copied:
    return "get and put copy the elements of the patch and no others";
  case RmaRule::reused:
    return "no memory is read after done";
  case RmaRule::sum:
    return "no accumulate is lost";
  case RmaRule::atomic:
    return "fetch_add and compare_swap are atomic";
  case RmaRule::visible:
    return "operations see what was done before";
  case RmaRule::done:
    return "each operation is done once";
  case RmaRule::refused:
    return "a bad call throws Error(bad_call) and does nothing";
  case RmaRule::ends:
    return "a rank that is gone is lost once, and nothing is done on it afterwards";
  case RmaRule::answer:
    return "poll answers whether it reported an event";
  case RmaRule::threw:
    return "no call throws";
  }
  return "?";
}

using RmaReport = ReportOf<RmaRule>;

namespace detail {

using RmaFindings = FindingsOf<RmaRule>;

class RmaDriver;

/// What a rank of the kit is told.
struct JudgingRmaInbox final : hetsched::detail::RmaEvents {
  RmaDriver* driver;
  bool told = false;

  explicit JudgingRmaInbox(RmaDriver& its_driver) : driver(&its_driver) {}

  void done(std::uint64_t cookie, std::int64_t value) override;
  void lost(int rank, std::string_view why) override;
};

} // namespace detail

} // namespace hetsched::testing
