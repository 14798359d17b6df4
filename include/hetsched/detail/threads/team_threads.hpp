// SPDX-License-Identifier: MIT
#pragma once
// The threads beside a worker's own, one for each further core of its group.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/core/worker_thread.hpp>
#include <hetsched/detail/dataflow/attempts.hpp>
#include <hetsched/detail/engine/access_check.hpp>
#include <hetsched/detail/threads/team_port.hpp>
#include <hetsched/detail/threads/topology.hpp>

#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace hetsched::detail {

/// They sleep until the worker has work for them. Only the thread that sits in the worker calls
/// `run`.
///
/// Memory orders: `run` stores into ordinary memory. `round_` publishes that (release by the
/// worker, acquire by members). `at_work_` hands back what members wrote (each member's release is
/// in one release sequence; the worker acquires). No member enters a round before all have left the
/// last one, because the worker waits for them.
///
/// A template, so that programs that include this and have no teams do not compile it.
template <class Thread>
class BasicTeamThreads final : public TeamPort {
public:
  /// Makes threads for cores, given by the system's numbers; -1: not bound. Throws
  /// Error(bad_config) if the system has no thread left.
  BasicTeamThreads(int const* cpus, int count) {
    try {
      for (int k = 0; k < count; ++k) {
        auto& member = members_.emplace_back(*this, k + 1, cpus[k]);
        member.thread.start(&serve, &member);
      }
    } catch (...) {
      end();
      throw;
    }
  }

  BasicTeamThreads(BasicTeamThreads const&) = delete;
  BasicTeamThreads& operator=(BasicTeamThreads const&) = delete;

  ~BasicTeamThreads() override { end(); }

  /// The number of threads, with the worker's own.
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(members_.size()) + 1; }

  /// Calls call(body, member) on all threads at the same time, for member = 0 (this thread) to
  /// size() - 1. Rethrows the first exception.
  void run(void* body, Call call) override {
    body_ = body;
    call_ = call;
    attempt_ = this_attempt;
    auto* const own_watch = this_watch;
    watch_ = this_watch = watch_of_team(own_watch);
    at_work_.store(static_cast<int>(members_.size()), std::memory_order_relaxed);
    next_round();
    // Inside the body this thread has no team: a team in a team is one core.
    auto* const own = std::exchange(this_team, nullptr);
    call_member(0);
    this_team = own;
    for (int left = 0; (left = at_work_.load(std::memory_order_acquire)) != 0;) {
      at_work_.wait(left, std::memory_order_acquire);
    }
    this_watch = own_watch;
    if (error_) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

private:
  struct Member {
    Member(BasicTeamThreads& of_team, int number_there, int on_cpu)
        : team(of_team), number(number_there), cpu(on_cpu) {}

    BasicTeamThreads& team;
    int const number;
    int const cpu;
    Thread thread;
  };

  static void* serve(void* argument) {
    auto const& member = *static_cast<Member*>(argument);
    auto& team = member.team;
    if (member.cpu >= 0) {
      bind_this_thread(member.cpu);
    }
    for (int seen = 0;;) {
      team.round_.wait(seen, std::memory_order_acquire);
      seen = team.round_.load(std::memory_order_acquire);
      if (team.call_ == nullptr) {
        return nullptr;
      }
      this_attempt = team.attempt_;
      this_watch = team.watch_;
      team.call_member(member.number);
      this_watch = nullptr;
      this_attempt = nullptr;
      if (team.at_work_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        team.at_work_.notify_one();
      }
    }
  }

  void call_member(int member) noexcept {
    try {
      call_(body_, member);
    } catch (...) {
      std::lock_guard const guard(error_lock_);
      if (!error_) {
        error_ = std::current_exception();
      }
    }
  }

  void next_round() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void end() noexcept {
    call_ = nullptr;
    next_round();
    for (auto& member : members_) {
      member.thread.join();
    }
  }

  std::deque<Member> members_; // members stay where they are
  void* body_ = nullptr;
  Call call_ = nullptr;
  AttemptLink* attempt_ = nullptr;
  void* watch_ = nullptr;
  Atomic<int> round_{0};
  Atomic<int> at_work_{0};
  SpinLock error_lock_;
  std::exception_ptr error_;
};

using TeamThreads = BasicTeamThreads<WorkerThread>;

} // namespace hetsched::detail
