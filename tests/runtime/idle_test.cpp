// SPDX-License-Identifier: MIT
// Workers without work sleep, and wake when there is some.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

namespace hs = hetsched;
using support::on_cpus;

namespace idle_test {

/// CPU time of all threads of this process.
std::chrono::nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

constexpr double limit = 0.02; // of a core; a worker that spins uses all of one, all the time

/// The share of one core that the process uses while the calling thread sleeps: the least of some
/// measurements, because a busy machine or a sanitizer may put other work into one.
double load() {
  constexpr std::chrono::duration<double> time = std::chrono::milliseconds(200);
  double least = 1;
  for (int attempt = 0; attempt < 5 && least >= limit; ++attempt) {
    auto const before = cpu_time();
    std::this_thread::sleep_for(time);
    least = std::min(least, std::chrono::duration<double>(cpu_time() - before) / time);
  }
  return least;
}

TEST_SUITE_BEGIN("idle");

TEST_CASE_TEMPLATE("idle: costs no CPU time", Scheduler, HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(4));
  for (int k = 0; k < 100; ++k) {
    rt.spawn()([] {});
  }
  rt.sync();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));

  CHECK(load() < limit);
}

TEST_CASE_TEMPLATE("idle: so do workers that wait for the one that works",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  using Rt = hs::Runtime<Scheduler>;
  Rt rt(on_cpus(4));
  double measured = 1;
  rt.spawn()([&](Rt& inner) {
    inner.spawn()([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      measured = load();
    });
    inner.sync();
  });
  rt.sync();
  CHECK(measured < limit);
}

TEST_CASE_TEMPLATE("idle: a task wakes a sleeping worker, with nobody in sync",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  for (int round = 0; round < 50; ++round) {
    if (round % 10 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5)); // surely asleep
    }
    std::atomic<bool> ran{false};
    rt.spawn()([&ran] { ran = true; });
    REQUIRE(support::eventually([&] { return ran.load(); }));
  }
}

TEST_CASE_TEMPLATE("idle: a task wakes the thread asleep in sync",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  support::Gate gate;
  bool passed = false;
  std::atomic<int> ran{0};
  rt.spawn()([&] { passed = gate.pass(); }); // whoever runs it, the other one has nothing to do
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int k = 0; k < 20; ++k) {
      rt.spawn()([&ran] { ++ran; });
    }
    gate.open();
  });
  rt.sync();
  other.join();
  rt.sync();
  CHECK(passed);
  CHECK(ran == 20);
}

TEST_SUITE_END();

} // namespace idle_test
