// SPDX-License-Identifier: MIT
#pragma once
// Tests any scheduler against the contract of concepts/scheduler.hpp, in any test framework.

#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/testing/abort_scenarios.hpp>
#include <hetsched/detail/testing/driver.hpp>
#include <hetsched/detail/testing/scenarios.hpp>
#include <hetsched/detail/testing/sleep_scenarios.hpp>
#include <hetsched/detail/testing/thread_scenarios.hpp>
#include <hetsched/testing/conformance_report.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::testing {

namespace detail {

/// Runs every scenario on machines of one class and of several, until the report is full.
class Conformance {
public:
  Conformance(Options const& options, std::string_view policy, Make make)
      : options_(options), make_(std::move(make)), findings_(report_, options.max_violations) {
    report_.policy = policy;
  }

  Report run() && {
    Machine const one{"1 host", {ArchHost}};
    Machine const three{"3 hosts", {ArchHost, ArchHost, ArchHost}};
    Machine const mixed{"2 hosts and 2 others", {ArchHost, ArchCUDA, Arch{2}, ArchHost}};
    for (auto const& machine : {one, three, mixed}) {
      one_thread(machine);
    }
    // One worker for each class: no other worker can be relied on to take its tasks.
    in_case({"1 worker each of 3 classes", {ArchHost, ArchCUDA, Arch{2}}},
            "nested wait",
            options_.seed,
            Threads::one,
            [](Driver& driver) { nested_wait(driver); });
    if (options_.threads > 1) {
      many_threads();
    }
    return std::move(report_);
  }

private:
  std::vector<std::uint64_t> in_case(Machine const& machine,
                                     char const* scenario,
                                     std::uint64_t seed,
                                     Threads threads,
                                     std::function<void(Driver&)> const& body) {
    if (findings_.full()) {
      return {};
    }
    try {
      Driver driver(machine, scenario, seed, threads, make_, findings_);
      body(driver);
      return driver.trace();
    } catch (std::exception const& error) { // the driver catches the exceptions of hooks
      findings_.add(Rule::threw,
                    "construction",
                    seed,
                    no_worker,
                    std::string("the constructor threw: ") + hetsched::detail::message_of(error));
      return {};
    }
  }

  void one_thread(Machine const& machine) {
    in_case(machine, "one push", options_.seed, Threads::one, [](Driver& driver) {
      OnePush(driver).run();
    });
    for (int k = 0; k < options_.seeds; ++k) {
      auto const seed = options_.seed + static_cast<std::uint64_t>(k);
      auto const mix = [&](Driver& driver) { RandomMix(driver, seed, options_.tasks).run(); };
      auto const first = in_case(machine, "random mix", seed, Threads::one, mix);
      if (k == 0 && first != in_case(machine, "random mix", seed, Threads::one, mix)) {
        findings_.add(Rule::determinism,
                      "random mix",
                      seed,
                      no_worker,
                      "two instances, driven alike, answered differently");
      }
      auto const unseen = [&](Driver& driver) {
        bool const peeks = driver.peeks();
        driver.leave_out_peeks();
        if (peeks) {
          mix(driver);
        }
      };
      auto const without = in_case(machine, "random mix", seed, Threads::one, unseen);
      if (!without.empty() && first != without) {
        findings_.add(Rule::peeked,
                      "random mix",
                      seed,
                      no_worker,
                      "an instance that is never asked to peek answered differently");
      }
      in_case(machine, "sleepers", seed, Threads::one, [&](Driver& driver) {
        Sleepers(driver, seed, options_.tasks).run();
      });
      in_case(machine, "aborts", seed, Threads::one, [&](Driver& driver) {
        Aborts(driver, seed, options_.tasks).run();
      });
      in_case(machine, "captured graph", seed, Threads::one, [&](Driver& driver) {
        captured_graph(driver, seed, options_.tasks);
      });
    }
  }

  void many_threads() {
    for (int count = 2; count <= std::min(options_.threads, 8); count *= 2) {
      for (auto const other : {Arch(ArchHost), Arch(ArchCUDA)}) {
        Machine machine{
            std::to_string(count) + (other == ArchHost ? " hosts" : " hosts and others"), {}};
        for (int w = 0; w < count; ++w) {
          machine.archs.push_back(w % 2 == 0 ? Arch(ArchHost) : other);
        }
        in_case(machine, "threads", options_.seed, Threads::many, [&](Driver& driver) {
          Stress(driver, options_.seed, options_.threaded_tasks).run();
        });
      }
    }
    in_case({"2 hosts", {ArchHost, ArchHost}},
            "handover",
            options_.seed,
            Threads::many,
            [&](Driver& driver) { Handover(driver, options_.handovers).run(); });
  }

  Options const& options_;
  Make make_;
  Report report_;
  Findings findings_;
};

} // namespace detail

/// Drives instances of S by hand and by real threads, as an engine would, and reports every rule of
/// the contract that was broken; nothing if there is none. Violations are in the report, never in
/// an exception. The kit ends by itself unless a hook does not return. Several threads run inside
/// at once (under one lock if S is serialized): run the kit under ThreadSanitizer, too.
///
///     auto const report = hetsched::testing::check_scheduler<MyScheduler>();
///     CHECK_MESSAGE(report.ok(), report.text());
///
/// "per_queue" means here: tasks of one pusher with the same classes that got the same Wake as the
/// answer are in one queue. It is the queue of the named worker, or otherwise of the pusher. A
/// worker's pops take the highest priority from its queue, first come first served among equals.
template <class S>
[[nodiscard]] Report check_scheduler(Options const& options = {}) {
  static_assert(std::is_constructible_v<S, std::span<WorkerInfo const>> ||
                    std::is_default_constructible_v<S>,
                "hetsched: Scheduler must be constructible from std::span<WorkerInfo const> or by "
                "default; see concepts/scheduler.hpp");
  return detail::Conformance(
             options,
             hetsched::detail::type_name<S>(),
             [](std::span<WorkerInfo const> workers) { return detail::make_subject<S>(workers); })
      .run();
}

/// The same for a scheduler with knobs.
template <class S>
[[nodiscard]] Report check_scheduler(Options const& options, typename S::Config const& config) {
  return detail::Conformance(options,
                             hetsched::detail::type_name<S>(),
                             [&](std::span<WorkerInfo const> workers) {
                               return detail::make_subject<S>(workers, config);
                             })
      .run();
}

} // namespace hetsched::testing
