// SPDX-License-Identifier: MIT
#pragma once
// Memory of several ranks in one process, and the operations on it that are under way.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/windows.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

/// How one-sided operations in one process behave.
struct LoopbackRmaOptions {
  std::uint64_t seed = 1; // of delays
  int delay = 0;          // polls of its rank at most, until an operation takes effect, and from
                          // there until it is done
  bool quiet = false;     // abort prints nothing
};

namespace detail {

/// An operation is done by the thread that polls for its rank, under a lock of the target's part.
/// No other lock and no atomic that all ranks write is on that way, so ThreadSanitizer sees a
/// program that uses its part while others change it.
class LoopbackRmaState {
public:
  /// One rank's part of a window.
  struct Part {
    Mutex mutex;
    std::vector<std::byte> bytes; // operator new aligns them for all elements
  };

  using Parts = std::vector<std::shared_ptr<Part>>;

  /// Throws Error(bad_config).
  LoopbackRmaState(int ranks, LoopbackRmaOptions options) : options_(options) {
    if (ranks < 1) {
      throw Error(ErrorCode::bad_config, "LoopbackRmaNetwork", text("%d ranks", ranks));
    }
    why_.resize(static_cast<std::size_t>(ranks));
  }

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(why_.size()); }

  [[nodiscard]] LoopbackRmaOptions const& options() const noexcept { return options_; }

  /// What rank's collective call number `number` and those of all others gave: an exception, or the
  /// new parts. Waits for them.
  std::pair<std::vector<std::uint64_t>, Parts>
  meet(int rank, std::uint64_t number, WindowCall const& call, std::shared_ptr<Part> part) {
    std::unique_lock lock(mutex_);
    auto& meeting = meetings_[number];
    if (!meeting) {
      meeting = std::make_shared<Meeting>();
      meeting->calls.resize(why_.size());
      meeting->parts.resize(why_.size());
    }
    auto const here = meeting;
    here->calls[static_cast<std::size_t>(rank)] = call;
    here->parts[static_cast<std::size_t>(rank)] = std::move(part);
    if (++here->came == ranks()) {
      meetings_.erase(number);
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return here->came == ranks() || gone_any(); });
    if (here->came != ranks()) {
      throw_first_gone();
    }
    check_window_calls(here->calls);
    std::vector<std::uint64_t> elements;
    for (auto const& it : here->calls) {
      elements.push_back(it.elements);
    }
    return {std::move(elements), here->parts};
  }

  /// Returns false if it was gone.
  bool end(int rank, std::string_view why) {
    std::lock_guard const guard(mutex_);
    auto& own = why_[static_cast<std::size_t>(rank)];
    if (own) {
      return false;
    }
    own = why;
    gone_.fetch_add(1, std::memory_order_release); // with ends()
    changed_.notify_all();
    return true;
  }

  /// The first one of the network is printed.
  void abort(int rank, std::string_view line) {
    if (end(rank, line) && !options_.quiet) {
      std::lock_guard const guard(mutex_);
      if (!std::exchange(aborted_, true)) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
      }
    }
  }

  /// How many ranks have ended. Acquire: what they did is seen.
  [[nodiscard]] std::uint32_t ends() const noexcept {
    return gone_.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::optional<std::string> why_gone(int rank) {
    std::lock_guard const guard(mutex_);
    return why_[static_cast<std::size_t>(rank)];
  }

private:
  struct Meeting {
    std::vector<WindowCall> calls; // of each rank
    Parts parts;
    int came = 0;
  };

  [[nodiscard]] bool gone_any() const {
    return std::any_of(why_.begin(), why_.end(), [](auto const& it) { return it.has_value(); });
  }

  [[noreturn, gnu::cold]] void throw_first_gone() const {
    auto const gone =
        std::find_if(why_.begin(), why_.end(), [](auto const& it) { return it.has_value(); });
    throw Error(ErrorCode::rank_failed, text("rank %td", gone - why_.begin()), **gone);
  }

  LoopbackRmaOptions options_;
  Mutex mutex_; // of all below
  std::condition_variable_any changed_;
  std::map<std::uint64_t, std::shared_ptr<Meeting>> meetings_; // by number, until all have come
  std::vector<std::optional<std::string>> why_;                // it is gone, of each rank
  bool aborted_ = false;
  Atomic<std::uint32_t> gone_{0};
};

/// One rank's operations. Only that rank's calls use it.
class LoopbackRmaRank {
public:
  LoopbackRmaRank(LoopbackRmaState& state, int rank)
      : state_(state), rank_(rank),
        delays_(state.options().seed ^ RandomStream(static_cast<std::uint64_t>(rank)).next()),
        windows_(rank), lost_(static_cast<std::size_t>(state.ranks())) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] Windows<LoopbackRmaState::Parts>& windows() noexcept { return windows_; }

  [[nodiscard]] Windows<LoopbackRmaState::Parts> const& windows() const noexcept {
    return windows_;
  }

  Window allocate(WindowElement element, std::size_t elements) {
    check_alive();
    auto part = std::make_shared<LoopbackRmaState::Part>();
    WindowCall call{.kind = WindowCall::Kind::allocate, .element = element, .elements = elements};
    try {
      if (elements > part->bytes.max_size() / size_of(element)) {
        throw std::bad_alloc();
      }
      part->bytes.resize(elements * size_of(element));
    } catch (std::bad_alloc const&) {
      call.elements = WindowCall::no_memory;
    }
    auto [all, parts] = state_.meet(rank_, ++meetings_, call, std::move(part));
    return windows_.add(element, std::move(all), std::move(parts));
  }

  void free(Window window) {
    (void)windows_.at(window);
    check_alive();
    (void)state_.meet(
        rank_, ++meetings_, {.kind = WindowCall::Kind::free, .window = window.number}, nullptr);
    windows_.remove(window);
  }

  /// Without `element`, which is the window's.
  void begin(Window window, RmaOperation operation, std::uint64_t cookie) {
    auto const& patch = operation.patch;
    auto const& entry = windows_.check(window, patch, operation.stride, operation.kind);
    check_alive();
    if (lost_[static_cast<std::size_t>(patch.rank)]) {
      return;
    }
    operation.element = entry.element;
    put({.due = draw(),
         .number = ++numbers_,
         .cookie = cookie,
         .operation = operation,
         .part = entry.memory[static_cast<std::size_t>(patch.rank)]});
  }

  template <class I>
  bool poll(I& inbox) {
    check_alive();
    ++polls_;
    auto const last = numbers_; // what callbacks begin is for a later poll
    bool told = tell_lost(inbox);
    std::vector<UnderWay> later;
    while (!operations_.empty() && operations_.front().due <= polls_) {
      auto it = take();
      if (it.number > last) {
        later.push_back(std::move(it));
      } else if (!it.over) {
        std::lock_guard const guard(it.part->mutex);
        it.found = it.operation.carry_out(it.part->bytes.data());
        it.over = true;
        it.due = draw();
        put(std::move(it));
      } else {
        told = true;
        inbox.done(it.cookie, it.found);
      }
    }
    for (auto& it : later) {
      put(std::move(it));
    }
    return told;
  }

  void check_alive() {
    if (dead_ || ends_ != state_.ends()) [[unlikely]] {
      if (auto const why = state_.why_gone(rank_)) {
        dead_ = true;
        throw Error(ErrorCode::rank_failed, text("rank %d", rank_), *why);
      }
    }
  }

private:
  struct UnderWay {
    std::uint64_t due = 0; // at this poll of its rank
    std::uint64_t number = 0;
    std::uint64_t cookie = 0;
    RmaOperation operation;
    std::shared_ptr<LoopbackRmaState::Part> part;
    bool over = false; // it has taken effect
    std::int64_t found = 0;
  };

  static bool is_later(UnderWay const& a, UnderWay const& b) noexcept {
    return std::pair(a.due, a.number) > std::pair(b.due, b.number);
  }

  [[nodiscard]] std::uint64_t draw() noexcept {
    auto const most = static_cast<std::uint64_t>(std::max(state_.options().delay, 0));
    return polls_ + (most == 0 ? 0 : delays_.next() % (most + 1));
  }

  void put(UnderWay it) {
    operations_.push_back(std::move(it));
    std::push_heap(operations_.begin(), operations_.end(), is_later);
  }

  UnderWay take() {
    std::pop_heap(operations_.begin(), operations_.end(), is_later);
    auto it = std::move(operations_.back());
    operations_.pop_back();
    return it;
  }

  template <class I>
  bool tell_lost(I& inbox) {
    auto const ends = state_.ends();
    if (ends == ends_) {
      return false;
    }
    ends_ = ends;
    bool told = false;
    for (int rank = 0; rank < state_.ranks(); ++rank) {
      auto const why = state_.why_gone(rank);
      dead_ = dead_ || (why && rank == rank_);
      if (why && rank != rank_ && !lost_[static_cast<std::size_t>(rank)]) {
        lost_[static_cast<std::size_t>(rank)] = true;
        std::erase_if(operations_,
                      [rank](UnderWay const& it) { return it.operation.patch.rank == rank; });
        std::make_heap(operations_.begin(), operations_.end(), is_later);
        told = true;
        inbox.lost(rank, *why);
      }
    }
    return told;
  }

  LoopbackRmaState& state_;
  int rank_;
  RandomStream delays_;
  Windows<LoopbackRmaState::Parts> windows_;
  std::vector<bool> lost_;
  bool dead_ = false;
  std::uint32_t ends_ = 0; // of which this rank knows
  std::uint64_t meetings_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t numbers_ = 0;
  std::vector<UnderWay> operations_; // a heap, the next one in front
};

} // namespace detail

} // namespace hetsched
