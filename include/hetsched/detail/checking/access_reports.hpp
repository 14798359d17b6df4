// SPDX-License-Identifier: MIT
#pragma once
// A body that is watched, and what is said of what it touches.

#include <hetsched/detail/checking/watched_regions.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/engine/access_check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A body, or a kernel on an emulated device, that is watched on a thread.
struct Watched {
  DataRegistry* registry = nullptr;
  TaskType const* type = nullptr;
  std::string culprit;
  WorkerId worker{};
  std::span<TaskRecord* const> tasks = {}; // whose data it may use: registered in these
  std::span<WatchedArgument const> arguments = {};
  std::span<DeviceBlock const> blocks = {}; // of a kernel: the device's memory
  std::vector<std::string> wrong = {};      // what it did
  std::vector<std::string> told = {};       // which data that were, and how
  Watched* outer = nullptr;

  enum class State : std::uint8_t { off, on, loose } state = State::off;
  bool program_waits = false; // when it began; see Turns
  bool any_loose = false;     // the same
  std::uint64_t gone_on = 0;
  std::uint64_t loosened = 0;
};

/// A record may be there for longer than the program keeps its memory.
[[nodiscard]] inline bool is_there(DataRecord const& record) noexcept {
  return record.temporary || record.handles.load(std::memory_order_relaxed) != 0;
}

/// The smallest datum that holds the byte; null: none does.
[[nodiscard]] inline DataRecord const* datum_at(DataRegistry& registry, std::uintptr_t at) {
  DataRecord const* found = nullptr;
  registry.for_each_locked([&](DataRecord const& record) {
    if (is_there(record) && WatchedRegion::of(record, record.home.base, record.home.ld).holds(at) &&
        (found == nullptr || record.elements() < found->elements())) {
      found = &record;
    }
  });
  return found;
}

[[nodiscard]] inline std::uintptr_t column_end(DataRecord const& record, std::uintptr_t at) {
  auto const region = WatchedRegion::of(record, record.home.base, record.home.ld);
  return region.dense() ? region.end()
                        : at - (at - region.base) % region.stride() + region.height();
}

/// A device's memory by the argument that is nearest to the byte.
[[nodiscard]] inline std::pair<std::string, std::string> describe_on_device(Watched const& watched,
                                                                            std::uintptr_t at) {
  std::string const what = "memory of the device that is none of its data";
  auto const distance = [at](WatchedArgument const& argument) {
    auto const& region = argument.region;
    return at < region.base ? region.base - at : at - region.end() + 1;
  };
  auto const nearest =
      std::min_element(watched.arguments.begin(),
                       watched.arguments.end(),
                       [&](auto const& a, auto const& b) { return distance(a) < distance(b); });
  if (nearest == watched.arguments.end()) {
    return {what, what};
  }
  return {text("%s, %zu bytes %s data argument %zu, %s",
               what.c_str(),
               static_cast<std::size_t>(distance(*nearest)),
               at < nearest->region.base ? "before" : "behind",
               nearest->number,
               nearest->datum.c_str()),
          what};
}

/// The words for a byte, and for the datum that it is in.
[[nodiscard]] inline std::pair<std::string, std::string> describe(Watched const& watched,
                                                                  std::uintptr_t at) {
  for (auto const& argument : watched.arguments) {
    if (argument.region.holds(at)) {
      return {argument.describe(at), argument.datum};
    }
  }
  if (auto const* const record = datum_at(*watched.registry, at)) {
    auto const region = WatchedRegion::of(*record, record->home.base, record->home.ld);
    return {region.element_at(at) + " of " + record->describe() + ", which it did not declare",
            record->describe()};
  }
  if (watched.blocks.empty()) {
    return {"data that are gone by now, which it did not declare", ""};
  }
  return describe_on_device(watched, at);
}

/// Each datum once for reads and once for writes.
inline void report(Watched& watched, std::uintptr_t at, bool write) {
  auto const [what, datum] = describe(watched, at);
  auto const kind = (write ? "writes " : "reads ") + datum;
  auto& told = watched.told;
  if (std::find(told.begin(), told.end(), kind) != told.end()) {
    return;
  }
  told.push_back(kind);
  watched.wrong.push_back((write ? "writes " : "reads ") + what +
                          text("; worker %d%s",
                               static_cast<int>(watched.worker.value),
                               watched.blocks.empty() ? "" : ", in a kernel"));
  std::fprintf(stderr, "hetsched: %s: %s\n", watched.culprit.c_str(), watched.wrong.back().c_str());
}

} // namespace hetsched::detail
