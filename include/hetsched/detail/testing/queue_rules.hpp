// SPDX-License-Identifier: MIT
#pragma once
// What the conformance kit for queues checks.

#include <hetsched/detail/testing/findings.hpp>

#include <cstdint>
#include <string_view>

namespace hetsched::testing {

/// The rules of concepts/queue.hpp that can be checked from outside.
enum class QueueRule : std::uint8_t {
  lost,     // a pushed task never comes out
  twice,    // a task comes out a second time
  invented, // an answer that is no pushed task
  refused,  // an answer that `accept` does not allow
  hidden,   // no_task, though an accepted task is there
  priority, // not the first in the order that ordered_by_priority promises
  asked,    // `accept` asked about a task that is not in the queue
  peeked,   // peek answers something else than the next pops
  missed,   // a poll that begins after a push returned does not see the task
  threw,    // an operation threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(QueueRule rule) noexcept {
  switch (rule) {
  case QueueRule::lost:
    return "no task is lost";
  case QueueRule::twice:
    return "no task comes out twice";
  case QueueRule::invented:
    return "only pushed tasks come out";
  case QueueRule::refused:
    return "only accepted tasks come out";
  case QueueRule::hidden:
    return "a refused task hides no other";
  case QueueRule::priority:
    return "higher priorities come first, and the first come among equals";
  case QueueRule::asked:
    return "accept is asked about tasks in the queue";
  case QueueRule::peeked:
    return "peek answers what pop will";
  case QueueRule::missed:
    return "a poll sees what was pushed before it";
  case QueueRule::threw:
    return "no operation throws";
  }
  return "?";
}

using QueueReport = ReportOf<QueueRule>;

} // namespace hetsched::testing
