// SPDX-License-Identifier: MIT
#pragma once
// The transfers that memory nodes ask for, in virtual time.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/memory/memory_nodes.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/virtual_time/virtual_links.hpp>
#include <hetsched/detail/virtual_time/virtual_windows.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Performs the transfers with the times of VirtualLinks, on two lanes for each device: into it,
/// and out of it. Measures how long each lane was busy, and how long kernels ran during that time.
class VirtualTransfers {
public:
  static constexpr Instant never = VirtualLinks<Copy*>::never;

  /// The caller owns the clock.
  VirtualTransfers(Simulation const& config,
                   MemoryNodes& nodes,
                   VirtualWindows const& windows,
                   std::size_t devices,
                   Instant const& now)
      : links_(config.platform,
               config.transfers,
               static_cast<int>(devices),
               2 * static_cast<int>(devices)),
        nodes_(nodes), windows_(windows), now_(now), packed_(config.packed), lanes_(2 * devices) {}

  /// Records transfers from now on.
  void record(Recorder& recorder) noexcept { recorder_ = &recorder; }

  /// By the platform and the model of transfers.
  [[nodiscard]] Duration time(std::size_t bytes, NodeId from, NodeId to) const {
    return links_.time(bytes, from, to);
  }

  /// Whether no transfer into the device was asked for or is under way.
  [[nodiscard]] bool idle_into(NodeId at) const noexcept {
    return lanes_[2 * (static_cast<std::size_t>(at.value) - 1)].transfers == 0;
  }

  /// When the next transfer begins or ends.
  [[nodiscard]] Instant next() const noexcept { return links_.next(); }

  /// Begins the transfers that were asked for.
  void start() {
    while (auto* const copy = nodes_.next_copy()) {
      auto const lane = lane_of(*copy);
      try {
        links_.start(
            lane, copy, copy->datum->bytes(), copy->from, copy->to, now_, follows(lane, *copy));
      } catch (...) {
        nodes_.perform_later(*copy);
        throw;
      }
      if (lanes_[lane].transfers++ == 0) {
        begin_measure(lane);
      }
    }
  }

  /// The clock has moved on.
  void advance() {
    links_.advance(now_, [this](Copy* copy) { finish(copy); });
    start();
  }

  /// The datum's transfers, asked for or under way, end now. Others that were asked for may not
  /// have begun.
  void end_transfers(Replicas& datum) noexcept {
    while (auto* const copy = nodes_.next_copy(datum)) {
      end_now(*copy);
    }
    if (datum.copies_moving != 0) {
      Copy* ended = nullptr; // linked by `engine`
      Copy* last = nullptr;
      links_.cut(now_, [&](Copy* copy) {
        if (copy->datum != &datum) {
          return false;
        }
        (last == nullptr ? ended : last->engine) = copy;
        last = copy;
        return true;
      });
      while (ended != nullptr) {
        auto& copy = *std::exchange(ended, ended->engine);
        --lanes_[lane_of(copy)].transfers;
        end_now(copy);
      }
    }
  }

  /// Adds what was measured at a device.
  void add_to(DeviceStats& stats, std::size_t device) const noexcept {
    for (auto lane = 2 * device; lane < 2 * device + 2; ++lane) {
      stats.transfers += lanes_[lane].busy;
      stats.hidden += lanes_[lane].hidden;
    }
  }

private:
  /// The transfers into a device, or out of it, that were asked for and are not over.
  struct Lane {
    std::size_t transfers = 0;
    std::byte const* end = nullptr; // in host memory, of the datum of the latest one; of one run
    Instant since;                  // begin of the one that is under way
    Duration kernels;               // kernel time on the device until then
    Duration busy;                  // of those that are over
    Duration hidden;                // kernel time during these transfers
  };

  [[nodiscard]] static std::size_t lane_of(Copy const& copy) noexcept {
    auto const device = copy.to == host_node ? copy.from : copy.to;
    return 2 * (static_cast<std::size_t>(device.value) - 1) + (copy.to == host_node ? 1 : 0);
  }

  /// Whether the transfer is packed with the latest one in its lane, which is not over. The next
  /// one in the lane may follow this one.
  [[nodiscard]] bool follows(std::size_t number, Copy const& copy) noexcept {
    auto& lane = lanes_[number];
    auto const& datum = *copy.datum;
    bool const one_run = datum.columns == 1 && datum.host != nullptr;
    bool const next = packed_ && lane.transfers != 0 && one_run && datum.host == lane.end &&
                      (copy.from == host_node || copy.to == host_node);
    lane.end = one_run ? datum.host + datum.width : nullptr;
    return next;
  }

  void end_now(Copy& copy) noexcept {
    if (recorder_ != nullptr) {
      recorder_->moved(*copy.datum, copy.from, copy.to, now_, now_);
    }
    nodes_.finished(&copy, true);
  }

  void begin_measure(std::size_t lane) noexcept {
    lanes_[lane].since = now_;
    lanes_[lane].kernels = windows_.kernels(lane / 2);
  }

  /// The next one in the lane, if there is one, has just begun.
  void finish(Copy* copy) {
    auto const number = lane_of(*copy);
    auto& lane = lanes_[number];
    lane.busy += now_ - lane.since;
    lane.hidden += windows_.kernels(number / 2) - lane.kernels;
    --lane.transfers;
    if (recorder_ != nullptr) {
      recorder_->moved(*copy->datum, copy->from, copy->to, lane.since, now_);
    }
    begin_measure(number);
    nodes_.finished(copy, true);
  }

  VirtualLinks<Copy*> links_;
  MemoryNodes& nodes_;
  VirtualWindows const& windows_;
  Instant const& now_;
  bool const packed_;
  std::vector<Lane> lanes_;
  Recorder* recorder_ = nullptr; // null: none
};

} // namespace hetsched::detail
