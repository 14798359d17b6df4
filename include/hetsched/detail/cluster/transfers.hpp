// SPDX-License-Identifier: MIT
#pragma once
// Values on their way from rank to rank.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A send or a receive: an external task that reads or writes the datum on this rank.
struct RankTransfer : ExternalUse {
  GrantedUses<RankTransfer>& all;
  RankTransfer* next = nullptr;
  TaskRecord* task = nullptr;   // since it was granted
  std::size_t taken_before = 0; // how many, when it was taken
  bool timed = false;           // somebody wants to know when:
  std::int64_t granted_ns = 0;  // it was granted
  std::int64_t begun_ns = 0;    // a sent one was given to the transport
  DatumLine line;
  std::int32_t peer;
  bool sends;
  std::byte* memory; // of the datum on the host
  Shape shape;
  std::size_t element_bytes;
  Turn turn;
  std::vector<std::unique_ptr<RankTransfer>> with_it = {}; // sends of the same message

  RankTransfer(GrantedUses<RankTransfer>& granted_ones,
               DatumLine its_line,
               Turn its_turn,
               int its_peer,
               bool is_sent,
               void* its_memory,
               Shape const& its_shape,
               std::size_t bytes)
      : ExternalUse{&note_granted}, all(granted_ones), line(its_line), peer(its_peer),
        sends(is_sent), memory(static_cast<std::byte*>(its_memory)), shape(its_shape),
        element_bytes(bytes), turn(its_turn) {}

  [[nodiscard]] std::size_t bytes() const noexcept {
    return shape.rows * shape.cols * element_bytes;
  }

  [[nodiscard]] bool contiguous() const noexcept {
    return shape.cols <= 1 || shape.ld == shape.rows;
  }

  /// Copies between the memory of the datum and a contiguous block.
  void pack(std::byte* to) const noexcept {
    auto const column = shape.rows * element_bytes;
    for (std::size_t j = 0; j < shape.cols; ++j) {
      std::memcpy(to + j * column, memory + j * shape.ld * element_bytes, column);
    }
  }

  void unpack(std::byte const* from) noexcept {
    auto const column = shape.rows * element_bytes;
    for (std::size_t j = 0; j < shape.cols; ++j) {
      std::memcpy(memory + j * shape.ld * element_bytes, from + j * column, column);
    }
  }

private:
  static void note_granted(ExternalUse& use, TaskRecord& task) noexcept {
    auto& transfer = static_cast<RankTransfer&>(use);
    transfer.task = &task;
    if (transfer.timed) [[unlikely]] {
      transfer.granted_ns = monotonic_ns();
    }
    transfer.all.add(transfer);
  }
};

/// A transfer that is over: its task is to be ended.
struct EndedTransfer {
  std::unique_ptr<RankTransfer> transfer;
  bool failed;
};

/// Adds a send, and those with it.
inline void
add_sent(std::vector<EndedTransfer>& ended, std::unique_ptr<RankTransfer> send, bool failed) {
  auto others = std::exchange(send->with_it, {});
  ended.push_back({std::move(send), failed});
  for (auto& other : others) {
    ended.push_back({std::move(other), failed});
  }
}

/// Memory of a value, until nobody needs it.
using ValueBlock = std::shared_ptr<std::byte[]>;

/// Brings together what arrives and who waits for it: per datum and sender those of the same turn,
/// the first with the first. Under the caller's lock.
class Arrivals {
public:
  /// A receive holds its datum. Adds it to `ended` if its value is there.
  void expect(std::unique_ptr<RankTransfer> receive, std::vector<EndedTransfer>& ended) {
    auto& line = lines_[{receive->line.number(), receive->peer}];
    auto const found = std::find_if(line.early.begin(), line.early.end(), [&](Early const& other) {
      return other.turn == receive->turn;
    });
    if (found == line.early.end()) {
      line.waiting.push_back(std::move(receive));
      return;
    }
    auto early = std::move(*found);
    line.early.erase(found);
    if (early.whole) {
      finish(std::move(receive), early.spoilt, early.block.get(), early.bytes, ended);
    } else {
      auto& message = under_way_.at(early.block.get());
      message.receive = std::move(receive);
      message.block = std::move(early.block);
    }
  }

  /// A value begins to arrive. Where it shall go; with `keep` not to the datum itself, as others
  /// will read it there.
  [[nodiscard]] std::byte* begin(DatumLine of, int from, Turn turn, std::size_t bytes, bool keep) {
    auto& line = lines_[{of.number(), from}];
    auto receive = take_waiting(line, turn);
    bool const direct =
        !keep && receive != nullptr && receive->contiguous() && receive->bytes() == bytes;
    ValueBlock block;
    auto* place = direct ? receive->memory : nullptr;
    if (!direct) {
      block = ValueBlock(new std::byte[bytes]); // not zeroed, which make_shared does
      place = block.get();
    }
    if (receive == nullptr) {
      line.early.push_back({std::move(block), bytes, turn, false, false});
    }
    under_way_[place] = UnderWay{{of.number(), from}, std::move(receive), std::move(block)};
    return place;
  }

  /// A value that has come, or is coming, into that block before anybody could wait for it.
  void adopt(DatumLine of, int from, Turn turn, ValueBlock block, std::size_t bytes, bool whole) {
    Key const line{of.number(), from};
    auto* const place = block.get();
    lines_[line].early.push_back({std::move(block), bytes, turn, whole, false});
    if (!whole) {
      under_way_[place] = UnderWay{line, nullptr, nullptr};
    }
  }

  /// The value is there. Returns where, unless that is the datum itself, or no such value was
  /// under way.
  ValueBlock arrived(std::byte* place, std::size_t bytes, std::vector<EndedTransfer>& ended) {
    auto const found = under_way_.find(place);
    if (found == under_way_.end()) {
      return nullptr;
    }
    auto message = std::move(found->second);
    under_way_.erase(found);
    if (message.receive != nullptr) {
      finish(std::move(message.receive), false, message.block.get(), bytes, ended);
      return message.block;
    }
    for (auto& early : lines_[message.line].early) {
      if (early.block.get() == place) {
        early.whole = true;
        return early.block;
      }
    }
    return message.block;
  }

  /// A message without a payload stands for a value: one of no bytes, or, if `spoilt`, none at all.
  void
  arrived_empty(DatumLine of, int from, Turn turn, bool spoilt, std::vector<EndedTransfer>& ended) {
    auto& line = lines_[{of.number(), from}];
    if (auto receive = take_waiting(line, turn)) {
      finish(std::move(receive), spoilt, nullptr, 0, ended);
    } else {
      line.early.push_back({nullptr, 0, turn, true, spoilt});
    }
  }

  /// Nothing will arrive any more.
  void give_up(std::vector<EndedTransfer>& ended) {
    for (auto& [key, line] : lines_) {
      for (auto& receive : line.waiting) {
        ended.push_back({std::move(receive), true});
      }
      for (auto& early : line.early) {
        if (!early.whole) { // the transport may still write there
          under_way_.at(early.block.get()).block = std::move(early.block);
        }
      }
    }
    for (auto& [place, message] : under_way_) {
      if (message.receive != nullptr) {
        ended.push_back({std::move(message.receive), true});
        message.receive = nullptr;
      }
    }
    lines_.clear();
  }

  /// A datum that is waited for from that rank; false: none is.
  [[nodiscard]] bool waits_for(int from, std::uint32_t& datum) const {
    for (auto const& [key, line] : lines_) {
      if (key.second == from && !line.waiting.empty()) {
        datum = DatumLine::of(key.first).datum;
        return true;
      }
    }
    return false;
  }

private:
  using Key = std::pair<std::uint64_t, int>; // the number of a line, and the sender

  struct KeyHash {
    [[nodiscard]] std::size_t operator()(Key const& key) const noexcept {
      return (key.first << 20U ^ static_cast<std::uint32_t>(key.second)) * 0x9fb21c651e98df25U;
    }
  };

  struct Early { // arrived, or arriving, before the receive holds its datum
    ValueBlock block;
    std::size_t bytes;
    Turn turn;
    bool whole;
    bool spoilt;
  };

  struct Line {
    std::deque<std::unique_ptr<RankTransfer>> waiting;
    std::deque<Early> early;
  };

  struct UnderWay {
    Key line;
    std::unique_ptr<RankTransfer> receive; // null: not yet granted
    ValueBlock block; // null: it goes straight to the datum, or an Early has it
  };

  /// The first that waits for a value of that turn, or null.
  [[nodiscard]] static std::unique_ptr<RankTransfer> take_waiting(Line& line, Turn turn) {
    auto const found = std::find_if(line.waiting.begin(), line.waiting.end(), [&](auto const& own) {
      return own->turn == turn;
    });
    if (found == line.waiting.end()) {
      return nullptr;
    }
    auto receive = std::move(*found);
    line.waiting.erase(found);
    return receive;
  }

  /// `block`: where the value is if not in the datum's memory.
  static void finish(std::unique_ptr<RankTransfer> receive,
                     bool spoilt,
                     std::byte const* block,
                     std::size_t bytes,
                     std::vector<EndedTransfer>& ended) {
    bool failed = spoilt;
    if (!failed && block != nullptr) {
      failed = bytes != receive->bytes();
      if (!failed) {
        receive->unpack(block);
      }
    }
    ended.push_back({std::move(receive), failed});
  }

  std::unordered_map<Key, Line, KeyHash> lines_;
  std::unordered_map<std::byte*, UnderWay> under_way_; // by where they go
};

} // namespace hetsched::detail
