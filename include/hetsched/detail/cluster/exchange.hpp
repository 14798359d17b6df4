// SPDX-License-Identifier: MIT
#pragma once
// One rank's part in a program of several: the transfers of its data, and the calls that all ranks
// make together.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/common_calls.hpp>
#include <hetsched/detail/cluster/later_messages.hpp>
#include <hetsched/detail/cluster/mail.hpp>
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
  void send(DatumLine line, Turn turn, DataRecord& record, int to, std::int32_t priority) {
    spawn(line, turn, record, to, true, priority);
  }

  /// The datum takes the next value of it, of that turn, that the rank sends.
  void receive(DatumLine line, Turn turn, DataRecord& record, int from, std::int32_t priority) {
    spawn(line, turn, record, from, false, priority);
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
      return mail_.all_sent() || monotonic_ns() - begin > grace_ns;
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
    return mail_.sent_to(rank);
  }

  [[nodiscard]] Traffic passed_on() const {
    std::lock_guard const guard(mutex_);
    return mail_.passed_on();
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

  void spawn(
      DatumLine line, Turn turn, DataRecord& record, int peer, bool sends, std::int32_t priority) {
    check_unbroken();
    auto transfer = std::make_unique<RankTransfer>(
        granted_, line, turn, peer, sends, record.home.base, record.shape, record.element_bytes);
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
        mail_.end_outgoing();
      }
      ended = mail_.take_ended();
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
    bool const any = !transfers.empty();
    mail_.start(std::move(transfers));
    return any;
  }

public:
  // ---- for CommonCalls and Mail, under the lock ----

  [[nodiscard]] T& transport() noexcept { return transport_; }

  void tell(int to, MessageHead const& head, std::string_view words = {}) {
    std::array<std::byte, sizeof(MessageHead) + longest_words> bytes;
    auto const length = std::min(words.size(), longest_words);
    auto own = head;
    own.user = user_;
    std::memcpy(bytes.data(), &own, sizeof own);
    if (length != 0) {
      std::memcpy(bytes.data() + sizeof head, words.data(), length);
    }
    mail_.post(to, std::span(bytes).first(sizeof head + length), {});
  }

  void break_off(Error const& error) {
    if (broken()) {
      return;
    }
    error_.emplace(error);
    broken_at_ns_ = monotonic_ns();
    broken_.store(true, std::memory_order_release);
    told_ = true;
    mail_.give_up();
  }

  // ---- what the transport reports, under the lock ----

  std::byte* begin(int from, std::span<std::byte const> bytes, std::size_t payload) {
    ReadHead const message(bytes);
    note_heard(from, message);
    if (message.valid && message.head.user > user_) {
      return later_.begin(from, bytes, payload);
    }
    if (message.valid && message.head.user < user_) { // of one that broke off
      return mail_.scrap(payload);
    }
    if (!message.valid) {
      break_off(foreign_message(from));
      return mail_.scrap(payload);
    }
    return mail_.begin(from, message, payload);
  }

  void arrived(int from, std::span<std::byte const> bytes, std::byte* place, std::size_t payload) {
    ReadHead const message(bytes);
    note_heard(from, message);
    if (!message.valid) {
      break_off(foreign_message(from));
    } else if (message.head.user > user_) {
      later_.arrived(from, bytes, place);
    } else if (message.head.user < user_) {
      return;
    } else if (place != nullptr || message.head.kind == MessageKind::datum ||
               message.head.kind == MessageKind::spoilt) {
      mail_.arrived(from, message, place, payload);
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

  void sent(std::uint64_t cookie) { told_ = mail_.sent(cookie) || told_; }

  void lost(int rank, std::string_view why) {
    std::uint32_t datum = 0;
    auto words = std::string(why);
    if (mail_.waits_for(rank, datum)) {
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
        mail_.scrap(std::move(message.payload));
      } else if (message.payload == nullptr) {
        arrived(message.from, message.head, nullptr, 0);
      } else {
        mail_.adopt(std::move(message), read);
      }
    });
  }

  void note_heard(int from, ReadHead const& message) {
    if (message.valid && message.head.user == user_) {
      heard_ns_[static_cast<std::size_t>(from)] = monotonic_ns();
    }
  }

  T& transport_;
  LaterMessages later_{transport_.kept()};
  std::uint32_t const user_ = transport_.kept().users++;
  ThreadCore& core_;
  mutable Mutex mutex_; // of all below that is not atomic, and of the transport
  CommonCalls<Exchange> common_;
  RankRecording recording_;
  Look look_;
  GrantedUses<RankTransfer> granted_;
  Mail<Exchange> mail_{*this, user_};
  bool told_ = false;                  // what the spawning thread may wait for
  std::vector<std::int64_t> heard_ns_; // when each rank has said something; 0: not yet
  Duration const patience_;            // with the others
  std::optional<Error> error_;
  std::int64_t broken_at_ns_ = 0;
  Atomic<bool> broken_{false};
  std::optional<Pulse> pulse_;
};

} // namespace hetsched::detail
