// SPDX-License-Identifier: MIT
#pragma once
// Tests any queue against the contract of concepts/queue.hpp, in any test framework.

#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/testing/conformance_run.hpp>
#include <hetsched/detail/testing/queue_scenarios.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace hetsched::testing {

/// How much to test. The defaults take well below a second for a shipped queue.
struct QueueOptions {
  std::uint64_t seed = 1; // the first one
  int seeds = 10;         // the random scenario runs once for each
  int steps = 400;        // of the random scenario
  int tasks = 1000;       // at one time, in the scenario of many tasks
  int threads = 4;        // in the scenarios with threads; below 2: no such scenario
  /// Whether any thread may push and pop. Queues without `steal` are always tested in this way.
  /// Queues with `steal` are tested by an owner and thieves, and if this is set in this way, too.
  bool shared = false;
  int threaded_tasks = 3000;       // in each scenario with threads
  int handovers = 300;             // races of one push against one thread that falls asleep
  std::size_t max_violations = 16; // the kit stops when it has found so many
};

namespace detail {

template <class Q>
class QueueSubjectOf final : public QueueSubject {
public:
  [[nodiscard]] bool can_steal() const noexcept override { return owned_queue<Q>; }

  [[nodiscard]] bool ordered() const noexcept override { return priority_queue<Q>; }

  [[nodiscard]] bool gives_up() const noexcept override { return gives_up_at_refusal<Q>; }

  [[nodiscard]] bool can_peek() const noexcept override { return peekable_queue<Q>; }

  void push(TaskId task, std::int32_t priority) override { queue_.push(task, priority); }

  std::size_t peek([[maybe_unused]] std::span<TaskId> next,
                   [[maybe_unused]] Asker accept) override {
    if constexpr (peekable_queue<Q>) {
      return queue_.peek(next, std::move(accept));
    } else {
      return 0;
    }
  }

  TaskId pop(Asker accept) override { return queue_.pop(std::move(accept)); }

  TaskId steal(Asker accept) override {
    if constexpr (owned_queue<Q>) {
      return queue_.steal(std::move(accept));
    } else {
      return no_task;
    }
  }

private:
  Q queue_;
};

class QueueConformance
    : ConformanceRun<QueueDriver, QueueOptions, MakeQueue, QueueReport, QueueFindings> {
public:
  using ConformanceRun::ConformanceRun;

  QueueReport run(bool steals) && {
    in_case("one task", options_.seed, [](QueueDriver& queue) { one_task(queue); });
    for (int k = 0; k < options_.seeds; ++k) {
      auto const seed = options_.seed + static_cast<std::uint64_t>(k);
      in_case(
          "random mix", seed, [&](QueueDriver& queue) { random_mix(queue, seed, options_.steps); });
    }
    in_case("many tasks", options_.seed, [&](QueueDriver& queue) {
      many_tasks(queue, options_.seed, options_.tasks);
    });
    if (options_.threads > 1) {
      with_threads(steals);
    }
    return std::move(report_);
  }

private:
  void with_threads(bool steals) {
    if (!steals || options_.shared) {
      in_case("pushers and takers", options_.seed, [&](QueueDriver& queue) {
        QueueStress(queue, options_.seed, options_.threaded_tasks).shared(options_.threads);
      });
    }
    if (steals) {
      in_case("owner and thieves", options_.seed, [&](QueueDriver& queue) {
        QueueStress(queue, options_.seed, options_.threaded_tasks).owned(options_.threads);
      });
    }
    in_case("handover", options_.seed, [&](QueueDriver& queue) {
      QueueHandover(queue, options_.handovers).run();
    });
  }
};

} // namespace detail

/// Drives instances of Q by one thread and by several, as schedulers would, and reports every rule
/// of the contract that was broken; nothing if there is none. Violations are in the report, never
/// in an exception. The kit ends by itself unless an operation does not return. Run it under
/// ThreadSanitizer, too.
///
///     auto const report = hetsched::testing::check_queue<MyQueue>();
///     CHECK_MESSAGE(report.ok(), report.text());
///
/// It cannot see from which end `steal` takes, nor std::bad_alloc.
template <class Q>
[[nodiscard]] QueueReport check_queue(QueueOptions const& options = {}) {
  static_assert(task_queue<Q>, "hetsched: check_queue<Q> needs a queue; see concepts/queue.hpp");
  return detail::QueueConformance(options,
                                  hetsched::detail::type_name<Q>(),
                                  [] { return std::make_unique<detail::QueueSubjectOf<Q>>(); })
      .run(owned_queue<Q>);
}

} // namespace hetsched::testing
