// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations between ranks in virtual time.

#include <hetsched/concepts/rma_port.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/cluster/virtual_network.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/platform/network.hpp>
#include <hetsched/platform/one_sided_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The memory that ranks share, and the operations on it that are under way. Not thread-safe.
/// Deterministic: what happens at one time happens in the order in which it was asked for.
class VirtualRma {
  enum class What : std::uint8_t { get, put, accumulate, fetch_add, compare_swap };

  struct Operation : VirtualMessage {
    What what = What::get;
    std::int32_t origin = 0;
    std::int32_t target = 0;
    bool done = false; // at the target
    Window window;
    WindowPatch patch;
    void* here = nullptr;
    std::size_t stride = 0;
    std::int64_t value = 0;
    std::int64_t expected = 0;
    std::uint64_t cookie = 0;
  };

public:
  VirtualRma(Network const& network, OneSidedCosts const& costs, int ranks, Instant const& now)
      : network_(network, ranks), costs_(costs), now_(now) {
    for (int rank = 0; rank < ranks; ++rank) {
      ends_.emplace_back(*this, rank);
    }
  }

  VirtualRma(VirtualRma const&) = delete;
  VirtualRma& operator=(VirtualRma const&) = delete;

  /// One rank's. Its `allocate` waits for nobody.
  class End final : public RmaPort {
  public:
    End(VirtualRma& all, int rank) : all_(all), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }

    [[nodiscard]] int ranks() const override { return static_cast<int>(all_.ends_.size()); }

    Window allocate(WindowElement element, std::size_t elements) override {
      auto const words = (elements * size_of(element) + 7) / 8;
      parts_.push_back({element, elements, std::vector<std::int64_t>(words)});
      return {static_cast<std::uint32_t>(parts_.size() - 1)};
    }

    /// Of so many bytes that only take time.
    Window allocate_values(std::size_t bytes) {
      parts_.push_back({WindowElement::byte, bytes, {}});
      return {static_cast<std::uint32_t>(parts_.size() - 1)};
    }

    void free(Window window) override { parts_[window.number].memory = {}; }

    [[nodiscard]] std::size_t elements(Window window, int rank) const override {
      return all_.part(window, rank).elements;
    }

    [[nodiscard]] void* memory(Window window) override {
      return parts_[window.number].memory.data();
    }

    void get(Window window,
             WindowPatch const& patch,
             void* here,
             std::size_t stride,
             std::uint64_t cookie) override {
      move(What::get, window, patch, here, stride, cookie);
    }

    void put(Window window,
             WindowPatch const& patch,
             void const* here,
             std::size_t stride,
             std::uint64_t cookie) override {
      move(What::put, window, patch, const_cast<void*>(here), stride, cookie); // is only read
    }

    void accumulate(Window window,
                    WindowPatch const& patch,
                    void const* here,
                    std::size_t stride,
                    std::uint64_t cookie) override {
      move(What::accumulate, window, patch, const_cast<void*>(here), stride, cookie); // the same
    }

    void fetch_add(Window window,
                   int rank,
                   std::size_t at,
                   std::int64_t value,
                   std::uint64_t cookie) override {
      auto& operation = make(What::fetch_add, window, {.rank = rank, .first = at}, cookie);
      operation.value = value;
      all_.begin(operation);
    }

    void compare_swap(Window window,
                      int rank,
                      std::size_t at,
                      std::int64_t expected,
                      std::int64_t desired,
                      std::uint64_t cookie) override {
      auto& operation = make(What::compare_swap, window, {.rank = rank, .first = at}, cookie);
      operation.expected = expected;
      operation.value = desired;
      all_.begin(operation);
    }

    bool poll(RmaEvents& events) override {
      if (over_.empty()) {
        return false;
      }
      auto& operation = *over_.front();
      over_.pop_front();
      auto const cookie = operation.cookie;
      auto const value = operation.value;
      all_.free_.push_back(&operation);
      events.done(cookie, value);
      return true;
    }

    /// Nobody is lost here.
    void abort(std::string_view /*line*/) override {}

    /// Whether `poll` has something to report.
    [[nodiscard]] bool has_news() const noexcept { return !over_.empty(); }

  private:
    friend class VirtualRma;

    void move(What what,
              Window window,
              WindowPatch const& patch,
              void* here,
              std::size_t stride,
              std::uint64_t cookie) {
      auto& operation = make(what, window, patch, cookie);
      operation.here = here;
      operation.stride = stride;
      all_.begin(operation);
    }

    Operation& make(What what, Window window, WindowPatch const& patch, std::uint64_t cookie) {
      auto& operation = all_.take();
      operation.what = what;
      operation.window = window;
      operation.patch = patch;
      operation.cookie = cookie;
      operation.origin = rank_;
      operation.target = patch.rank;
      return operation;
    }

    struct Part {
      WindowElement element;
      std::size_t elements;
      std::vector<std::int64_t> memory; // of whatever element
    };

    VirtualRma& all_;
    int rank_;
    std::vector<Part> parts_;
    std::deque<Operation*> over_;    // that `poll` has not reported
    std::deque<Operation*> waiting_; // for this rank to look, with between_bodies
    Instant busy_until_;             // when it has seen to all operations so far
  };

  [[nodiscard]] End& end(int rank) { return ends_[static_cast<std::size_t>(rank)]; }

  /// The rank looks for what has come.
  void attend(int rank) {
    for (auto* const operation : std::exchange(end(rank).waiting_, {})) {
      serve(*operation);
    }
  }

  /// What was begun at this time goes on its way.
  void start() { network_.start(now_); }

  /// The time of the next event; VirtualNetwork::never if there is none.
  [[nodiscard]] Instant next() noexcept {
    return events_.empty() ? network_.next() : std::min(network_.next(), events_.top().at);
  }

  /// Performs what happens now. Calls `news(rank)` for those that are to look.
  template <class News>
  void advance(News&& news) {
    network_.advance(
        now_,
        [](VirtualMessage&) {},
        [&](VirtualMessage& message) {
          auto& operation = static_cast<Operation&>(message);
          if (operation.done) {
            end(operation.origin).over_.push_back(&operation);
            news(operation.origin);
          } else if (costs_.progress.ns != 0) {
            add(now_ + costs_.progress, Event::arrives, operation);
          } else {
            arrive(operation, news);
          }
        });
    while (!events_.empty() && events_.top().at == now_) {
      auto const event = events_.top();
      events_.pop();
      if (event.what == Event::arrives) {
        arrive(*event.operation, news);
      } else {
        perform(*event.operation);
        news(event.operation->target);
        answer(*event.operation);
      }
    }
  }

  /// Values that were got, put and added from or to other ranks, and all operations on other ranks.
  [[nodiscard]] Traffic const& values() const noexcept { return values_; }

  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

private:
  struct Event {
    enum Kind : std::uint8_t { arrives, performs };

    Instant at;
    std::uint64_t number;
    Kind what;
    Operation* operation;

    friend bool operator>(Event const& a, Event const& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  [[nodiscard]] End::Part& part(Window window, int rank) {
    auto& parts = end(rank).parts_;
    HETSCHED_ASSERT(window.number < parts.size(), "no such window");
    return parts[window.number];
  }

  Operation& take() {
    if (free_.empty()) {
      return operations_kept_.emplace_back();
    }
    auto& operation = *free_.back();
    free_.pop_back();
    operation = {};
    return operation;
  }

  /// Of the values that go with it.
  [[nodiscard]] std::size_t bytes_of(Operation const& operation) {
    bool const atomic = operation.what > What::accumulate;
    return atomic
               ? 0
               : operation.patch.size() * size_of(part(operation.window, operation.target).element);
  }

  void add(Instant at, Event::Kind what, Operation& operation) {
    events_.push({at, numbered_++, what, &operation});
  }

  void begin(Operation& operation) {
    auto const bytes = bytes_of(operation);
    if (operation.origin == operation.target) {
      if (part(operation.window, operation.target).memory.empty()) {
        add(now_ + Network::at(bytes, costs_.local_bytes_per_s), Event::performs, operation);
      } else {
        perform(operation);
        answer(operation);
      }
      return;
    }
    ++operations_;
    if (operation.what <= What::accumulate &&
        part(operation.window, operation.target).memory.empty()) {
      values_.add(bytes);
    }
    operation.from = operation.origin;
    operation.to = operation.target;
    operation.bytes = operation.what == What::get ? 0 : bytes;
    operation.priority = operation.bytes == 0 ? 1 : 0; // does not wait behind values
    network_.ask(operation);
  }

  template <class News>
  void arrive(Operation& operation, News&& news) {
    if (costs_.between_bodies) {
      end(operation.target).waiting_.push_back(&operation);
      news(operation.target);
    } else {
      serve(operation);
    }
  }

  void serve(Operation& operation) {
    auto& busy_until = end(operation.target).busy_until_;
    busy_until = std::max(busy_until, now_) + costs_.at_target;
    if (operation.what == What::accumulate) {
      busy_until = busy_until + Network::at(bytes_of(operation), costs_.accumulate_bytes_per_s);
    }
    add(busy_until, Event::performs, operation);
  }

  void perform(Operation& operation) {
    auto& own = part(operation.window, operation.target);
    if (own.memory.empty()) {
      return;
    }
    auto const& patch = operation.patch;
    HETSCHED_ASSERT(patch.rows == 1 && patch.first + patch.columns <= own.elements,
                    "not within the part of a rank");
    auto& word = own.memory[operation.what > What::accumulate ? patch.first : 0];
    auto* const there =
        reinterpret_cast<std::byte*>(own.memory.data()) + patch.first * size_of(own.element);
    switch (operation.what) {
    case What::get:
      std::memcpy(operation.here, there, bytes_of(operation));
      break;
    case What::put:
      std::memcpy(there, operation.here, bytes_of(operation));
      break;
    case What::accumulate:
      HETSCHED_ASSERT(false, "values have no memory in virtual time");
      break;
    case What::fetch_add:
      word += std::exchange(operation.value, word);
      break;
    case What::compare_swap: {
      auto const found = word;
      word = found == operation.expected ? operation.value : found;
      operation.value = found;
      break;
    }
    }
  }

  void answer(Operation& operation) {
    if (operation.origin == operation.target) {
      end(operation.origin).over_.push_back(&operation);
      return;
    }
    operation.done = true;
    operation.from = operation.target;
    operation.to = operation.origin;
    operation.bytes = operation.what == What::get ? bytes_of(operation) : 0;
    operation.priority = operation.bytes == 0 ? 1 : 0;
    network_.ask(operation);
  }

  VirtualNetwork network_;
  OneSidedCosts const costs_;
  Instant const& now_;
  std::deque<End> ends_;
  std::deque<Operation> operations_kept_;
  std::vector<Operation*> free_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t numbered_ = 0;
  Traffic values_;
  std::uint64_t operations_ = 0;
};

} // namespace hetsched::detail
