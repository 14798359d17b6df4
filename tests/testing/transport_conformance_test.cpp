// SPDX-License-Identifier: MIT
// The kit finds nothing wrong with the loopback network, and catches a broken one for each rule.

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/testing/transport_conformance.hpp>

#include "../support/violations.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace transport_conformance_test {

using hs::testing::check_transport;
using hs::testing::TransportReport;
using hs::testing::TransportRule;
using violations::only;

enum class Fault : std::uint8_t {
  none,
  drops,        // every fifth payload never arrives
  repeats,      // tells of an arrival twice
  overtakes,    // sends a message after the next one
  damages,      // changes a byte of a payload
  reads_late,   // copies the payload after `sent`
  forgets_sent, // of every fifth message
  says_sent_twice,
  loses_twice,
  answers_true,
  throws_at_last,
  other_place,
  invents,
};

/// What a faulty transport remembers.
struct Past {
  Fault fault{};
  int payloads = 0;
  bool told = false;                     // the kit's inbox, in this poll
  std::vector<std::uint64_t> early = {}; // cookies that were reported before the payload was read
};

/// An inbox between the loopback transport and that of the kit.
template <class I>
struct FaultyInbox {
  std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes) {
    past.told = true;
    return inbox.begin(from, head, bytes);
  }

  void arrived(int from, std::span<std::byte const> head, std::byte* place, std::size_t bytes) {
    if (past.fault == Fault::damages && bytes > 100) {
      place[bytes / 2] ^= std::byte{1};
    }
    if (past.fault == Fault::drops && bytes > 0 && ++past.payloads % 5 == 0) {
      return;
    }
    past.told = true;
    auto const elsewhere = past.fault == Fault::other_place && bytes > 0;
    inbox.arrived(from, head, elsewhere ? place + 1 : place, bytes);
    if (past.fault == Fault::repeats) {
      inbox.arrived(from, head, place, bytes);
    }
    if (past.fault == Fault::invents) {
      inbox.arrived(from, std::as_bytes(std::span("nobody sent this")), nullptr, 0);
    }
  }

  void sent(std::uint64_t cookie) {
    if ((past.fault == Fault::forgets_sent && cookie % 5 == 0) ||
        std::erase(past.early, cookie) != 0) {
      return;
    }
    past.told = true;
    inbox.sent(cookie);
    if (past.fault == Fault::says_sent_twice && cookie % 5 == 0) {
      inbox.sent(cookie);
    }
  }

  void lost(int rank, std::string_view why) {
    past.told = true;
    inbox.lost(rank, why);
    if (past.fault == Fault::loses_twice) {
      inbox.lost(rank, why);
    }
  }

  I& inbox;
  Past& past;
};

class FaultyTransport {
public:
  static constexpr std::size_t max_head = 256;

  [[nodiscard]] hs::KeptMessages& kept() noexcept { return to_.kept(); }

  FaultyTransport(hs::LoopbackTransport transport, Fault fault)
      : to_(transport), past_{.fault = fault} {}

  [[nodiscard]] int rank() const noexcept { return to_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return to_.ranks(); }

  void send(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    ++sends_;
    if (past_.fault == Fault::throws_at_last && sends_ == 30) {
      throw std::runtime_error("no route");
    }
    if (past_.fault == Fault::overtakes && payload.empty() && !kept_) {
      kept_ = [this, to, copy = std::vector(head.begin(), head.end()), cookie] {
        to_.send(to, copy, {}, cookie);
      };
      return;
    }
    if (past_.fault == Fault::reads_late && payload.size() > 1024) {
      news_.push_back(cookie);
    }
    to_.send(to, head, payload, cookie);
    if (kept_) {
      std::exchange(kept_, {})();
    }
  }

  template <hs::TransportInbox I>
  bool poll(I& inbox) {
    if (kept_) {
      std::exchange(kept_, {})();
    }
    past_.told = !news_.empty();
    for (auto const cookie : std::exchange(news_, {})) {
      past_.early.push_back(cookie);
      inbox.sent(cookie);
    }
    FaultyInbox<I> faulty{inbox, past_};
    to_.poll(faulty);
    return past_.told || past_.fault == Fault::answers_true;
  }

  void abort(std::string_view line) { to_.abort(line); }

private:
  hs::LoopbackTransport to_;
  Past past_;
  int sends_ = 0;
  std::function<void()> kept_;
  std::vector<std::uint64_t> news_; // cookies that are reported early
};

class FaultyNetwork {
public:
  FaultyNetwork(int ranks, std::uint64_t seed, Fault fault)
      : net_(ranks, {.seed = seed, .head_delay = 2, .payload_delay = 5}), fault_(fault) {}

  FaultyTransport transport(int rank) { return {net_.transport(rank), fault_}; }

  void kill(int rank) { net_.kill(rank); }

private:
  hs::LoopbackNetwork net_;
  Fault fault_;
};

TransportReport check_faulty(Fault fault,
                             hs::testing::TransportOptions const& options = {.threads = 0}) {
  return check_transport(
      [fault](int ranks, std::uint64_t seed) { return FaultyNetwork(ranks, seed, fault); },
      options);
}

/// Whether the kit finds that this rule is broken, and no other.
void catches(Fault fault, TransportRule rule) {
  auto const report = check_faulty(fault);
  CHECK_MESSAGE(only(report, rule), report.text());
}

TEST_SUITE_BEGIN("testing");

TEST_CASE("check_transport: finds nothing wrong with the loopback network") {
  for (int const delay : {0, 3, 40}) {
    auto const report = check_transport([delay](int ranks, std::uint64_t seed) {
      return hs::LoopbackNetwork(ranks,
                                 {.seed = seed, .head_delay = delay / 3, .payload_delay = delay});
    });
    CHECK_MESSAGE(report.ok(), report.text());
  }
  auto const unharmed = check_faulty(Fault::none);
  CHECK_MESSAGE(unharmed.ok(), unharmed.text());
}

TEST_CASE("check_transport: catches lost messages, and those that come twice") {
  catches(Fault::drops, TransportRule::lost);
  catches(Fault::repeats, TransportRule::twice);
}

TEST_CASE("check_transport: catches messages that nobody sent") {
  catches(Fault::invents, TransportRule::invented);
}

TEST_CASE("check_transport: catches a message that begins before an earlier one") {
  catches(Fault::overtakes, TransportRule::order);
}

TEST_CASE("check_transport: catches payloads that change, are read late or land elsewhere") {
  catches(Fault::damages, TransportRule::payload);
  catches(Fault::reads_late, TransportRule::reused);
  catches(Fault::other_place, TransportRule::place);
}

TEST_CASE("check_transport: catches sends that are not over once") {
  catches(Fault::forgets_sent, TransportRule::sent);
  catches(Fault::says_sent_twice, TransportRule::sent);
}

TEST_CASE("check_transport: catches a rank that is lost twice") {
  catches(Fault::loses_twice, TransportRule::ends);
}

TEST_CASE("check_transport: catches a wrong answer of poll, and exceptions") {
  catches(Fault::answers_true, TransportRule::answer);
  catches(Fault::throws_at_last, TransportRule::threw);
}

TEST_CASE("check_transport: a violation names rule, message, scenario and seed") {
  auto const report = check_faulty(Fault::says_sent_twice, {.seed = 42, .max_violations = 1});

  REQUIRE(report.violations.size() == 1);
  CHECK_MESSAGE(report.violations.front().text ==
                    "each send is over once: message 20 from rank 1 to rank 0 (head 8, payload 63 "
                    "bytes) was reported as sent again [all sizes, seed 42]",
                report.text());
}

TEST_SUITE_END();

} // namespace transport_conformance_test
