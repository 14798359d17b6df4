// SPDX-License-Identifier: MIT
#pragma once
// Names of static schedules on command lines.

#include <hetsched/core/error.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>

#include "candidates.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace example {

namespace hs = hetsched;

/// "static:FROM", with ",g" or ",gs" (an idle GPU takes GEMMs, and SYRKs), ",steal" (idle cores
/// steal from cores) and ",merge" (GPUs share a list) behind it.
struct StaticName {
  std::string from; // a file, or the method that computes the schedule
  hs::policies::StaticSchedule::Config config = {};

  /// Nothing if it is another scheduler's name. Throws Error(bad_input) if it names no schedule.
  [[nodiscard]] static std::optional<StaticName> of(std::string_view name) {
    if (!name.starts_with(static_prefix)) {
      return std::nullopt;
    }
    StaticName result;
    auto from = name.substr(static_prefix.size());
    for (auto comma = from.rfind(','); comma != from.npos && result.takes(from.substr(comma + 1));
         comma = from.rfind(',')) {
      from = from.substr(0, comma);
    }
    if (from.empty()) {
      throw hs::Error(hs::ErrorCode::bad_input, "--scheduler", "static: names no schedule");
    }
    result.from = from;
    return result;
  }

private:
  bool takes(std::string_view option) {
    // tsmqr and ormqr are to QR what gemm and syrk are to Cholesky.
    if (option == "g") {
      config.gpus_take = {"gemm", "tsmqr"};
    } else if (option == "gs") {
      config.gpus_take = {"gemm", "tsmqr", "syrk", "ormqr"};
    } else if (option == "steal") {
      config.cores_steal = true;
    } else if (option == "merge") {
      config.merge_gpus = true;
    } else {
      return false;
    }
    return true;
  }
};

} // namespace example
