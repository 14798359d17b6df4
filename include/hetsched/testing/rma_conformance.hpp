// SPDX-License-Identifier: MIT
#pragma once
// Tests any one-sided transport against the contract of concepts/rma_transport.hpp, in any test
// framework.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/testing/rma_patch_scenarios.hpp>
#include <hetsched/detail/testing/rma_rules.hpp>
#include <hetsched/detail/testing/rma_scenarios.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hetsched::testing {

/// How much to test. The defaults take about a second for a transport within one process.
struct RmaOptions {
  std::uint64_t seed = 1;                    // the first one
  int seeds = 2;                             // the random scenarios run once for each
  int ranks = 3;                             // of check_rma_transport, at least 2
  int operations = 60;                       // of each rank in a scenario
  std::int64_t patience_ns = 30'000'000'000; // nothing happens for so long: nothing more will
  std::size_t max_violations = 16;           // the kit stops when it has found so many
};

namespace detail {

struct RmaScenario {
  std::string name;
  std::uint64_t seed = 0;
  std::function<void(RmaDriver&)> body;
};

inline std::vector<RmaScenario> rma_scenarios(RmaOptions const& options) {
  auto const seed = options.seed;
  auto const operations = options.operations;
  std::vector<RmaScenario> all{
      {"sizes", seed, [](RmaDriver& rank) { sizes(rank); }},
      {"large", seed, [](RmaDriver& rank) { large(rank); }},
      {"counters", seed, [=](RmaDriver& rank) { counters(rank, operations); }},
      {"locks", seed, [=](RmaDriver& rank) { locks(rank, operations / 4); }},
      {"chains", seed, [=](RmaDriver& rank) { chains(rank, operations); }},
      {"bad calls", seed, [](RmaDriver& rank) { bad_calls(rank); }},
  };
  for (int k = 0; k < options.seeds; ++k) {
    auto const drawn = seed + static_cast<std::uint64_t>(k);
    for (auto const element : all_elements) {
      std::string const of = name_of(element);
      all.push_back({"puts and gets of " + of, drawn, [=](RmaDriver& rank) {
                       puts_and_gets(rank, drawn, element, 1 + operations / 10);
                     }});
      if (element != WindowElement::byte) {
        all.push_back({"sums of " + of, drawn, [=](RmaDriver& rank) {
                         sums(rank, drawn, element, operations);
                       }});
      }
    }
  }
  return all;
}

/// The scenarios in one process: a network for each, and a thread for each rank.
template <class Make>
class RmaConformance {
public:
  using Network = decltype(std::declval<Make const&>()(2, std::uint64_t{}));
  using T = decltype(std::declval<Network&>().transport(0));

  RmaConformance(Make const& make, RmaOptions const& options)
      : make_(make), options_(options), findings_(report_, options.max_violations) {
    report_.policy = hetsched::detail::type_name<T>();
  }

  RmaReport run() && {
    for (auto const& scenario : rma_scenarios(options_)) {
      on_all_ranks(
          scenario.name, scenario.seed, [&](RmaDriver& rank, Network&) { scenario.body(rank); });
    }
    if constexpr (can_kill) {
      for (int k = 0; k < options_.seeds; ++k) {
        one_ends(options_.seed + static_cast<std::uint64_t>(k));
      }
    }
    return std::move(report_);
  }

private:
  static constexpr bool can_kill = requires(Network& network) { network.kill(0); };

  void one_ends(std::uint64_t seed) {
    detail::Survivors all;
    auto const gone = static_cast<int>(seed % static_cast<std::uint64_t>(options_.ranks));
    on_all_ranks("a rank ends", seed, [&](RmaDriver& rank, Network& network) {
      a_rank_ends(rank, seed, gone, options_.operations, all, [&] { kill(network, gone); });
    });
  }

  static void kill([[maybe_unused]] Network& network, [[maybe_unused]] int rank) {
    if constexpr (can_kill) {
      network.kill(rank);
    }
  }

  template <class F>
  void on_all_ranks(std::string const& name, std::uint64_t seed, F const& body) {
    if (findings_.full()) {
      return;
    }
    auto network = make_(options_.ranks, seed);
    std::atomic<bool> spoiled{false};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      threads.emplace_back([&, rank] {
        T transport = network.transport(rank);
        hetsched::detail::RmaPortOf<T> subject(transport);
        RmaDriver driver(name, seed, subject, findings_, spoiled, options_.patience_ns);
        body(driver, network);
        if (driver.spoiled()) { // others may wait for it in a call
          kill(network, rank);
        }
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
  }

  Make const& make_;
  RmaOptions const& options_;
  RmaReport report_;
  RmaFindings findings_;
};

} // namespace detail

/// Drives networks of ranks in this process, each rank in a thread of its own, and reports every
/// rule of the contract that was broken; nothing if there is none. Run it under ThreadSanitizer,
/// too.
///
///     auto const report = hetsched::testing::check_rma_transport(
///         [](int ranks, std::uint64_t seed) { return MyNetwork(ranks, seed); });
///     CHECK_MESSAGE(report.ok(), report.text());
///
/// make_network(ranks, seed) answers a network with a member transport(rank), which is called once
/// for each rank, in the thread of that rank. If it has a member kill(rank), too, after which all
/// others lose the rank, the kit lets ranks end. Without that it may not end after a violation, as
/// ranks then wait for others in allocate or free.
template <class Make>
[[nodiscard]] RmaReport check_rma_transport(Make const& make_network,
                                            RmaOptions const& options = {}) {
  using Conformance = detail::RmaConformance<Make>;
  static_assert(RmaTransport<typename Conformance::T>,
                "hetsched: check_rma_transport needs a one-sided transport; see "
                "concepts/rma_transport.hpp");
  static_assert(RmaInbox<detail::JudgingRmaInbox>);
  return Conformance(make_network, options).run();
}

/// The same for one rank of a job of several processes, at the same time on all ranks, with the
/// same options. Reports what this rank found, and returns at its first finding: the job should
/// then be ended, because others may wait for this rank.
template <RmaTransport T>
[[nodiscard]] RmaReport check_rma_rank(T& transport, RmaOptions const& options = {}) {
  RmaReport report;
  report.policy = hetsched::detail::type_name<T>();
  detail::RmaFindings findings(report, options.max_violations);
  hetsched::detail::RmaPortOf<T> subject(transport);
  std::atomic<bool> spoiled{false};
  for (auto const& scenario : detail::rma_scenarios(options)) {
    detail::RmaDriver driver(
        scenario.name, scenario.seed, subject, findings, spoiled, options.patience_ns);
    driver.guarded("the kit", [&] { scenario.body(driver); });
  }
  return report;
}

} // namespace hetsched::testing
