// SPDX-License-Identifier: MIT
#pragma once
// When a rank steals tasks from another one, which, and how many.

#include <cstddef>
#include <cstdint>

namespace hetsched {

/// How a rank keeps its tasks. A task is a GPU task if it is expected to be faster on a GPU.
enum class StealQueues : std::uint8_t {
  unsorted, // one queue, in the order in which tasks came
  sorted,   // one queue, from those that are best on a core to those that are best on a GPU
  two,      // one of CPU tasks and one of GPU tasks, each in the order in which tasks came
};

/// What runs out before a rank steals; never: it does not, and keeps the tasks that it has.
enum class StealTrigger : std::uint8_t { all, cpu, gpu, either, never };

/// From which end of the victim's queue, or from which of the two queues.
enum class StealEnd : std::uint8_t {
  tail,     // where the victim works last
  matching, // that of the tasks that ran out
  both,     // half of the loot from each
};

enum class StealAmount : std::uint8_t { half, chunk };
enum class StealVictim : std::uint8_t { random, round_robin };

/// Which of a victim's tasks.
enum class StealTasks : std::uint8_t {
  any,
  near, // first those of whose patches the thief has the most bytes. Those that are near others
        // when it has no task of this kind, and has found none near it at some victims. A rank
        // keeps what is near it as long as it can
};

/// A thief's rule. The schemes below have names; a policy of your own is a struct with such a rule:
///
///     struct Mine {
///       static constexpr hs::StealRule rule{.trigger = hs::StealTrigger::gpu, .threshold = 2};
///     };
///
/// A rank without a GPU, or without GPU tasks anywhere, steals as soon as the tasks that it has are
/// no more than the threshold.
struct StealRule {
  StealQueues queues = StealQueues::sorted;
  StealTrigger trigger = StealTrigger::all;
  int threshold = 0; // tasks of that kind which are left when the rank steals
  StealEnd end = StealEnd::matching;
  StealAmount amount = StealAmount::half; // of the tasks that the victim has released
  int chunk = 1;                          // tasks at a time; with StealAmount::chunk
  StealVictim victim = StealVictim::random;
  StealTasks tasks = StealTasks::any;
  int retries = 5; // at one victim, when others change its queue at that moment
};

/// A policy with a StealRule.
template <class S>
concept StealPolicy = requires { StealRule(S::rule); };

/// Tasks stay where they begin.
struct NoStealing {
  static constexpr StealRule rule{.trigger = StealTrigger::never};
};

/// One queue, and a thief that has nothing left: the scheme of Scioto.
/// Source: Arafat et al. 2016, sec. 3.3, "single-ended"; Dinan et al., SC09.
struct SingleEnded {
  static constexpr StealRule rule{.queues = StealQueues::unsorted, .end = StealEnd::tail};
};

/// A queue for each kind, and a thief that has no task of one of them.
/// Source: Arafat et al. 2016, sec. 3.3 and 4.2, "double queue".
struct DoubleQueue {
  static constexpr StealRule rule{.queues = StealQueues::two, .trigger = StealTrigger::either};
};

/// A sorted queue, and a thief that takes half of the loot from each end. Threshold 0: when it has
/// nothing left (sec. 3.3); else when it has no more than that (sec. 4.2).
template <int Threshold = 0>
struct DoubleEnded {
  static constexpr StealRule rule{.threshold = Threshold, .end = StealEnd::both};
};

/// A sorted queue, and a thief whose GPU tasks run out, which takes from the GPU end (sec. 4.2).
template <int Threshold = 0>
struct GpuEnded {
  static constexpr StealRule rule{.trigger = StealTrigger::gpu, .threshold = Threshold};
};

template <int Threshold = 0>
struct CpuEnded {
  static constexpr StealRule rule{.trigger = StealTrigger::cpu, .threshold = Threshold};
};

/// A sorted queue, and a thief whose tasks of either kind run out, which takes from that end: what
/// sec. 3.3 calls CPU/GPU-ended, and sec. 4.2, in figure 8, single-ended.
template <int Threshold = 0>
struct EitherEnd {
  static constexpr StealRule rule{.trigger = StealTrigger::either, .threshold = Threshold};
};

/// The same, and a thief that prefers tasks whose patches it has, as far as whole tasks are near
/// one rank. Bytes that move cost time; sec. 5.3 names this as future work.
template <StealPolicy Base = SingleEnded>
struct DataAware {
  static constexpr StealRule rule = [] {
    StealRule of = Base::rule;
    of.tasks = StealTasks::near;
    return of;
  }();
};

} // namespace hetsched
