// SPDX-License-Identifier: MIT
#pragma once
// VirtualCore: what is counted in it, and what it tells of itself.

#include <hetsched/detail/virtual_engine.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace hetsched::detail {

template <class S, class C, class P>
Stats VirtualCore<S, C, P>::stats() const {
  Stats stats;
  stats.spawned = spawned_;
  stats.merges = merges_;
  stats.cancelled = cancelled_;
  stats.early = early_;
  stats.elapsed = now_ - since_;
  stats.deciding = deciding_;
  for (auto const& its : workers_) {
    auto const running = its.running != nullptr ? now_ - std::max(its.begin, since_) : Duration{};
    auto const idle = stats.elapsed - its.busy - running;
    stats.workers.push_back({its.executed, its.steals, idle, its.aborted, its.wasted});
    stats.executed += its.executed;
    stats.steals += its.steals;
    stats.idle += idle;
    stats.aborted += its.aborted;
    stats.wasted += its.wasted;
  }
  if (memory_) {
    memory_->add_to(stats);
    for (std::size_t d = 0; d < device_stats_base_.size(); ++d) {
      stats.devices[d].count_from(device_stats_base_[d]);
    }
  }
  for (auto const& entry : times_.entries()) {
    for (std::size_t a = 0; a < entry.executed.size(); ++a) {
      if (auto const& its = entry.executed[a]; its.count != 0) {
        stats.types.push_back({entry.name,
                               Arch{static_cast<std::uint8_t>(a)},
                               its.count,
                               its.total,
                               its.shortest,
                               its.longest});
      }
    }
  }
  return stats;
}

template <class S, class C, class P>
void VirtualCore<S, C, P>::reset_stats() {
  since_ = now_;
  if (memory_) {
    Stats counted;
    memory_->add_to(counted);
    device_stats_base_ = std::move(counted.devices);
  }
  spawned_ = merges_ = cancelled_ = early_ = 0;
  deciding_ = {};
  for (auto& its : workers_) {
    its.executed = its.steals = its.aborted = 0;
    its.busy = its.wasted = {};
  }
  for (auto& entry : times_.entries()) {
    entry.executed = {};
  }
}

template <class S, class C, class P>
std::string VirtualCore<S, C, P>::dump(DataRegistry&) const {
  auto text = "virtual time " + std::to_string(now_.ns) + " ns, " +
              std::to_string(registered_ - completed_) + " tasks not complete, " +
              std::to_string(waiting_) + " with the scheduler\n";
  for (auto const& info : infos_) {
    auto const& its = workers_[info.id.index()];
    text += "worker " + std::to_string(info.id.value) + ": " +
            (its.running != nullptr ? "'" + std::string(its.running->type_of().name) + "' until " +
                                          std::to_string(its.end.ns)
                                    : std::string(running(info.id) ? "waits for data" : "idle")) +
            "\n";
  }
  return text;
}

} // namespace hetsched::detail
