// SPDX-License-Identifier: MIT
#pragma once
// The cores that a task's body has to itself, where workers are groups of cores (Config::group).

#include <hetsched/detail/threads/team_threads.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace hetsched {

/// The cores of one worker: the one that runs the body, and others that wait for it to give them
/// something to do. A handle, for the length of the body.
class Team {
public:
  explicit Team(detail::TeamPort* threads) noexcept : threads_(threads) {}

  /// At least 1.
  [[nodiscard]] int size() const noexcept { return threads_ == nullptr ? 1 : threads_->size(); }

  /// Calls body(member) for each member from 0 to size() - 1, at the same time, 0 on the calling
  /// thread, and returns when all have. Members may wait for each other. What was written before
  /// the call is seen in it, and what members write after it. If some throw, rethrows the first
  /// exception once all have ended. Within it, each has a team of one.
  ///
  /// Costs some microseconds for waking the others; with a team of one, a call.
  template <class Body>
  void run(Body&& body) const {
    if (threads_ == nullptr) {
      body(0);
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    threads_->run(const_cast<std::remove_const_t<Plain>*>(&body),
                  [](void* called, int member) { (*static_cast<Plain*>(called))(member); });
  }

  /// Calls body(begin, end) for consecutive parts of 0 to count, at the same time and about equally
  /// long, each but the last a multiple of `grain`; not at all if count is 0. As `run` otherwise.
  template <class Body>
  void split(std::size_t count, std::size_t grain, Body&& body) const {
    auto const grains = (count + grain - 1) / grain;
    auto const parts = std::min<std::size_t>(grains, static_cast<std::size_t>(size()));
    if (parts <= 1) {
      if (count != 0) {
        body(std::size_t{0}, count);
      }
      return;
    }
    run([&](int member) {
      auto const part = static_cast<std::size_t>(member);
      if (part < parts) {
        body(part * grains / parts * grain, std::min((part + 1) * grains / parts * grain, count));
      }
    });
  }

private:
  detail::TeamPort* threads_;
};

namespace detail {

/// A template, so that only a program that calls `hs::team` has the threads of teams.
template <class Runs>
inline bool const teams_are_there = [] {
  team_factory = [](int const* cpus, int count) -> TeamPort* { return new Runs(cpus, count); };
  return true;
}();

} // namespace detail

/// Inside the body of a task on cores: those of its worker. Of size 1 anywhere else.
template <class Runs = detail::TeamThreads>
[[nodiscard]] Team team() noexcept {
  (void)detail::teams_are_there<Runs>;
  return Team(detail::this_team);
}

} // namespace hetsched
