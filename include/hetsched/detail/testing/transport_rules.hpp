// SPDX-License-Identifier: MIT
#pragma once
// What the conformance kit for transports checks.

#include <hetsched/detail/testing/findings.hpp>

#include <cstdint>
#include <string_view>

namespace hetsched::testing {

/// The rules of concepts/transport.hpp that can be checked from outside.
enum class TransportRule : std::uint8_t {
  lost,     // a message never arrives
  twice,    // a message begins or arrives again
  invented, // a head that nobody sent to this rank, or of another size than its payload's
  order,    // a message begins before one that its sender sent earlier
  place,    // arrived without begin, or with another place; begin without payload
  payload,  // other bytes than those that were sent
  reused,   // the payload is read after `sent`
  sent,     // `sent` not once for each send
  ends,     // a rank is lost twice, never or without reason, or something comes from it afterwards
  answer,   // poll does not answer whether it reported an event
  threw,    // send or poll threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(TransportRule rule) noexcept {
  switch (rule) {
  case TransportRule::lost:
    return "no message is lost";
  case TransportRule::twice:
    return "no message comes twice";
  case TransportRule::invented:
    return "only sent messages come";
  case TransportRule::order:
    return "messages of one pair of ranks begin in the order of their sends";
  case TransportRule::place:
    return "a payload goes where begin says";
  case TransportRule::payload:
    return "payloads arrive as they were sent";
  case TransportRule::reused:
    return "no payload is read after sent";
  case TransportRule::sent:
    return "each send is over once";
  case TransportRule::ends:
    return "a rank that is gone is lost once, and nothing comes from it afterwards";
  case TransportRule::answer:
    return "poll answers whether it reported an event";
  case TransportRule::threw:
    return "neither send nor poll throws";
  }
  return "?";
}

using TransportReport = ReportOf<TransportRule>;

namespace detail {

using TransportFindings = FindingsOf<TransportRule>;

} // namespace detail

} // namespace hetsched::testing
