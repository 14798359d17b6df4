// SPDX-License-Identifier: MIT
#pragma once
// Tests any transport against the contract of concepts/transport.hpp, in any test framework.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/testing/conformance_run.hpp>
#include <hetsched/detail/testing/transport_scenarios.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::testing {

/// How much to test. The defaults take about a second for a transport within one process.
struct TransportOptions {
  std::uint64_t seed = 1; // the first one
  int seeds = 3;          // the random scenarios run once for each
  int ranks = 4;          // at most, from 3
  int steps = 200;        // of a random scenario: sends and polls
  int threads = 2;        // of each rank, in the scenario with threads; below 2: no such scenario
  int idle_polls = 2000;  // so many polls of every rank without an event: nothing more comes
  std::size_t max_violations = 16; // the kit stops when it has found so many
};

namespace detail {

/// A network that `make(ranks, seed)` returns, and its ranks' transports.
template <class Make>
class TransportSubjectOf final : public TransportSubject {
public:
  using Network = decltype(std::declval<Make const&>()(2, std::uint64_t{}));
  using T = decltype(std::declval<Network&>().transport(0));

  TransportSubjectOf(Make const& make, int ranks, std::uint64_t seed)
      : network_(make(ranks, seed)) {
    for (int rank = 0; rank < ranks; ++rank) {
      transports_.push_back(std::make_unique<T>(network_.transport(rank)));
    }
  }

  void send(int from,
            int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) override {
    transports_[static_cast<std::size_t>(from)]->send(to, head, payload, cookie);
  }

  bool poll(int rank, JudgingInbox& inbox) override {
    return transports_[static_cast<std::size_t>(rank)]->poll(inbox);
  }

  [[nodiscard]] bool can_kill() const noexcept override {
    return requires(Network& network) { network.kill(0); };
  }

  void kill([[maybe_unused]] int rank) override {
    if constexpr (requires(Network& network) { network.kill(rank); }) {
      network_.kill(rank);
    }
  }

private:
  Network network_;
  std::vector<std::unique_ptr<T>> transports_;
};

class TransportConformance : ConformanceRun<TransportDriver,
                                            TransportOptions,
                                            MakeTransports,
                                            TransportReport,
                                            TransportFindings> {
public:
  using ConformanceRun::ConformanceRun;

  TransportReport run() && {
    auto const idle = options_.idle_polls;
    auto const ranks = options_.ranks;
    in_case(
        "all sizes", options_.seed, [&](TransportDriver& network) { all_sizes(network, idle); });
    in_case("many to one", options_.seed, [&](TransportDriver& network) {
      many_to_one(network, ranks, options_.steps / 4, idle);
    });
    for (int k = 0; k < options_.seeds; ++k) {
      auto const seed = options_.seed + static_cast<std::uint64_t>(k);
      in_case("random mix", seed, [&](TransportDriver& network) {
        random_mix(network, seed, ranks, options_.steps, idle);
      });
      in_case("answers", seed, [&](TransportDriver& network) {
        answers(network, seed, ranks, options_.steps, idle);
      });
      in_case("a rank ends", seed, [&](TransportDriver& network) {
        a_rank_ends(network, seed, ranks, options_.steps / 2, idle);
      });
    }
    if (options_.threads > 1) {
      in_case("several threads", options_.seed, [&](TransportDriver& network) {
        several_threads(network, options_.seed, ranks, options_.threads, options_.steps / 4, idle);
      });
    }
    return std::move(report_);
  }
};

} // namespace detail

/// Drives networks of ranks in this process, by one thread and by several, and reports every rule
/// of the contract that was broken; nothing if there is none. Violations are in the report, never
/// in an exception. The kit ends by itself unless a call does not return. Run it under
/// ThreadSanitizer, too.
///
///     auto const report = hetsched::testing::check_transport(
///         [](int ranks, std::uint64_t seed) { return MyNetwork(ranks, seed); });
///     CHECK_MESSAGE(report.ok(), report.text());
///
/// make_network(ranks, seed) answers a network with a member transport(rank), which is called once
/// for each rank. If it has a member kill(rank), too, after which all others lose the rank, the kit
/// lets ranks end. It cannot see a call that waits for another rank, nor std::bad_alloc.
template <class Make>
[[nodiscard]] TransportReport check_transport(Make const& make_network,
                                              TransportOptions const& options = {}) {
  using Subject = detail::TransportSubjectOf<Make>;
  static_assert(Transport<typename Subject::T>,
                "hetsched: check_transport needs a transport; see concepts/transport.hpp");
  static_assert(TransportInbox<detail::JudgingInbox>);
  return detail::TransportConformance(options,
                                      hetsched::detail::type_name<typename Subject::T>(),
                                      [&make_network](int ranks, std::uint64_t seed) {
                                        return std::make_unique<Subject>(make_network, ranks, seed);
                                      })
      .run();
}

} // namespace hetsched::testing
