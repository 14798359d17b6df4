// SPDX-License-Identifier: MIT
#pragma once
// The memory of recorded events during a run.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/recording/event_file.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The kinds, each with the words behind an event's head. The task's id comes first, if there is
/// one, then the time.
enum class EventKind : std::uint8_t {
  spawned,  // see SpawnEvent
  ready,    // task, at
  taken,    // task, asked, at; detail: by the steal hook
  admitted, // task, at
  ran,      // task, begin, end, and if that is told here: asked, and taken if not at `begin`;
            // detail: TaskOutcome, and `stole`
  aborted,  // task, begin, end
  waited,   // task, begin, end
  divided,  // parent (0: none), at, then of the whole and of each part datum and bytes; detail:
            // joined again
  moved,    // datum, begin, end, from and to, bytes
  evicted,  // datum, at, node, dirty, bytes
  seated,   // at; detail: sits down
  message,  // task, at, datum, bytes, number, ranks from and to: as a spawn
  passed,   // task, asked, begin, end: a message
  of_rank,  // at, rank and how many there are
  clocks,   // at, offset, error
  named,    // the name of a task type, with as many zeros as fill the last word; on: its number
  left      // as `ran`: a body left its worker, and goes on later
};

/// Events in lanes. One thread at a time writes to a lane, and any thread reads. When the memory is
/// used up, later events are dropped and counted.
///
/// Memory orders: a lane's `used` and `next` are released after the words that they cover, and
/// readers acquire them. A thread that writes to a lane after another one got the lane in a way
/// that orders both.
class RecordedEvents {
public:
  using Word = std::uint64_t;

  struct Event {
    EventKind kind;
    std::uint8_t detail;
    WorkerId on;
    std::span<Word const> words; // behind the head
  };

  static constexpr std::uint8_t stole = 0x80; // of `ran`: the task came by the steal hook

  /// The size of a chunk. All its pages are asked for at once, because a page fault takes as long
  /// as some ten events.
  static constexpr std::size_t chunk_bytes = std::size_t{256} << 10U;

  /// `memory`: bytes at most. `file`: where the memory comes from, if it has some; null: none.
  RecordedEvents(std::size_t lanes, std::uint64_t memory, EventFile* file = nullptr)
      : lanes_(lanes), left_(static_cast<std::int64_t>(std::min<std::uint64_t>(memory, INT64_MAX))),
        file_(file) {}

  RecordedEvents(RecordedEvents const&) = delete;
  RecordedEvents& operator=(RecordedEvents const&) = delete;

  ~RecordedEvents() {
    for (auto& lane : lanes_) {
      for (auto* chunk = lane.first.load(std::memory_order_relaxed); chunk != nullptr;) {
        ::munmap(std::exchange(chunk, chunk->next.load(std::memory_order_relaxed)), chunk_bytes);
      }
    }
  }

  template <class... Words>
  void add(std::size_t lane, EventKind kind, std::uint8_t detail, WorkerId on, Words... words) {
    constexpr auto count = sizeof...(Words);
    if (auto* const place = begin_event(lanes_[lane], kind, detail, on, count)) {
      std::size_t k = 0;
      ((place[k++] = static_cast<Word>(words)), ...);
      end_event(lanes_[lane]);
    } else {
      drop(lanes_[lane]);
    }
  }

  void spawned(std::size_t lane, TaskRecord const& task, Instant at) {
    auto const label = task.label_text();
    auto const label_words = (label.size() + sizeof(Word) - 1) / sizeof(Word);
    std::span const accesses(task.accesses(), task.access_count);
    std::size_t count = 0;
    for (auto const& access : accesses) {
      count += access.duplicate ? 0 : 1;
    }
    auto& own = lanes_[lane];
    auto const type = type_number(own, task.type_of().name);
    auto const* const parent = task.parent.load(std::memory_order_relaxed);
    auto* place = type < 0 ? nullptr
                           : begin_event(own,
                                         EventKind::spawned,
                                         task.archs.load(std::memory_order_relaxed),
                                         WorkerId{type},
                                         3 + (parent != nullptr ? 1 : 0) + label_words + 2 * count);
    if (place == nullptr) {
      drop(own);
      return;
    }
    *place++ = task.id().value;
    *place++ = static_cast<Word>(at.ns);
    *place++ = static_cast<std::uint32_t>(task.priority) | Word{label.size()} << 33U |
               Word{parent != nullptr} << 32U;
    if (parent != nullptr) {
      *place++ = parent->id().value;
    }
    if (label_words != 0) {
      place[label_words - 1] = 0;
      std::memcpy(place, label.data(), label.size());
      place += label_words;
    }
    for (auto const& access : accesses) {
      if (!access.duplicate) {
        *place++ = reinterpret_cast<std::uintptr_t>(access.queue->data);
        *place++ = Word{access.queue->data->bytes()} << 8U | static_cast<Word>(access.mode);
      }
    }
    end_event(own);
  }

  void divided(std::size_t lane,
               bool joined,
               TaskRecord const* parent,
               Instant at,
               DataRecord const& whole,
               std::span<DataRecord* const> parts) {
    auto& own = lanes_[lane];
    auto* place =
        begin_event(own, EventKind::divided, joined ? 1 : 0, no_worker, 2 + 2 * (parts.size() + 1));
    if (place == nullptr) {
      drop(own);
      return;
    }
    *place++ = parent != nullptr ? parent->id().value : 0;
    *place++ = static_cast<Word>(at.ns);
    auto const add_datum = [&place](DataRecord const& datum) {
      *place++ = reinterpret_cast<std::uintptr_t>(&datum);
      *place++ = datum.bytes();
    };
    add_datum(whole);
    for (auto const* part : parts) {
      add_datum(*part);
    }
    end_event(own);
  }

  /// Adds an event that was recorded before, and has been checked.
  void add_again(std::size_t lane, Event const& event) {
    auto* const place =
        begin_event(lanes_[lane], event.kind, event.detail, event.on, event.words.size());
    if (place == nullptr) {
      throw std::bad_alloc();
    }
    std::copy(event.words.begin(), event.words.end(), place);
    end_event(lanes_[lane]);
  }

  /// Adds the name of a type that was recorded before; names come in the order of their numbers.
  void add_name_again(std::string name) {
    std::lock_guard const guard(names_lock_);
    names_.push_back(std::move(name));
  }

  /// The event whose head is the k-th of these words, all of which `count` covers. Words that end
  /// before the event does give an event without words and with kind 0xff.
  [[nodiscard]] static Event event_at(std::span<Word const> words, std::size_t k) noexcept {
    auto const head = words[k];
    auto const count = (head >> 16U) & longest;
    if (count > words.size() - k - 1) {
      return {EventKind{0xff}, 0, no_worker, {}};
    }
    return {static_cast<EventKind>(head & 0xffU),
            static_cast<std::uint8_t>(head >> 8U),
            WorkerId{static_cast<std::int32_t>(head >> 32U)},
            words.subspan(k + 1, count)};
  }

  [[nodiscard]] std::size_t lanes() const noexcept { return lanes_.size(); }

  /// Visits a lane's events in the order in which they were added.
  template <class Visit>
  void each(std::size_t lane, Visit const& visit) const {
    for (auto const* chunk = lanes_[lane].first.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next.load(std::memory_order_acquire)) {
      auto const used = chunk->used.load(std::memory_order_acquire);
      for (std::size_t k = 0; k < used;) {
        auto const event = event_at({chunk->words(), used}, k);
        visit(event);
        k += 1 + event.words.size();
      }
    }
  }

  [[nodiscard]] std::uint64_t dropped() const noexcept {
    std::uint64_t sum = 0;
    for (auto const& lane : lanes_) {
      sum += lane.dropped.load(std::memory_order_relaxed);
    }
    return sum;
  }

  /// Names of task types, by number.
  [[nodiscard]] std::vector<std::string> names() const {
    std::lock_guard const guard(names_lock_);
    return names_;
  }

private:
  using Chunk = EventChunk;

  static constexpr std::size_t capacity = (chunk_bytes - sizeof(Chunk)) / sizeof(Word);
  static constexpr std::size_t longest = 0xffff; // words behind a head
  static_assert(capacity <= longest);

  struct alignas(64) Lane {
    Atomic<Chunk*> first{nullptr};
    Chunk* last = nullptr; // the chunk that takes the next events
    std::size_t used = 0;
    Atomic<std::uint64_t> dropped{0};
    std::vector<std::pair<std::string, std::int32_t>> types; // the types of this lane's tasks
  };

  /// The place for the event's words; null if the memory is used up.
  [[nodiscard]] Word*
  begin_event(Lane& lane, EventKind kind, std::uint8_t detail, WorkerId on, std::size_t count) {
    if (lane.last == nullptr || lane.used + 1 + count > capacity) [[unlikely]] {
      if (!add_chunk(lane, 1 + count)) {
        return nullptr;
      }
    }
    auto* const place = lane.last->words() + lane.used;
    *place = static_cast<Word>(kind) | Word{detail} << 8U | Word{count} << 16U |
             Word{static_cast<std::uint32_t>(on.value)} << 32U;
    lane.used += 1 + count;
    return place + 1;
  }

  /// There is no memory for an event.
  static void drop(Lane& lane) noexcept {
    lane.dropped.store(lane.dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  static void end_event(Lane& lane) noexcept {
    lane.last->used.store(lane.used, std::memory_order_release);
  }

  [[nodiscard]] bool add_chunk(Lane& lane, std::size_t words) {
    constexpr auto bytes = static_cast<std::int64_t>(chunk_bytes);
    if (words > capacity) {
      return false;
    }
    if (left_.fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
      left_.fetch_add(bytes, std::memory_order_relaxed);
      return false;
    }
    void* memory = file_ != nullptr ? file_->chunk(chunk_bytes) : nullptr;
    if (memory == nullptr) {
      memory = ::mmap(nullptr,
                      chunk_bytes,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                      -1,
                      0);
    }
    if (memory == MAP_FAILED) {
      return false;
    }
    auto* const chunk = new (memory) Chunk;
    chunk->lane = static_cast<std::uint64_t>(&lane - lanes_.data());
    (lane.last == nullptr ? lane.first : lane.last->next).store(chunk, std::memory_order_release);
    lane.last = chunk;
    lane.used = 0;
    return true;
  }

  /// The number of a type, by the text of its name. The name's memory may be gone when the trace is
  /// made. -1 if there is no memory for a copy.
  [[nodiscard]] std::int32_t type_number(Lane& lane, std::string_view name) noexcept {
    for (auto const& [text, number] : lane.types) {
      if (text == name) {
        return number;
      }
    }
    try {
      return new_type(lane, name);
    } catch (std::bad_alloc const&) {
      return -1;
    }
  }

  [[nodiscard]] std::int32_t new_type(Lane& lane, std::string_view name) {
    std::lock_guard const guard(names_lock_);
    auto const known = std::find(names_.begin(), names_.end(), name);
    auto const number = static_cast<std::int32_t>(known - names_.begin());
    if (known == names_.end()) {
      names_.emplace_back(name);
      note_name(lane, number, name);
    }
    lane.types.emplace_back(name, number);
    return number;
  }

  /// For readers of the file, which have no other way to know it.
  void note_name(Lane& lane, std::int32_t number, std::string_view name) {
    if (file_ == nullptr) {
      return;
    }
    auto const count = std::min((name.size() + sizeof(Word) - 1) / sizeof(Word), capacity - 1);
    if (auto* const place = begin_event(lane, EventKind::named, 0, WorkerId{number}, count)) {
      std::fill_n(place, count, Word{0});
      std::memcpy(place, name.data(), std::min(name.size(), count * sizeof(Word)));
      end_event(lane);
    }
  }

  std::vector<Lane> lanes_;
  Atomic<std::int64_t> left_; // bytes that may still be taken
  EventFile* const file_;
  mutable Mutex names_lock_;
  std::vector<std::string> names_;
};

} // namespace hetsched::detail
