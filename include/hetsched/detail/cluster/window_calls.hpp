// SPDX-License-Identifier: MIT
#pragma once
// What all ranks of a one-sided transport call together.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What all ranks call together. They say the same, but for `elements`.
struct WindowCall {
  enum class Kind : std::uint8_t { allocate, free, end };

  Kind kind = Kind::end;
  WindowElement element{};    // of allocate
  std::uint32_t window = 0;   // of free
  std::uint64_t elements = 0; // of this rank's part; no_memory: it cannot have it

  static constexpr std::uint64_t no_memory = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::string text() const {
    switch (kind) {
    case Kind::allocate:
      return detail::text("allocates %s", name_of(element));
    case Kind::free:
      return detail::text("frees window %u", window);
    default:
      return "ends its transport";
    }
  }
};

/// Throws what allocate and free throw if the ranks do not say the same or one has no memory.
inline void check_window_calls(std::vector<WindowCall> const& calls) {
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    auto const& call = calls[rank];
    auto const& first = calls.front();
    if (call.kind != first.kind || call.element != first.element || call.window != first.window) {
      throw Error(ErrorCode::bad_call,
                  text("rank %zu", rank),
                  call.text() + " where rank 0 " + first.text());
    }
  }
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (calls[rank].elements == WindowCall::no_memory) {
      throw Error(
          ErrorCode::rank_failed, text("rank %zu", rank), "has no memory for its part of a window");
    }
  }
}

/// What each rank has called so far, as one of them knows it by messages.
class WindowCalls {
public:
  WindowCalls(int rank, std::size_t ranks) : rank_(static_cast<std::size_t>(rank)), ranks_(ranks) {}

  /// What this rank calls. Returns the call's number.
  std::uint64_t add_own(WindowCall const& call) {
    add(rank_, ++called_, call);
    return called_;
  }

  void add(std::size_t rank, std::uint64_t number, WindowCall const& call) {
    auto& calls = calls_[number];
    calls.resize(ranks_);
    calls[rank] = call;
  }

  /// Whether all ranks have called what this one called last. Throws Error(rank_failed) if one will
  /// not: `lost` says why, of each rank that is gone.
  [[nodiscard]] bool all(std::vector<std::optional<std::string>> const& lost) const {
    auto const& calls = calls_.at(called_);
    bool all = true;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (!calls[rank] && lost[rank]) {
        throw Error(ErrorCode::rank_failed, text("rank %zu", rank), *lost[rank]);
      }
      all = all && calls[rank].has_value();
    }
    return all;
  }

  /// After that, of each rank.
  [[nodiscard]] std::vector<WindowCall> take() {
    std::vector<WindowCall> calls;
    for (auto const& it : calls_.at(called_)) {
      calls.push_back(*it);
    }
    calls_.erase(called_);
    return calls;
  }

private:
  std::size_t rank_;
  std::size_t ranks_;
  std::map<std::uint64_t, std::vector<std::optional<WindowCall>>> calls_; // by number, of each rank
  std::uint64_t called_ = 0;
};

} // namespace hetsched::detail
