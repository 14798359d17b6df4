// SPDX-License-Identifier: MIT
#pragma once
// Tells a recorder of the evictions in memory nodes.

#include <hetsched/detail/memory/memory_events.hpp>
#include <hetsched/detail/recording/recorder.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Observes memory nodes for a recorder, and passes all events on to another observer, if there is
/// one. Used under the lock of the memory nodes.
template <class Clock>
class RecordedMemory final : public MemoryObserver {
public:
  RecordedMemory(Recorder& recorder, Clock clock, MemoryObserver* next)
      : recorder_(recorder), clock_(std::move(clock)), next_(next) {}

  void admit(Replicas const& datum, NodeId at, bool reads, bool writes) override {
    std::erase(leaving_, std::pair(&datum, at)); // it stays
    pass([&](auto& part) { part.admit(datum, at, reads, writes); });
  }

  void begin(Replicas const& datum, NodeId at, bool reads, bool writes) override {
    pass([&](auto& part) { part.begin(datum, at, reads, writes); });
  }

  void end(Replicas const& datum, NodeId at, bool writes, bool done) override {
    pass([&](auto& part) { part.end(datum, at, writes, done); });
  }

  void cancel(Replicas const& datum, NodeId at, bool writes) override {
    pass([&](auto& part) { part.cancel(datum, at, writes); });
  }

  void write_back(Replicas const& datum, NodeId at) override {
    leaving_.emplace_back(&datum, at);
    pass([&](auto& part) { part.write_back(datum, at); });
  }

  void evict(Replicas const& datum, NodeId at) override {
    bool const dirty = std::erase(leaving_, std::pair(&datum, at)) != 0;
    recorder_.evicted(datum, at, clock_(), dirty);
    pass([&](auto& part) { part.evict(datum, at); });
  }

  void prefetch(Replicas const& datum, NodeId at) override {
    pass([&](auto& part) { part.prefetch(datum, at); });
  }

  void moved(Replicas const& datum, NodeId from, NodeId to) override {
    pass([&](auto& part) { part.moved(datum, from, to); });
  }

  void forget(Replicas const& datum) override {
    std::erase_if(leaving_, [&](auto const& entry) { return entry.first == &datum; });
    pass([&](auto& part) { part.forget(datum); });
  }

private:
  template <class F>
  void pass(F const& tell) {
    if (next_ != nullptr) {
      tell(*next_);
    }
  }

  Recorder& recorder_;
  Clock const clock_;
  MemoryObserver* const next_;
  /// Evicted data whose transfer to host memory is under way.
  std::vector<std::pair<Replicas const*, NodeId>> leaving_;
};

} // namespace hetsched::detail
