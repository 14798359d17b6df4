// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations that steps wait for.

#include <hetsched/concepts/rma_port.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/array_layout.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/core/text.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

class RmaOperations;

/// An operation under way, in the frame of the step that waits for it. `co_await result` does not
/// throw, so a step can wait for all of several before one of them fails it. For one operation
/// after the other.
class RmaResult {
public:
  RmaResult() = default;
  RmaResult(RmaResult const&) = delete;
  RmaResult& operator=(RmaResult const&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return !under_way_; }

  void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }

  void await_resume() const noexcept {}

  /// What the word was (see RmaInbox). Throws why the operation was not done.
  inline std::int64_t value() const;

private:
  friend class RmaOperations;

  bool under_way_ = false;
  RmaOperations const* all_ = nullptr; // of which it is one
  RmaResult* previous_ = nullptr;
  RmaResult* next_ = nullptr;
  int rank_ = 0;
  bool failed_ = false;
  std::int64_t value_ = 0;
  std::coroutine_handle<> waiter_;
};

/// Begins operations, and lets their steps go on when they are done. When a rank is lost, or the
/// transport throws, it is broken: operations on that rank fail, and no new one begins.
///
/// One thread at a time.
class RmaOperations final : public RmaEvents {
public:
  explicit RmaOperations(RmaPort& port) : port_(port) { first_.next_ = first_.previous_ = &first_; }

  RmaOperations(RmaOperations const&) = delete;
  RmaOperations& operator=(RmaOperations const&) = delete;

  [[nodiscard]] int rank() const { return port_.rank(); }

  [[nodiscard]] int ranks() const { return port_.ranks(); }

  /// All begin one. It is not done, at once, if this is broken, or is so now because the transport
  /// refuses the operation.
  void get(Window window, WindowPatch const& patch, void* here, std::size_t stride, RmaResult& r) {
    begin(patch.rank, r, [&](auto cookie) { port_.get(window, patch, here, stride, cookie); });
  }

  void
  put(Window window, WindowPatch const& patch, void const* here, std::size_t stride, RmaResult& r) {
    begin(patch.rank, r, [&](auto cookie) { port_.put(window, patch, here, stride, cookie); });
  }

  void accumulate(
      Window window, WindowPatch const& patch, void const* here, std::size_t stride, RmaResult& r) {
    begin(
        patch.rank, r, [&](auto cookie) { port_.accumulate(window, patch, here, stride, cookie); });
  }

  /// One of these three. `here` is only read but for a get.
  void transfer(PatchUse how,
                Window window,
                WindowPatch const& patch,
                void* here,
                std::size_t stride,
                RmaResult& r) {
    switch (how) {
    case PatchUse::get:
      get(window, patch, here, stride, r);
      break;
    case PatchUse::put:
      put(window, patch, here, stride, r);
      break;
    case PatchUse::accumulate:
      accumulate(window, patch, here, stride, r);
      break;
    }
  }

  void fetch_add(Window window, int rank, std::size_t at, std::int64_t value, RmaResult& r) {
    begin(rank, r, [&](auto cookie) { port_.fetch_add(window, rank, at, value, cookie); });
  }

  void compare_swap(Window window,
                    int rank,
                    std::size_t at,
                    std::int64_t expected,
                    std::int64_t desired,
                    RmaResult& r) {
    begin(rank, r, [&](auto cookie) {
      port_.compare_swap(window, rank, at, expected, desired, cookie);
    });
  }

  /// The word as it is now.
  [[nodiscard]] Step<std::int64_t> read(Window window, int rank, std::size_t at) {
    RmaResult r;
    fetch_add(window, rank, at, 0, r);
    co_await r;
    co_return r.value();
  }

  [[nodiscard]] Step<> add(Window window, int rank, std::size_t at, std::int64_t value) {
    RmaResult r;
    fetch_add(window, rank, at, value, r);
    co_await r;
    r.value();
  }

  /// Returns whether anything was reported. If the transport throws, this rank is gone: it is not
  /// polled again, and nothing that is under way is done any more.
  bool poll() {
    bool any = false;
    try {
      for (int k = 0; k < most_polls && !gone_ && port_.poll(*this); ++k) {
        any = true;
      }
    } catch (Error const& error) {
      gone_ = true;
      break_off(error);
    }
    if (!is_idle() && (gone_ || (broken() && monotonic_ns() - broken_at_ns_ > grace_ns))) {
      fail([](RmaResult const&) { return true; });
    }
    return any;
  }

  [[nodiscard]] bool is_idle() const noexcept { return first_.next_ == &first_; }

  [[nodiscard]] bool broken() const noexcept { return error_.has_value(); }

  void check_unbroken() const {
    if (broken()) {
      throw Error(*error_);
    }
  }

  void break_off(Error const& error) {
    if (!broken()) {
      error_.emplace(error);
      broken_at_ns_ = monotonic_ns();
    }
  }

  // ---- by the transport ----

  void done(std::uint64_t cookie, std::int64_t value) override {
    auto& result = *reinterpret_cast<RmaResult*>(cookie); // NOLINT: as `begin` made it
    result.value_ = value;
    end(result, false);
  }

  void lost(int rank, std::string_view why) override {
    break_off(Error(ErrorCode::rank_failed, text("rank %d", rank), std::string(why)));
    fail([rank](RmaResult const& result) { return result.rank_ == rank; });
  }

private:
  static constexpr int most_polls = 64;
  static constexpr std::int64_t grace_ns = 1'000'000'000; // for what is under way when all is over

  template <class F>
  void begin(int rank, RmaResult& result, F&& call) {
    result.all_ = this;
    result.rank_ = rank;
    result.failed_ = true;
    if (broken()) {
      return;
    }
    try {
      call(reinterpret_cast<std::uint64_t>(&result)); // NOLINT: it stays there
    } catch (Error const& error) {
      break_off(error);
      return;
    }
    result.failed_ = false;
    result.under_way_ = true;
    result.next_ = &first_;
    result.previous_ = first_.previous_;
    first_.previous_->next_ = &result;
    first_.previous_ = &result;
  }

  static void end(RmaResult& result, bool failed) {
    result.failed_ = failed;
    result.under_way_ = false;
    result.previous_->next_ = result.next_;
    result.next_->previous_ = result.previous_;
    if (auto const waiter = std::exchange(result.waiter_, nullptr)) {
      waiter.resume();
    }
  }

  /// Those that `which` says. Who waits for one may end others, but begins none, as this is broken.
  template <class F>
  void fail(F const& which) {
    for (auto* result = first_.next_; result != &first_;) {
      if (which(*result)) {
        end(*result, true);
        result = first_.next_; // others may be gone
      } else {
        result = result->next_;
      }
    }
  }

  friend class RmaResult;

  RmaPort& port_;
  RmaResult first_; // of the ring of those under way
  std::optional<Error> error_;
  std::int64_t broken_at_ns_ = 0;
  bool gone_ = false; // this rank
};

inline std::int64_t RmaResult::value() const {
  if (failed_) {
    throw Error(*all_->error_);
  }
  return value_;
}

} // namespace hetsched::detail
