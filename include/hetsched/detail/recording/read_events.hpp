// SPDX-License-Identifier: MIT
#pragma once
// Traces of runs that did not come to their end: from the events that a run left in a file. Needs
// nlohmann-json.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/recording/described_run.hpp>
#include <hetsched/detail/recording/event_file.hpp>
#include <hetsched/detail/recording/recorded_events.hpp>
#include <hetsched/detail/recording/spawn_event.hpp>
#include <hetsched/detail/recording/trace_builder.hpp>
#include <hetsched/detail/trace/formats/trace_check.hpp>
#include <hetsched/detail/trace/formats/trace_columns.hpp>
#include <hetsched/trace/formats/read_trace.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

[[nodiscard]] inline bool says_events(std::string_view file) noexcept {
  return file.starts_with(EventFileHead::right_magic);
}

/// Reads the contents of an EventFile. Nothing in it is believed before it was checked.
class EventsReader {
public:
  EventsReader(std::string_view file, std::string const& name) : file_(file), name_(name) {}

  [[nodiscard]] Trace read() {
    auto trace = read_head();
    RecordedEvents events(lanes_, UINT64_MAX);
    read_chunks(events);
    auto told = TraceBuilder(events, since_).build(trace.simulated);
    told.simulated = trace.simulated;
    told.scheduler = std::move(trace.scheduler);
    told.workers = std::move(trace.workers);
    told.nodes = std::move(trace.nodes);
    describe_rank(told);
    told.about.emplace_back("unfinished", "the run did not come to its end");
    count_accesses(told);
    TraceCheck(told, name_).run();
    return told;
  }

private:
  using Word = RecordedEvents::Word;
  using Event = RecordedEvents::Event;

  [[noreturn]] void refuse(char const* what) const {
    throw Error(
        ErrorCode::bad_input, name_, text("is no file of events, or a damaged one: %s", what));
  }

  /// The k-th number of the head, behind the magic.
  [[nodiscard]] std::uint64_t number(std::size_t k) const noexcept {
    std::uint64_t value = 0;
    std::memcpy(
        &value, file_.data() + sizeof(EventFileHead::magic) + k * sizeof value, sizeof value);
    return value;
  }

  [[nodiscard]] Trace read_head() {
    if (file_.size() < sizeof(EventFileHead)) {
      refuse("it is too short");
    }
    lanes_ = number(0);
    chunk_bytes_ = number(1);
    chunks_at_ = number(2);
    auto const text_bytes = number(3);
    since_ = static_cast<std::int64_t>(number(4));
    if (chunks_at_ < sizeof(EventFileHead) || chunks_at_ > file_.size() ||
        text_bytes > chunks_at_ - sizeof(EventFileHead) || chunk_bytes_ <= sizeof(EventChunk) ||
        chunk_bytes_ % sizeof(Word) != 0 || chunk_bytes_ > RecordedEvents::chunk_bytes) {
      refuse("its head makes no sense");
    }
    auto trace = parse_trace(std::string(file_.substr(sizeof(EventFileHead), text_bytes)), name_);
    if (lanes_ < 1 || lanes_ > trace.workers.size() + 1) {
      refuse("its number of lanes makes no sense");
    }
    return trace;
  }

  void read_chunks(RecordedEvents& events) {
    std::map<std::int32_t, std::string> names;
    std::vector<std::pair<std::size_t, std::vector<Word>>> chunks;
    for (auto at = chunks_at_; file_.size() - at >= chunk_bytes_; at += chunk_bytes_) {
      auto const head_word = [&](std::size_t k) {
        Word word = 0;
        std::memcpy(&word, file_.data() + at + k * sizeof word, sizeof word);
        return word;
      };
      auto const used = head_word(1);
      auto const lane = head_word(2);
      if (used > (chunk_bytes_ - sizeof(EventChunk)) / sizeof(Word) || lane >= lanes_) {
        refuse("a block makes no sense");
      }
      std::vector<Word> words(used);
      if (used != 0) {
        std::memcpy(words.data(), file_.data() + at + sizeof(EventChunk), used * sizeof(Word));
      }
      each(words, [&](Event const& event) {
        if (event.kind == EventKind::named) {
          std::string name(reinterpret_cast<char const*>(event.words.data()),
                           event.words.size() * sizeof(Word));
          names.emplace(event.on.value, name.substr(0, name.find('\0')));
        }
      });
      chunks.emplace_back(lane, std::move(words));
    }
    for (auto const& [type, name] : names) {
      if (type != types_++) {
        refuse("the name of a task type is missing");
      }
      events.add_name_again(name);
    }
    for (auto const& [lane, words] : chunks) {
      each(words, [&, to = lane](Event const& event) {
        if (event.kind != EventKind::named) {
          if (!makes_sense(event)) {
            refuse("an event makes no sense");
          }
          events.add_again(to, event);
        }
      });
    }
  }

  template <class Visit>
  void each(std::span<Word const> words, Visit const& visit) const {
    for (std::size_t k = 0; k < words.size();) {
      auto const event = RecordedEvents::event_at(words, k);
      if (event.kind > EventKind::left) {
        refuse("an event makes no sense");
      }
      visit(event);
      k += 1 + event.words.size();
    }
  }

  /// Whether the builder may take the event: it has its words, and its times are times.
  [[nodiscard]] bool makes_sense(Event const& event) const {
    auto const& words = event.words;
    auto const times = [&](std::size_t first, std::size_t last) {
      return std::all_of(words.begin() + static_cast<std::ptrdiff_t>(first),
                         words.begin() + static_cast<std::ptrdiff_t>(last),
                         [](Word time) { return time <= Word{trace_year}; });
    };
    switch (event.kind) {
    case EventKind::spawned:
      return words.size() >= 3 && times(1, 2) && is_spawn(event);
    case EventKind::ready:
    case EventKind::admitted:
      return words.size() == 2 && times(1, 2);
    case EventKind::taken:
    case EventKind::aborted:
    case EventKind::waited:
      return words.size() == 3 && times(1, 3);
    case EventKind::ran:
    case EventKind::left:
      return words.size() >= 3 && words.size() <= 5 && times(1, words.size()) &&
             (event.detail & ~RecordedEvents::stole) <= 3;
    case EventKind::divided:
      return words.size() >= 4 && words.size() % 2 == 0 && times(1, 2);
    case EventKind::moved:
      return words.size() == 5 && times(1, 3);
    case EventKind::evicted:
      return words.size() == 5 && times(1, 2);
    case EventKind::seated:
      return words.size() == 1 && times(0, 1);
    case EventKind::message:
      return words.size() == 6 && times(1, 2) && words[4] <= 2 * Word{UINT32_MAX} + 1;
    case EventKind::passed:
      return words.size() == 4 && times(1, 4);
    case EventKind::of_rank:
      return words.size() == 2 && times(0, 1) && (words[1] >> 32U) < (words[1] & UINT32_MAX) &&
             (words[1] & UINT32_MAX) <= most_ranks;
    case EventKind::clocks: // an offset may be negative
      return words.size() == 3 && times(0, 1) && times(2, 3) &&
             words[1] + Word{trace_year} <= 2 * Word{trace_year};
    case EventKind::named:
      break;
    }
    return false;
  }

  [[nodiscard]] bool is_spawn(Event const& event) const {
    SpawnEvent const spawn(event);
    if (event.on.value < 0 || event.on.value >= types_ ||
        spawn.words_before_accesses() > event.words.size()) {
      return false;
    }
    auto const accesses = spawn.accesses();
    for (std::size_t k = 1; k < accesses.size(); k += 2) {
      if ((accesses[k] & 0xffU) > static_cast<Word>(AccessMode::reduce)) {
        return false;
      }
    }
    return accesses.size() % 2 == 0;
  }

  static constexpr Word most_ranks = 1'000'000;

  std::string_view const file_;
  std::string const& name_;
  std::size_t lanes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t chunks_at_ = 0;
  std::int64_t since_ = 0;
  std::int32_t types_ = 0;
};

/// The trace in a file: a whole one, or the events of a run that did not come to its end. Throws
/// Error(bad_input).
[[nodiscard]] inline Trace read_trace_or_events(std::string const& path) {
  auto const file = read_text_file(path, largest_trace_file);
  return says_events(file) ? EventsReader(file, path).read() : parse_trace(file, path);
}

} // namespace hetsched::detail
