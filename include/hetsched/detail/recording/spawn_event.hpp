// SPDX-License-Identifier: MIT
#pragma once
// What a recorded spawn says.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/recording/recorded_events.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hetsched::detail {

/// Reads the words of a spawn. They are the task, the time, and a word with the priority, the
/// label's length and whether there is a parent. Then come the parent, the label, and for each
/// access the datum, its bytes and the mode. The head has the type in place of the worker, and the
/// archs as its detail.
class SpawnEvent {
public:
  using Word = RecordedEvents::Word;

  explicit SpawnEvent(RecordedEvents::Event const& event) noexcept : event_(event) {}

  [[nodiscard]] Word task() const noexcept { return event_.words[0]; }

  [[nodiscard]] std::int64_t at() const noexcept { return std::int64_t(event_.words[1]); }

  [[nodiscard]] std::uint32_t type() const noexcept { return std::uint32_t(event_.on.value); }

  [[nodiscard]] ArchMask archs() const noexcept { return {event_.detail}; }

  [[nodiscard]] std::int32_t priority() const noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(event_.words[2]));
  }

  /// 0: none.
  [[nodiscard]] Word parent() const noexcept { return has_parent() ? event_.words[3] : 0; }

  [[nodiscard]] std::string_view label() const noexcept {
    return {reinterpret_cast<char const*>(event_.words.data() + label_at()), label_bytes()};
  }

  [[nodiscard]] std::size_t words_before_accesses() const noexcept {
    return label_at() + (label_bytes() + sizeof(Word) - 1) / sizeof(Word);
  }

  /// Pairs: a datum's key; its bytes and the mode.
  [[nodiscard]] std::span<Word const> accesses() const noexcept {
    return event_.words.subspan(words_before_accesses());
  }

  [[nodiscard]] bool accesses(Word datum) const noexcept {
    auto const all = accesses();
    for (std::size_t k = 0; k < all.size(); k += 2) {
      if (all[k] == datum) {
        return true;
      }
    }
    return false;
  }

private:
  [[nodiscard]] bool has_parent() const noexcept { return (event_.words[2] >> 32U & 1U) != 0; }

  [[nodiscard]] std::size_t label_at() const noexcept { return has_parent() ? 4 : 3; }

  [[nodiscard]] std::size_t label_bytes() const noexcept { return event_.words[2] >> 33U; }

  RecordedEvents::Event event_;
};

} // namespace hetsched::detail
