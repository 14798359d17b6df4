// SPDX-License-Identifier: MIT
#pragma once
// One rank of the kit for one-sided transports: begins operations, polls, and judges what is done.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/testing/rma_rules.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// Values are small enough to be the same in all kinds of elements but bytes, of which they are the
/// last 8 bits.
inline void store(WindowElement element, std::byte* place, std::int64_t value) {
  auto const as = [place](auto it) { std::memcpy(place, &it, sizeof it); };
  switch (element) {
  case WindowElement::byte:
    return as(static_cast<std::uint8_t>(value));
  case WindowElement::f32:
    return as(static_cast<float>(value));
  case WindowElement::f64:
    return as(static_cast<double>(value));
  default:
    return as(value);
  }
}

/// -1 for a number that `store` never stores.
[[nodiscard]] inline std::int64_t load(WindowElement element, std::byte const* place) {
  auto const as = [place](auto it) {
    std::memcpy(&it, place, sizeof it);
    constexpr auto most = std::int64_t{1} << 50U;
    auto const number = static_cast<double>(it);
    return number >= 0 && number < most ? static_cast<std::int64_t>(it) : std::int64_t{-1};
  };
  switch (element) {
  case WindowElement::byte:
    return as(std::uint8_t{});
  case WindowElement::f32:
    return as(float{});
  case WindowElement::f64:
    return as(double{});
  default:
    return as(std::int64_t{});
  }
}

/// What memory that was given to an operation holds after it is done, in each byte.
inline constexpr std::byte used{0xee};

/// One rank in one scenario. After the first finding, here or where `spoiled` is the same, it does
/// nothing more. Ranks elsewhere give up when they have waited for it for `patience_ns`.
class RmaDriver {
public:
  RmaDriver(std::string where,
            std::uint64_t seed,
            hetsched::detail::RmaPort& subject,
            RmaFindings& findings,
            std::atomic<bool>& spoiled,
            std::int64_t patience_ns)
      : where_(std::move(where)), seed_(seed), subject_(subject), findings_(findings),
        spoiled_(spoiled), patience_ns_(patience_ns),
        lost_(static_cast<std::size_t>(subject.ranks())) {}

  [[nodiscard]] int rank() const { return subject_.rank(); }

  [[nodiscard]] int ranks() const { return subject_.ranks(); }

  [[nodiscard]] bool spoiled() const noexcept { return spoiled_.load(std::memory_order_relaxed); }

  [[nodiscard]] hetsched::detail::RmaPort& subject() noexcept { return subject_; }

  /// Called in `done`, after the value is noted: it may begin operations.
  std::function<void(std::uint64_t cookie)> on_done;

  // ---- operations; each returns its cookie ----

  std::uint64_t get(Window window, WindowPatch const& patch, std::byte* here, std::size_t stride) {
    auto const cookie = note(patch.rank, {});
    guarded("get", [&] { subject_.get(window, patch, here, stride, cookie); });
    return cookie;
  }

  /// Puts or accumulates a copy of `here`, which is spoilt when it is done.
  std::uint64_t give(bool adds,
                     Window window,
                     WindowPatch const& patch,
                     std::vector<std::byte> here,
                     std::size_t stride) {
    auto const cookie = note(patch.rank, std::move(here));
    auto const* const data = operations_[cookie].given.data();
    if (adds) {
      guarded("accumulate", [&] { subject_.accumulate(window, patch, data, stride, cookie); });
    } else {
      guarded("put", [&] { subject_.put(window, patch, data, stride, cookie); });
    }
    return cookie;
  }

  std::uint64_t fetch_add(Window window, int to, std::size_t at, std::int64_t value) {
    auto const cookie = note(to, {});
    guarded("fetch_add", [&] { subject_.fetch_add(window, to, at, value, cookie); });
    return cookie;
  }

  std::uint64_t
  compare_swap(Window window, int to, std::size_t at, std::int64_t expected, std::int64_t desired) {
    auto const cookie = note(to, {});
    guarded("compare_swap",
            [&] { subject_.compare_swap(window, to, at, expected, desired, cookie); });
    return cookie;
  }

  bool poll() {
    inbox_.told = false;
    bool answer = false;
    guarded("poll", [&] { answer = subject_.poll(inbox_); });
    if (!spoiled() && answer != inbox_.told) {
      report(RmaRule::answer,
             std::string("poll answered ") + (answer ? "true" : "false") +
                 ", and the rank was told " + (answer ? "nothing" : "something"));
    }
    return inbox_.told;
  }

  /// Polls until `condition()`.
  template <class F>
  void wait(F&& condition, RmaRule rule, char const* what) {
    auto last = hetsched::detail::monotonic_ns();
    while (!spoiled() && !condition()) {
      if (poll()) {
        last = hetsched::detail::monotonic_ns();
      } else if (hetsched::detail::monotonic_ns() - last > patience_ns_) {
        report(rule, what);
      } else {
        hetsched::detail::pause_for(1000);
      }
    }
  }

  /// Until all operations are done, or cannot be any more.
  void finish() {
    wait([this] { return under_way_ == 0; }, RmaRule::done, "an operation is never done");
  }

  /// What the word was. Waits for it.
  std::int64_t value_of(std::uint64_t cookie) {
    wait([&] { return operations_[cookie].done; }, RmaRule::done, "an operation is never done");
    return operations_[cookie].value;
  }

  /// Waits until all ranks have come here. `window`: a word of rank 0, used for nothing else.
  void meet(Window window) {
    finish();
    auto const all = ranks() * ++meetings_;
    auto const begin = hetsched::detail::monotonic_ns();
    (void)value_of(fetch_add(window, 0, 0, 1));
    auto asked = fetch_add(window, 0, 0, 0);
    while (value_of(asked) < all && !spoiled()) {
      if (hetsched::detail::monotonic_ns() - begin > patience_ns_) {
        report(RmaRule::visible, "another rank never came to where this one waits");
      }
      for (int k = 0; k < 10; ++k) { // others may need this rank
        poll();
        hetsched::detail::pause_for(5000);
      }
      asked = fetch_add(window, 0, 0, 0);
    }
  }

  template <class F>
  void guarded(char const* name, F&& call) {
    if (spoiled()) {
      return;
    }
    try {
      call();
    } catch (...) {
      report(RmaRule::threw, what_threw(name));
    }
  }

  void check(bool holds, RmaRule rule, std::string what) {
    if (!holds) {
      report(rule, std::move(what));
    }
  }

  [[nodiscard]] bool has_lost(int rank) const { return lost_[static_cast<std::size_t>(rank)]; }

private:
  friend struct JudgingRmaInbox;

  struct Operation {
    int target = 0;
    std::vector<std::byte> given; // to put or accumulate
    bool done = false;
    std::int64_t value = 0;
  };

  std::uint64_t note(int target, std::vector<std::byte> given) {
    operations_.push_back({target, std::move(given)});
    under_way_ += has_lost(target) ? 0 : 1;
    return operations_.size() - 1;
  }

  /// The first finding of a rank ends the scenario there; what follows may come from it.
  void report(RmaRule rule, std::string what) {
    if (!spoiled_.exchange(true, std::memory_order_relaxed)) {
      findings_.add(rule,
                    where_,
                    seed_,
                    no_worker,
                    hetsched::detail::text("rank %d: ", rank()) + std::move(what));
    }
  }

  void done(std::uint64_t cookie, std::int64_t value) {
    if (cookie >= operations_.size() || operations_[cookie].done) {
      report(RmaRule::done,
             hetsched::detail::text("cookie %llu is done, which %s",
                                    static_cast<unsigned long long>(cookie),
                                    cookie >= operations_.size() ? "was not used" : "was before"));
      return;
    }
    auto& operation = operations_[cookie];
    if (has_lost(operation.target)) {
      report(RmaRule::ends,
             hetsched::detail::text("an operation on rank %d is done, which is lost",
                                    operation.target));
      return;
    }
    operation.done = true;
    operation.value = value;
    std::fill(operation.given.begin(), operation.given.end(), used);
    --under_way_;
    if (on_done) {
      on_done(cookie);
    }
  }

  void lost(int gone, std::string_view why) {
    auto const known = gone >= 0 && gone < ranks() && gone != rank();
    if (!known || has_lost(gone)) {
      report(RmaRule::ends, hetsched::detail::text("lost rank %d%s", gone, known ? " again" : "?"));
    } else if (why.empty() || why.find('\n') != std::string_view::npos) {
      report(RmaRule::ends,
             hetsched::detail::text("lost rank %d without a reason of one line", gone));
    } else {
      lost_[static_cast<std::size_t>(gone)] = true;
      for (auto& operation : operations_) {
        under_way_ -= operation.target == gone && !operation.done ? 1 : 0;
      }
    }
  }

  std::string where_;
  std::uint64_t seed_;
  hetsched::detail::RmaPort& subject_;
  RmaFindings& findings_;
  std::atomic<bool>& spoiled_;
  std::int64_t patience_ns_;
  JudgingRmaInbox inbox_{*this};
  std::vector<bool> lost_;
  std::deque<Operation> operations_; // by cookie; they stay where they are
  int under_way_ = 0;
  int meetings_ = 0;
};

inline void JudgingRmaInbox::done(std::uint64_t cookie, std::int64_t value) {
  told = true;
  driver->done(cookie, value);
}

inline void JudgingRmaInbox::lost(int rank, std::string_view why) {
  told = true;
  driver->lost(rank, why);
}

} // namespace hetsched::testing::detail
