// SPDX-License-Identifier: MIT
#pragma once
// One rank's part in a program of several: the transfers of its data, and the calls that all ranks
// make together.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/common_calls.hpp>
#include <hetsched/detail/cluster/later_messages.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/pulse.hpp>
#include <hetsched/detail/cluster/rank_recording.hpp>
#include <hetsched/detail/cluster/transfers.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Sends and receives values for the tasks of `core`, and keeps the ranks in step. The thread that
/// spawns calls the functions that say so. Workers of `core` do the rest while they look at it.
///
/// When the ranks disagree, or one is gone, it is broken: all transfers end as failed, so nothing
/// waits any longer, and `check_unbroken` throws why.
template <class T>
  requires Transport<T>
class Exchange {
public:
  /// A rank that says nothing for `patience` is taken for lost.
  Exchange(T& transport, ThreadCore& core, SpawnLog const& log, Duration patience)
      : transport_(transport), core_(core), common_(*this, log),
        recording_(core, transport.rank(), transport.ranks()), look_{*this},
        sent_(static_cast<std::size_t>(transport.ranks())),
        heard_ns_(static_cast<std::size_t>(transport.ranks())), patience_(patience) {
    take_kept();
    ExternalTasks::begin_to_look(core_, look_);
    compare_clocks();
    if (ranks() > 1) {
      pulse_.emplace(&beat, this, std::min(longest_pulse_ns, patience.ns / 8)).start();
    }
  }

  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;

  ~Exchange() {
    pulse_.reset();
    ExternalTasks::end_looking(core_);
  }

  [[nodiscard]] int rank() const noexcept { return transport_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return transport_.ranks(); }

  // ---- for the thread that spawns ----

  /// The datum's value is sent to a rank when earlier tasks here have written it. The datum is at
  /// home in host memory or has a copy there. Throws what a spawn throws.
  void send(DatumLine line, DataRecord& record, int to, std::int32_t priority) {
    spawn(line, record, to, true, priority);
  }

  /// The datum takes the next value of it that the rank sends.
  void receive(DatumLine line, DataRecord& record, int from, std::int32_t priority) {
    spawn(line, record, from, false, priority);
  }

  /// See CommonCalls.
  void check() {
    std::lock_guard const guard(mutex_);
    common_.check();
  }

  /// All tasks here have ended; `failure`: why the first one failed, else nothing. Waits until that
  /// is so on all ranks. Returns the first rank that had a failure, if any did.
  std::optional<RankFailure> finish_together(std::optional<std::string> const& failure) {
    compare_clocks();
    auto const sync = [&] {
      std::lock_guard const guard(mutex_);
      return common_.end_here(failure);
    }();
    auto const ended = [this, sync] { return common_.has_ended(sync) || broken(); };
    ExternalTasks::await(core_, Condition::that(ended));
    check_unbroken();
    std::lock_guard const guard(mutex_);
    return common_.take_failure();
  }

  [[nodiscard]] std::uint64_t agreed() const noexcept { return common_.agreed(); }

  /// Works until nothing that this rank has sent is under way, or for a second.
  void flush() {
    auto const begin = monotonic_ns();
    auto const all_sent = [this, begin] {
      std::lock_guard const guard(mutex_);
      return outgoing_.empty() || monotonic_ns() - begin > grace_ns;
    };
    ExternalTasks::await(core_, Condition::that(all_sent));
  }

  // ---- for any thread ----

  [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }

  void check_unbroken() const {
    if (broken()) {
      throw Error(*error_); // written before broken_, and never again
    }
  }

  /// `rank` exists.
  [[nodiscard]] Traffic sent_to(int rank) const {
    std::lock_guard const guard(mutex_);
    return sent_[static_cast<std::size_t>(rank)];
  }

private:
  static constexpr std::int64_t look_every_ns = 20000; // between looks of a busy worker
  static constexpr std::int64_t longest_pulse_ns = 1000000000;
  static constexpr std::int64_t grace_ns = 1000000000; // for what is under way when all is over

  struct Look : OutsideLook {
    Exchange& exchange;

    explicit Look(Exchange& its_exchange)
        : OutsideLook{[](OutsideLook& self) { return static_cast<Look&>(self).exchange.look(); },
                      look_every_ns},
          exchange(its_exchange) {}
  };

  void spawn(DatumLine line, DataRecord& record, int peer, bool sends, std::int32_t priority) {
    check_unbroken();
    auto transfer = std::make_unique<RankTransfer>(
        granted_, line, peer, sends, record.home.base, record.shape, record.element_bytes);
    Attributes attributes;
    attributes.priority = priority;
    spawn_uncounted(core_,
                    external_type,
                    record,
                    sends ? AccessMode::read : AccessMode::write,
                    {.external = transfer.get()},
                    attributes,
                    [&](TaskRecord const& task) { recording_.spawned(task, *transfer); });
    (void)transfer.release(); // until its task is granted; see take_granted
  }

  /// If a recorder wants to know of other ranks' clocks.
  void compare_clocks() {
    if (recording_.on()) {
      std::lock_guard const guard(mutex_);
      if (auto const question = recording_.ask_time()) {
        tell(0, *question);
      }
    }
  }

  /// By the pulse. What has come is looked at first: this process may have been stopped for long.
  static void beat(void* of) {
    auto& self = *static_cast<Exchange*>(of);
    for (int k = 0; k < 1000 && self.look(); ++k) {
    }
    if (!self.broken()) {
      std::lock_guard const guard(self.mutex_);
      self.common_.beat(self.heard_ns_, monotonic_ns(), self.patience_.ns);
    }
    self.look();
  }

  // ---- looking: by any worker, one at a time ----

  bool look() {
    std::vector<EndedTransfer> ended;
    bool happened = false;
    bool told = false;
    {
      std::unique_lock const guard(mutex_, std::try_to_lock);
      if (!guard.owns_lock()) {
        return false;
      }
      happened = take_granted();
      try {
        for (int k = 0; k < 64 && transport_.poll(*this); ++k) {
          happened = true;
        }
      } catch (Error const& error) {
        break_off(error);
      }
      if (broken() && monotonic_ns() - broken_at_ns_ > grace_ns) {
        end_outgoing();
      }
      ended.swap(ended_);
      told = std::exchange(told_, false);
    }
    for (auto& [transfer, failed] : ended) {
      if (!failed) {
        recording_.passed(*transfer);
      }
      ExternalTasks::end(core_, *transfer->task, failed);
    }
    if (told) {
      ExternalTasks::wake_waiters(core_);
    }
    return happened || !ended.empty();
  }

  /// Those of high priority first, else in the order in which they were granted.
  bool take_granted() {
    std::vector<std::unique_ptr<RankTransfer>> transfers;
    for (auto* transfer = granted_.take(); transfer != nullptr;) {
      auto* const next = transfer->next;
      transfer->taken_before = transfers.size();
      transfers.emplace_back(transfer);
      transfer = next;
    }
    std::sort(transfers.begin(), transfers.end(), [](auto const& a, auto const& b) {
      auto const urgent = b->task->priority <=> a->task->priority;
      return urgent != 0 ? urgent < 0 : a->taken_before > b->taken_before; // the last came first
    });
    for (auto& transfer : transfers) {
      start(std::move(transfer));
    }
    return !transfers.empty();
  }

  void start(std::unique_ptr<RankTransfer> transfer) {
    if (broken()) {
      ended_.push_back({std::move(transfer), true});
      return;
    }
    bool spoilt = transfer->sends && transfer->task->accesses()[0].queue->poisoned();
    try {
      ExternalTasks::bring_home(*transfer->task);
    } catch (...) { // lost with its device: the reader fails, too
      spoilt = true;
    }
    if (!transfer->sends) {
      arrivals_.expect(std::move(transfer), ended_);
      return;
    }
    MessageHead const head{.user = user_,
                           .kind = spoilt ? MessageKind::spoilt : MessageKind::datum,
                           .rank = rank(),
                           .number = transfer->line.number()};
    std::span<std::byte const> payload;
    if (!spoilt) {
      auto const* place = transfer->memory;
      if (!transfer->contiguous()) {
        transfer->packed = std::make_unique_for_overwrite<std::byte[]>(transfer->bytes());
        transfer->pack(transfer->packed.get());
        place = transfer->packed.get();
      }
      payload = {place, transfer->bytes()};
    }
    auto const to = transfer->peer;
    RankRecording::begun(*transfer);
    sent_[static_cast<std::size_t>(to)].add(payload.size());
    post(to, head.bytes(), payload, std::move(transfer));
  }

  void post(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::unique_ptr<RankTransfer> transfer = nullptr) {
    auto const cookie = ++cookies_;
    outgoing_[cookie] = std::move(transfer);
    try {
      transport_.send(to, head, payload, cookie);
    } catch (Error const& error) {
      sent(cookie);
      break_off(error);
    }
  }

public:
  // ---- for CommonCalls, under the lock ----

  void tell(int to, MessageHead const& head, std::string_view words = {}) {
    std::array<std::byte, sizeof(MessageHead) + longest_words> bytes;
    auto const length = std::min(words.size(), longest_words);
    auto own = head;
    own.user = user_;
    std::memcpy(bytes.data(), &own, sizeof own);
    if (length != 0) {
      std::memcpy(bytes.data() + sizeof head, words.data(), length);
    }
    post(to, std::span(bytes).first(sizeof head + length), {});
  }

  void break_off(Error const& error) {
    if (broken()) {
      return;
    }
    error_.emplace(error);
    broken_at_ns_ = monotonic_ns();
    broken_.store(true, std::memory_order_release);
    told_ = true;
    arrivals_.give_up(ended_);
  }

  // ---- what the transport reports, under the lock ----

  std::byte* begin(int from, std::span<std::byte const> bytes, std::size_t payload) {
    ReadHead const message(bytes);
    note_heard(from, message);
    if (message.valid && message.head.user > user_) {
      return later_.begin(from, bytes, payload);
    }
    if (message.valid && message.head.user < user_) { // of one that broke off
      return scrap(payload);
    }
    if (!message.valid || message.head.kind != MessageKind::datum) {
      break_off(foreign(from));
      return scrap(payload);
    }
    return arrivals_.begin(DatumLine::of(message.head.number), from, payload);
  }

  void arrived(int from, std::span<std::byte const> bytes, std::byte* place, std::size_t payload) {
    ReadHead const message(bytes);
    note_heard(from, message);
    if (!message.valid) {
      break_off(foreign(from));
    } else if (message.head.user > user_) {
      later_.arrived(from, bytes, place);
    } else if (message.head.user < user_) {
      return;
    } else if (place != nullptr) {
      arrivals_.arrived(place, payload, ended_);
    } else if (message.head.kind == MessageKind::datum ||
               message.head.kind == MessageKind::spoilt) {
      arrivals_.arrived_empty(DatumLine::of(message.head.number),
                              from,
                              message.head.kind == MessageKind::spoilt,
                              ended_);
    } else if (message.head.kind == MessageKind::time) {
      tell(from, recording_.tell_time(message.head));
    } else if (message.head.kind == MessageKind::time_is) {
      if (auto const question = recording_.heard_time(message.head)) {
        tell(0, *question);
      }
    } else {
      told_ = common_.handle(from, message.head, message.words) || told_;
    }
  }

  void sent(std::uint64_t cookie) {
    auto const found = outgoing_.find(cookie);
    if (found == outgoing_.end()) {
      return; // ended when all was over
    }
    if (found->second != nullptr) {
      ended_.push_back({std::move(found->second), false});
    }
    outgoing_.erase(found);
    told_ = told_ || outgoing_.empty();
  }

  void lost(int rank, std::string_view why) {
    std::uint32_t datum = 0;
    auto words = std::string(why);
    if (arrivals_.waits_for(rank, datum)) {
      words += text("; datum %u is waited for from there", unsigned{datum});
    }
    break_off(common_.rank_gone(rank, words));
  }

private:
  /// What came for this runtime while another one used the transport.
  void take_kept() {
    std::lock_guard const guard(mutex_);
    later_.take(user_, [this](KeptMessages::Message message, ReadHead const& read) {
      if (read.head.user != user_) {
        scrap_.push_back(std::move(message.payload));
      } else if (message.payload == nullptr) {
        arrived(message.from, message.head, nullptr, 0);
      } else {
        arrivals_.adopt(DatumLine::of(read.head.number),
                        message.from,
                        std::move(message.payload),
                        message.bytes,
                        message.whole);
      }
    });
  }

  void note_heard(int from, ReadHead const& message) {
    if (message.valid && message.head.user == user_) {
      heard_ns_[static_cast<std::size_t>(from)] = monotonic_ns();
    }
  }

  /// Room for what nobody wants.
  [[nodiscard]] std::byte* scrap(std::size_t bytes) {
    scrap_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    return scrap_.back().get();
  }

  [[nodiscard]] static Error foreign(int from) {
    return {ErrorCode::rank_failed,
            text("rank %d", from),
            "sent what is no message of this version of hetsched"};
  }

  void end_outgoing() {
    for (auto& [cookie, transfer] : outgoing_) {
      if (transfer != nullptr) {
        ended_.push_back({std::move(transfer), true});
      }
    }
    outgoing_.clear();
  }

  T& transport_;
  LaterMessages later_{transport_.kept()};
  std::uint32_t const user_ = transport_.kept().users++;
  ThreadCore& core_;
  mutable Mutex mutex_; // of all below that is not atomic, and of the transport
  CommonCalls<Exchange> common_;
  RankRecording recording_;
  Look look_;
  GrantedTransfers granted_;
  Arrivals arrivals_;
  /// What the transport has not reported as sent, by cookie; null: a message without payload.
  std::unordered_map<std::uint64_t, std::unique_ptr<RankTransfer>> outgoing_;
  std::uint64_t cookies_ = 0;
  std::vector<Traffic> sent_;
  std::vector<EndedTransfer> ended_;                // for the next look to end
  std::vector<std::unique_ptr<std::byte[]>> scrap_; // for what nobody wants
  bool told_ = false;                               // what the spawning thread may wait for
  std::vector<std::int64_t> heard_ns_;              // when each rank has said something; 0: not yet
  Duration const patience_;                         // with the others
  std::optional<Error> error_;
  std::int64_t broken_at_ns_ = 0;
  Atomic<bool> broken_{false};
  std::optional<Pulse> pulse_;
};

} // namespace hetsched::detail
