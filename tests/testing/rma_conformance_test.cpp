// SPDX-License-Identifier: MIT
// The kit for one-sided transports catches a broken one for each rule.

#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/testing/rma_conformance.hpp>

#include "../support/violations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace rma_conformance_test {

using hs::testing::check_rma_transport;
using hs::testing::RmaReport;
using hs::testing::RmaRule;
using violations::only;

enum class Fault : std::uint8_t {
  none,
  dirty,        // a part is not zeroed
  other_size,   // elements() answers one more
  one_row,      // puts only the first row
  beside,       // get writes behind a row
  reads_late,   // puts after done
  drops_sums,   // every seventh accumulate
  drops_adds,   // every seventh fetch_add
  always_swaps, // compare_swap says that it found what was expected
  forgets_done, // of every 20th operation
  done_twice,   // the same
  takes_bad,    // calls do nothing instead of throwing
  loses_twice,
  loses_nobody,
  answers_true,
  throws_at_last,
};

/// What a faulty transport remembers.
struct Past {
  Fault fault{};
  int operations = 0;
  int gives = 0;
  int adds = 0;
  bool told = false;                            // the kit's inbox, in this poll
  std::set<std::uint64_t> silent = {};          // cookies of which the kit does not hear
  std::vector<std::uint64_t> early = {};        // cookies that are reported at the next poll
  std::vector<std::function<void()>> late = {}; // what is begun after that
  std::vector<std::pair<std::uint64_t, std::int64_t>> found =
      {}; // what a cookie is said to have found
};

/// An inbox between the loopback transport and that of the kit.
template <class I>
struct FaultyInbox {
  void done(std::uint64_t cookie, std::int64_t value) {
    for (auto const& [swap, expected] : past.found) {
      value = swap == cookie ? expected : value;
    }
    auto const odd = cookie % 20 == 7;
    if (past.silent.erase(cookie) != 0 || (past.fault == Fault::forgets_done && odd)) {
      return;
    }
    past.told = true;
    inbox.done(cookie, value);
    if (past.fault == Fault::done_twice && odd) {
      inbox.done(cookie, value);
    }
  }

  void lost(int rank, std::string_view why) {
    if (past.fault == Fault::loses_nobody) {
      return;
    }
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
  FaultyTransport(hs::LoopbackRmaNetwork& network, int rank, Fault fault)
      : to_(network, rank), past_{.fault = fault} {}

  [[nodiscard]] int rank() const noexcept { return to_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return to_.ranks(); }

  hs::Window allocate(hs::WindowElement element, std::size_t elements) {
    auto const window = to_.allocate(element, elements);
    if (past_.fault == Fault::dirty && elements == 7) {
      std::memset(to_.memory(window), 1, 1);
    }
    return window;
  }

  void free(hs::Window window) { to_.free(window); }

  [[nodiscard]] std::size_t elements(hs::Window window, int rank) const {
    return to_.elements(window, rank) + (past_.fault == Fault::other_size ? 1 : 0);
  }

  [[nodiscard]] void* memory(hs::Window window) { return to_.memory(window); }

  void get(hs::Window window,
           hs::WindowPatch const& patch,
           void* here,
           std::size_t stride,
           std::uint64_t cookie) {
    begin([&] { to_.get(window, patch, here, stride, cookie); });
    if (past_.fault == Fault::beside && stride > patch.columns) {
      std::memset(static_cast<std::byte*>(here) + patch.columns, 1, 1); // of bytes
    }
  }

  void put(hs::Window window,
           hs::WindowPatch patch,
           void const* here,
           std::size_t stride,
           std::uint64_t cookie) {
    if (past_.fault == Fault::one_row && patch.rows > 1 && patch.stride == 8) {
      patch.rows = 1;
    }
    if (past_.fault == Fault::reads_late && ++past_.gives % 7 == 0) {
      past_.silent.insert(cookie);
      past_.early.push_back(cookie);
      past_.late.emplace_back([this, window, patch, here, stride, cookie] {
        to_.put(window, patch, here, stride, cookie);
      });
      return;
    }
    begin([&] { to_.put(window, patch, here, stride, cookie); });
  }

  void accumulate(hs::Window window,
                  hs::WindowPatch patch,
                  void const* here,
                  std::size_t stride,
                  std::uint64_t cookie) {
    if (past_.fault == Fault::drops_sums && ++past_.gives % 7 == 0) {
      patch.rows = 0;
    }
    begin([&] { to_.accumulate(window, patch, here, stride, cookie); });
  }

  void
  fetch_add(hs::Window window, int rank, std::size_t at, std::int64_t value, std::uint64_t cookie) {
    if (past_.fault == Fault::throws_at_last && ++past_.adds == 50) {
      throw std::runtime_error("no route");
    }
    auto const dropped = past_.fault == Fault::drops_adds && value > 1 && ++past_.adds % 7 == 0;
    begin([&] { to_.fetch_add(window, rank, at, dropped ? 0 : value, cookie); });
  }

  void compare_swap(hs::Window window,
                    int rank,
                    std::size_t at,
                    std::int64_t expected,
                    std::int64_t desired,
                    std::uint64_t cookie) {
    if (past_.fault == Fault::always_swaps) {
      past_.found.emplace_back(cookie, expected);
    }
    begin([&] { to_.compare_swap(window, rank, at, expected, desired, cookie); });
  }

  template <hs::RmaInbox I>
  bool poll(I& inbox) {
    past_.told = !past_.early.empty();
    for (auto const cookie : std::exchange(past_.early, {})) {
      inbox.done(cookie, 0);
    }
    for (auto const& it : std::exchange(past_.late, {})) {
      it();
    }
    FaultyInbox<I> faulty{inbox, past_};
    to_.poll(faulty);
    return past_.told || past_.fault == Fault::answers_true;
  }

  void abort(std::string_view line) { to_.abort(line); }

private:
  template <class F>
  void begin(F&& call) const {
    if (past_.fault != Fault::takes_bad) {
      call();
      return;
    }
    try {
      call();
    } catch (hs::Error const&) { // as if all were well
    }
  }

  hs::LoopbackRmaTransport to_;
  Past past_;
};

class FaultyNetwork {
public:
  FaultyNetwork(int ranks, std::uint64_t seed, Fault fault)
      : net_(ranks, {.seed = seed, .delay = 3}), fault_(fault) {}

  FaultyTransport transport(int rank) { return {net_, rank, fault_}; }

  void kill(int rank) { net_.kill(rank); }

private:
  hs::LoopbackRmaNetwork net_;
  Fault fault_;
};

RmaReport check_faulty(Fault fault, hs::testing::RmaOptions const& options = {.seeds = 1}) {
  return check_rma_transport(
      [fault](int ranks, std::uint64_t seed) { return FaultyNetwork(ranks, seed, fault); },
      options);
}

/// Whether the kit finds that this rule is broken, and no other.
void catches(Fault fault, RmaRule rule, hs::testing::RmaOptions const& options = {.seeds = 1}) {
  auto const report = check_faulty(fault, options);
  CHECK_MESSAGE(only(report, rule), report.text());
}

/// Where the kit waits for what never comes: for as long as the whole kit takes here without a
/// fault, as no rank waits for another in one scenario for so long, however slow the machine is.
hs::testing::RmaOptions impatient() {
  static std::int64_t const patience_ns = [] {
    auto const begin = hs::detail::monotonic_ns();
    (void)check_faulty(Fault::none);
    return std::max(std::int64_t{300'000'000}, hs::detail::monotonic_ns() - begin);
  }();
  return {.seeds = 1, .patience_ns = patience_ns};
}

TEST_SUITE_BEGIN("testing");

TEST_CASE("check_rma_transport: finds nothing wrong with the faulty transport without its faults") {
  auto const report = check_faulty(Fault::none, {.seeds = 1});
  CHECK_MESSAGE(report.ok(), report.text());
}

TEST_CASE("check_rma_transport: catches parts that are not zeroed or have another size") {
  catches(Fault::dirty, RmaRule::window);
  catches(Fault::other_size, RmaRule::window);
}

TEST_CASE("check_rma_transport: catches gets and puts of other elements, or too late") {
  catches(Fault::one_row, RmaRule::copied);
  catches(Fault::beside, RmaRule::copied);
  auto const late = check_faulty(Fault::reads_late);
  CHECK_MESSAGE(late.broke(RmaRule::reused), late.text());
}

TEST_CASE("check_rma_transport: catches lost sums, additions and swaps") {
  catches(Fault::drops_sums, RmaRule::sum);
  catches(Fault::drops_adds, RmaRule::atomic);
  auto const swaps = check_faulty(Fault::always_swaps);
  CHECK_MESSAGE((swaps.broke(RmaRule::visible) || swaps.broke(RmaRule::atomic)), swaps.text());
}

TEST_CASE("check_rma_transport: catches operations that are not done once") {
  catches(Fault::forgets_done, RmaRule::done, impatient());
  catches(Fault::done_twice, RmaRule::done);
}

TEST_CASE("check_rma_transport: catches bad calls that are not refused") {
  catches(Fault::takes_bad, RmaRule::refused);
}

TEST_CASE("check_rma_transport: catches a rank that is not lost once") {
  catches(Fault::loses_twice, RmaRule::ends);
  catches(Fault::loses_nobody, RmaRule::ends, impatient());
}

TEST_CASE("check_rma_transport: catches a wrong answer of poll, and exceptions") {
  catches(Fault::answers_true, RmaRule::answer);
  catches(Fault::throws_at_last, RmaRule::threw);
}

TEST_CASE("check_rma_transport: a violation names rule, rank, scenario and seed") {
  auto const report =
      check_faulty(Fault::other_size, {.seed = 42, .ranks = 2, .max_violations = 1});

  REQUIRE(report.violations.size() == 1);
  CHECK_MESSAGE(report.violations.front().text.ends_with(
                    ": the part of rank 0 has another size [sizes, seed 42]"),
                report.text());
}

TEST_SUITE_END();

} // namespace rma_conformance_test
