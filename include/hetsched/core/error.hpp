// SPDX-License-Identifier: MIT
#pragma once
// The one exception type that hetsched itself throws.

#include <hetsched/detail/core/text.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hetsched {

enum class ErrorCode : std::uint8_t {
  bad_config,        // a configuration field, environment variable or option
  bad_input,         // a file or its contents
  bad_data,          // a registration: null, overlapping, wrong shape
  bad_access,        // a spawn: undeclared data, stronger mode, partitioned handle
  data_in_use,       // a region destroyed while tasks still use it
  cannot_run,        // no worker of this runtime can run the task
  cancelled,         // a task that failed should have written the datum
  bad_call,          // an operation that is not allowed here (inside capture, after fork)
  numerical,         // a computation that cannot continue (not positive definite, NaN)
  device_failed,     // a device refused an operation, broke, or has no room for a task
  rank_failed,       // a rank of a program on several machines ended, fell silent or gave up
  undeclared_access, // a body touched data that it did not declare so (Check::access)
};

/// A user's mistake or a failed run. `culprit()` is what caused it (variable, file, data or task).
/// `what()` is one line, "hetsched: <culprit>: <message>". In it a control character is a '?', and
/// of a culprit or message of more than 4000 bytes the end is left out.
class Error : public std::runtime_error {
public:
  [[gnu::cold, gnu::noinline]]
  Error(ErrorCode code, std::string culprit, std::string const& message)
      : std::runtime_error(detail::error_line(culprit, message)), code_(code),
        culprit_(std::move(culprit)) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

  [[nodiscard]] std::string const& culprit() const noexcept { return culprit_; }

private:
  ErrorCode code_;
  std::string culprit_;
};

} // namespace hetsched
