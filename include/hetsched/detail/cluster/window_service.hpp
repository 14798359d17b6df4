// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations by messages: the target carries out what it is asked for while it polls.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/later_messages.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/rma_messages.hpp>
#include <hetsched/detail/cluster/tell_each.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/cluster/windows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The windows of one rank over messages, under the caller's lock.
class WindowService {
public:
  using Send = void (*)(void* transport,
                        int to,
                        std::span<std::byte const> head,
                        std::span<std::byte const> payload,
                        std::uint64_t cookie);
  using Block = std::shared_ptr<std::byte[]>;

  /// `kept`: of the transport, of which this is one user.
  WindowService(int rank, int ranks, KeptMessages& kept, void* transport, Send send_by)
      : rank_(rank), ranks_(static_cast<std::size_t>(ranks)), later_(kept), user_(kept.users++),
        transport_(transport), send_(send_by), windows_(rank), calls_(rank, ranks_), lost_(ranks_) {
    later_.take(user_, [this](KeptMessages::Message message, ReadHead const& read) {
      Block const block(std::move(message.payload));
      if (read.head.user != user_) {
        scrap_.push_back(block);
      } else {
        if (block != nullptr) {
          arriving_[block.get()] = block;
        }
        if (message.whole) {
          arrived(message.from, message.head, block.get(), message.bytes);
        }
      }
    });
  }

  WindowService(WindowService const&) = delete;
  WindowService& operator=(WindowService const&) = delete;

  [[nodiscard]] Windows<Block>& windows() noexcept { return windows_; }

  [[nodiscard]] Windows<Block> const& windows() const noexcept { return windows_; }

  // ---- what all ranks call together ----

  /// What this rank calls. Others may use this rank's part of a new window as soon as all have
  /// called, which they may know before this rank does.
  void call(WindowCall call) {
    auto const own = static_cast<std::size_t>(rank_);
    if (call.kind == WindowCall::Kind::allocate) {
      std::vector<std::uint64_t> elements(ranks_);
      Block part;
      try {
        part = zeroed(call.elements, size_of(call.element));
        elements[own] = call.elements;
      } catch (std::bad_alloc const&) {
        call.elements = WindowCall::no_memory;
      }
      new_window_ = windows_.add(call.element, std::move(elements), std::move(part));
    }
    auto const number = calls_.add_own(call);
    RmaHead const head{.step = RmaHead::Step::call,
                       .element = call.element,
                       .call = call.kind,
                       .window = call.window,
                       .elements = call.elements};
    for (int to = 0; to < static_cast<int>(ranks_); ++to) {
      if (to != rank_) {
        send(to, number, head, {}, nullptr);
      }
    }
  }

  /// Whether all ranks have called what this one called last. Throws Error(rank_failed) if one will
  /// not.
  [[nodiscard]] bool all_called() const { return calls_.all(lost_); }

  /// After that. Throws as allocate does.
  Window finish_call() {
    auto const calls = calls_.take();
    check_window_calls(calls);
    auto const& own = calls[static_cast<std::size_t>(rank_)];
    if (own.kind == WindowCall::Kind::free) {
      windows_.remove({own.window});
    } else if (own.kind == WindowCall::Kind::allocate) {
      auto& elements = windows_.at(new_window_).elements;
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        elements[rank] = calls[rank].elements;
      }
    }
    return new_window_;
  }

  /// Whether the transport needs no memory of this rank any more.
  [[nodiscard]] bool all_sent() const noexcept { return outgoing_.empty(); }

  // ---- operations ----

  /// Without `element`, which is the window's.
  void begin(Window window, RmaOperation it, std::uint64_t cookie) {
    auto& entry = windows_.check(window, it.patch, it.stride, it.kind);
    auto const& patch = it.patch;
    if (lost_[static_cast<std::size_t>(patch.rank)]) {
      return;
    }
    it.element = entry.element;
    if (patch.size() == 0) {
      news_.push_back({.cookie = cookie});
      return;
    }
    if (patch.rank == rank_) {
      news_.push_back({.cookie = cookie, .value = it.carry_out(entry.memory.get())});
      return;
    }
    RmaHead const head{.step = RmaHead::Step::ask,
                       .kind = it.kind,
                       .element = it.element,
                       .window = window.number,
                       .first = patch.first,
                       .columns = patch.columns,
                       .rows = patch.rows,
                       .stride = patch.stride,
                       .value = it.value,
                       .desired = it.desired};
    std::byte const* payload = it.here;
    Block packed;
    if (it.gives() && !is_dense(patch, it.stride)) {
      packed = block_of(it.bytes());
      copy_rows(patch, size_of(it.element), packed.get(), patch.columns, it.here, it.stride);
      payload = packed.get();
    }
    auto const number = ++numbers_;
    asked_.emplace(2 * number, Asked{it, cookie, it.gives()});
    send(patch.rank, number, head, {payload, it.gives() ? it.bytes() : 0}, std::move(packed));
  }

  /// Reports what is done, and ranks that were lost.
  template <class I>
  bool tell_news(I& inbox) {
    return tell_each(news_, [&](News const& it) {
      if (it.lost >= 0) {
        inbox.lost(it.lost, it.why);
      } else {
        inbox.done(it.cookie, it.value);
      }
    });
  }

  // ---- what the transport reports: this is its inbox ----

  std::byte* begin(int from, std::span<std::byte const> bytes, std::size_t payload) {
    ReadHead const message(bytes);
    if (message.valid && message.head.user > user_) {
      return later_.begin(from, bytes, payload);
    }
    if (message.valid && message.head.user < user_) {
      return scrap_.emplace_back(block_of(payload)).get();
    }
    auto const head = read(from, message);
    if (head.step == RmaHead::Step::ask) {
      auto const it = operation_of(head);
      auto& entry = checked(from, head, it, payload);
      if (it.kind == RmaKind::put && is_dense(it.patch, it.patch.stride)) {
        return place_of(entry, it.patch);
      }
    } else if (auto const& it = asked(from, message.head.number, payload).operation;
               is_dense(it.patch, it.stride)) {
      return it.here;
    }
    auto block = block_of(payload);
    auto* const place = block.get();
    arriving_[place] = std::move(block);
    return place;
  }

  void arrived(int from, std::span<std::byte const> bytes, std::byte* place, std::size_t payload) {
    ReadHead const message(bytes);
    if (message.valid && message.head.user != user_) {
      if (message.head.user > user_) {
        later_.arrived(from, bytes, place);
      }
      return;
    }
    Block block;
    if (auto const found = arriving_.find(place); place != nullptr && found != arriving_.end()) {
      block = std::move(found->second);
      arriving_.erase(found);
    }
    auto const head = read(from, message);
    switch (head.step) {
    case RmaHead::Step::ask:
      return serve(from, message.head.number, head, place, payload);
    case RmaHead::Step::answer:
      return finish(from, message.head.number, head, place, payload);
    case RmaHead::Step::call:
      calls_.add(static_cast<std::size_t>(from),
                 message.head.number,
                 {head.call, head.element, head.window, head.elements});
    }
  }

  void sent(std::uint64_t cookie) {
    outgoing_.erase(cookie);
    auto const found = asked_.find(cookie);
    if (found == asked_.end()) {
      return;
    }
    found->second.unsent = false;
    auto const target = found->second.operation.patch.rank;
    if (lost_[static_cast<std::size_t>(target)]) {
      drop_operations_on(target);
    } else {
      end_if_over(found);
    }
  }

  void lost(int rank, std::string_view why) {
    lost_[static_cast<std::size_t>(rank)] = why;
    drop_operations_on(rank);
  }

private:
  /// What another rank was asked for.
  struct Asked {
    RmaOperation operation;
    std::uint64_t cookie = 0;
    bool unsent = false; // the transport still reads `here`
    bool answered = false;
    std::int64_t found = 0;
  };

  using AllAsked = std::unordered_map<std::uint64_t, Asked>;

  struct News {
    int lost = -1; // below 0: done
    std::string why = {};
    std::uint64_t cookie = 0;
    std::int64_t value = 0;
  };

  static Block zeroed(std::uint64_t elements, std::size_t size) {
    if (elements > static_cast<std::uint64_t>(PTRDIFF_MAX) / size) {
      throw std::bad_alloc();
    }
    return Block(new std::byte[static_cast<std::size_t>(elements) * size]());
  }

  static Block block_of(std::size_t bytes) { return Block(new std::byte[bytes]); }

  /// Whether rows follow each other without gaps.
  static bool is_dense(WindowPatch const& patch, std::size_t stride) noexcept {
    return patch.rows == 1 || stride == patch.columns;
  }

  static std::byte* place_of(Windows<Block>::Entry& entry, WindowPatch const& patch) noexcept {
    return entry.memory.get() + patch.first * size_of(entry.element);
  }

  void send(int to,
            std::uint64_t number,
            RmaHead const& head,
            std::span<std::byte const> payload,
            Block keep) {
    std::array<std::byte, sizeof(MessageHead) + sizeof(RmaHead)> bytes{};
    static_assert(sizeof bytes <= 256);
    MessageHead const message{.user = user_, .kind = MessageKind::window, .number = number};
    std::memcpy(bytes.data(), &message, sizeof message);
    std::memcpy(bytes.data() + sizeof message, &head, sizeof head);
    // An operation's cookie is twice its number. Those of other sends are odd.
    auto const cookie = head.step == RmaHead::Step::ask ? 2 * number : 2 * ++other_sends_ + 1;
    outgoing_[cookie] = std::move(keep);
    send_(transport_, to, bytes, payload, cookie);
  }

  [[noreturn, gnu::cold]] static void refuse(int from) { throw Error(foreign_message(from)); }

  RmaHead read(int from, ReadHead const& message) const {
    auto const head = RmaHead::read(message);
    if (!head || message.head.user != user_) {
      refuse(from);
    }
    return *head;
  }

  /// What another rank asks for, on the part of this one; elements come without gaps.
  [[nodiscard]] RmaOperation operation_of(RmaHead const& head) const noexcept {
    return {.kind = head.kind,
            .element = head.element,
            .patch = {.rank = rank_,
                      .first = head.first,
                      .columns = head.columns,
                      .rows = head.rows,
                      .stride = head.stride},
            .stride = head.columns,
            .value = head.value,
            .desired = head.desired};
  }

  /// The window that it is for.
  Windows<Block>::Entry&
  checked(int from, RmaHead const& head, RmaOperation const& it, std::size_t payload) {
    try {
      auto& entry = windows_.check({head.window}, it.patch, it.stride, it.kind);
      if (it.element == entry.element && payload == (it.gives() ? it.bytes() : 0)) {
        return entry;
      }
    } catch (Error const&) { // what it says is about this rank
    }
    refuse(from);
  }

  Asked& asked(int from, std::uint64_t number, std::size_t payload) {
    auto const found = asked_.find(2 * number);
    if (found == asked_.end()) {
      refuse(from);
    }
    auto& it = found->second;
    auto const size = it.operation.kind == RmaKind::get ? it.operation.bytes() : 0;
    if (it.operation.patch.rank != from || it.answered || payload != size) {
      refuse(from);
    }
    return it;
  }

  void serve(
      int from, std::uint64_t number, RmaHead const& head, std::byte* place, std::size_t payload) {
    auto it = operation_of(head);
    auto& entry = checked(from, head, it, payload);
    RmaHead answer{.step = RmaHead::Step::answer, .kind = head.kind};
    if (it.kind == RmaKind::get) {
      Block keep = entry.memory;
      std::byte const* elements = place_of(entry, it.patch);
      if (!is_dense(it.patch, it.patch.stride)) {
        keep = block_of(it.bytes());
        elements = it.here = keep.get();
        (void)it.carry_out(entry.memory.get());
      }
      send(from, number, answer, {elements, it.bytes()}, std::move(keep));
      return;
    }
    if (place == nullptr || place != place_of(entry, it.patch)) { // else it is there
      it.here = place;
      answer.value = it.carry_out(entry.memory.get());
    }
    send(from, number, answer, {}, nullptr);
  }

  void finish(
      int from, std::uint64_t number, RmaHead const& head, std::byte* place, std::size_t payload) {
    auto& it = asked(from, number, payload);
    auto const& operation = it.operation;
    if (place != nullptr && place != operation.here) {
      copy_rows(operation.patch,
                size_of(operation.element),
                operation.here,
                operation.stride,
                place,
                operation.patch.columns);
    }
    it.answered = true;
    it.found = head.value;
    end_if_over(asked_.find(2 * number));
  }

  void end_if_over(AllAsked::iterator at) {
    auto const& it = at->second;
    if (it.answered && !it.unsent) {
      news_.push_back({.cookie = it.cookie, .value = it.found});
      asked_.erase(at);
    }
  }

  /// The rank is lost. That is told when the transport reads none of their memory any more.
  void drop_operations_on(int rank) {
    bool unsent = false;
    std::erase_if(asked_, [&](auto const& it) {
      auto const here = it.second.operation.patch.rank == rank;
      unsent = unsent || (here && it.second.unsent);
      return here && !it.second.unsent;
    });
    if (!unsent) {
      news_.push_back({.lost = rank, .why = *lost_[static_cast<std::size_t>(rank)]});
    }
  }

  int rank_;
  std::size_t ranks_;
  LaterMessages later_;
  std::uint32_t user_; // of the transport
  void* transport_;
  Send send_;
  Windows<Block> windows_;
  WindowCalls calls_;
  std::vector<std::optional<std::string>> lost_; // why, of each rank
  Window new_window_;
  AllAsked asked_; // by cookie
  std::uint64_t numbers_ = 0;
  std::uint64_t other_sends_ = 0;
  std::unordered_map<std::uint64_t, Block> outgoing_;    // what the transport reads, by cookie
  std::unordered_map<std::byte const*, Block> arriving_; // what it writes, by place
  std::vector<Block> scrap_;                             // for what nobody wants
  std::deque<News> news_;
};

} // namespace hetsched::detail
