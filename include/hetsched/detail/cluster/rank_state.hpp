// SPDX-License-Identifier: MIT
#pragma once
// A rank of a DistributedRuntime: its own runtime, what it knows of all data, and what it does with
// other ranks.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/cluster/distributed_partition.hpp>
#include <hetsched/detail/cluster/cluster_tasks.hpp>
#include <hetsched/detail/cluster/exchange.hpp>
#include <hetsched/detail/cluster/spawn_log.hpp>
#include <hetsched/detail/files/path_with_part.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What `DistributedRuntime::checkpoint` and `restore` do, for programs that call them:
/// cluster/checkpoint.hpp.
template <class Rt>
class Checkpoints;

/// What DistributedData stands on. `Rt`: the runtime of the rank.
template <class Rt, Transport T>
class RankState {
public:
  using Node = Rt;

  /// Collective. `transport`, used by nothing else, outlives this. `config`: of this rank. With
  /// several ranks the default is Bind::none, as ranks of one machine know nothing of each other's
  /// cores, and a launcher may have bound the process; and a trace that is asked for goes to a file
  /// of each rank: run.rank2.json, where run.json was named.
  ///
  /// A rank that says nothing for `patience`, though it has begun, is taken for lost. Each says
  /// that it is alive once a second or oftener, however long its bodies are; a debugger stops that.
  explicit RankState(T& transport, Config const& config = {}, Duration patience = {8'000'000'000})
      : node_(of_rank(config, transport.rank(), transport.ranks())),
        exchange_(transport, node_.engine(), log_, patience) {}

  RankState(RankState const&) = delete;
  RankState& operator=(RankState const&) = delete;

  /// Waits for the tasks of all ranks. What no sync has thrown is told in one line on stderr.
  ~RankState() {
    try {
      if (!exchange_.broken()) {
        together(end_call, [] {});
        exchange_.flush();
      }
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    try { // no transfer is left when the exchange goes
      node_.wait();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  /// This rank's own. Tasks that are spawned there are no concern of the others.
  [[nodiscard]] Node& node() noexcept { return node_; }

  /// What this rank has sent to another, itself or through others. Throws Error(bad_call) for a
  /// rank that does not exist.
  [[nodiscard]] Traffic sent_to(int rank) const {
    check_rank("sent_to", rank);
    return exchange_.sent_to(rank);
  }

  /// What others have sent through this rank.
  [[nodiscard]] Traffic passed_on() const { return exchange_.passed_on(); }

protected:
  template <class Rank>
  friend class Checkpoints;

  static constexpr std::uint64_t calls_between_checks = std::uint64_t{1} << 16U;
  static constexpr CallName data_call{"data"};
  static constexpr CallName partition_call{"partition"};
  static constexpr CallName join_call{"join"};
  static constexpr CallName keep_call{"keep_copies"};
  static constexpr CallName sync_call{"sync"};
  static constexpr CallName value_call{"value"};
  static constexpr CallName end_call{"the runtime's destructor"};

  struct Known {
    std::uint32_t number;
    std::weak_ptr<ClusterDatum> datum;
  };

  /// See ClusterUses.
  struct Port {
    RankState& runtime;
    std::int32_t urgency;

    [[nodiscard]] void* node() const noexcept { return &runtime.node_; }

    [[nodiscard]] std::uint32_t syncs() const noexcept { return runtime.syncs_; }

    [[nodiscard]] std::uint64_t calls() const noexcept { return runtime.log_.count(); }

    [[nodiscard]] std::uint64_t keep() const noexcept { return runtime.keep_; }

    void note_copy(ClusterDatum& datum) const {
      if (datum.bytes() >= GiveBack::least_bytes && !std::exchange(datum.noted, true)) {
        runtime.copies_.push_back({datum.number, runtime.log_.count()});
      }
    }

    void send(ClusterDatum const& datum, DataRecord& record, int to, Turn turn) const {
      runtime.exchange_.send(line_of(datum, record), turn, record, to, urgency);
    }

    void receive(ClusterDatum const& datum, DataRecord& record, int from, Turn turn) const {
      runtime.exchange_.receive(line_of(datum, record), turn, record, from, urgency);
    }

    [[nodiscard]] static DatumLine line_of(ClusterDatum const& datum,
                                           DataRecord const& record) noexcept {
      return {datum.number, &record == datum.local->partial};
    }

    void begin(DataRecord& partial, ReductionOps const& op) const {
      runtime.node_.template spawn<BeginPartial>(SetArch(ArchHost), priority(urgency))(
          handle_of<AnyData>(partial), &op, partial.elements());
    }

    void add(DataRecord& value, DataRecord& partial, ReductionOps const& op) const {
      auto shape = value.shape;
      shape.ld = value.home.ld;
      runtime.node_.template spawn<AddPartial>(SetArch(ArchHost), priority(urgency))(
          handle_of<AnyData>(value), handle_of<AnyData>(partial), &op, shape);
    }
  };

  using Uses = ClusterUses<Port>;

  [[nodiscard]] static Config of_rank(Config config, int rank, int ranks) {
    if (ranks > 1 && !config.bind && std::getenv("HETSCHED_BIND") == nullptr) {
      config.bind = Bind::none;
    }
    if (char const* const file = std::getenv("HETSCHED_TRACE");
        config.trace.empty() && file != nullptr) {
      config.trace = file;
    }
    if (ranks > 1 && !config.trace.empty()) {
      config.trace = path_with_part(config.trace, "rank" + std::to_string(rank));
    }
    return config;
  }

  void check_outside(char const* operation) const {
    exchange_.check_unbroken();
    if (node_.engine().current_task() != nullptr) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "not allowed inside a body: spawn on the runtime that the body is given");
    }
  }

  void check_rank(char const* operation, int rank) const {
    if (rank < 0 || rank >= ranks()) [[unlikely]] {
      throw Error(ErrorCode::bad_call,
                  operation,
                  text("there is no rank %d, only 0 to %d", rank, ranks() - 1));
    }
  }

  template <class D>
  [[nodiscard]] static ClusterDatum& datum_of(DistributedHandle<D> const& handle) {
    if (!handle) [[unlikely]] {
      throw Error(ErrorCode::bad_data, "handle", "is empty");
    }
    return *handle.datum();
  }

  /// All ranks make the call now.
  [[gnu::always_inline]] void
  record(CallName const& name, std::int32_t on, std::span<std::uint32_t const> numbers) {
    log_.add(name, on, numbers);
    if (log_.count() % calls_between_checks == 0) [[unlikely]] {
      exchange_.check();
      log_.forget_first(exchange_.agreed());
    }
  }

  void remember(std::shared_ptr<ClusterDatum> const& datum) {
    if (data_.size() == data_.capacity()) {
      std::erase_if(data_, [](auto const& known) { return known.datum.expired(); });
      data_.reserve(2 * data_.size() + 64);
    }
    data_.push_back({registered_++, datum});
  }

  /// Before a spawn: those that no task has used for long enough.
  void give_up_copies() {
    while (!copies_.empty() && log_.count() - copies_.front().since > keep_) {
      auto const copy = copies_.front();
      copies_.pop_front();
      auto const known =
          std::lower_bound(data_.begin(), data_.end(), copy.number, [](Known const& a, auto b) {
            return a.number < b;
          });
      auto const datum =
          known != data_.end() && known->number == copy.number ? known->datum.lock() : nullptr;
      if (datum == nullptr) {
        continue;
      }
      if (datum->used > copy.since) {
        copies_.push_back({copy.number, datum->used});
        continue;
      }
      datum->cached = false;
      datum->noted = false;
      auto const at_once = priority(std::numeric_limits<std::int32_t>::max());
      auto& record = *datum->local->record;
      node_.template spawn<GiveBack>(SetArch(ArchHost), at_once)(
          handle_of<AnyData>(record), datum->bytes(), &record.replicas);
    }
  }

  [[nodiscard]] SpawnLog const& log() const noexcept { return log_; }

  /// Of a lambda's type.
  [[nodiscard]] CallName const& name_of(TaskType const& type) {
    return names_.try_emplace(&type, type.name).first->second;
  }

  /// A datum may have contributions that are not in its value.
  void note_reduction() noexcept { reduces_ = true; }

  /// Those that somebody has a handle of, in the order of registration.
  template <class F>
  void for_each_datum(F&& f) {
    for (auto const& known : data_) {
      if (auto const datum = known.datum.lock()) {
        f(*datum);
      }
    }
  }

  template <class D>
  void end_partition(DistributedPartition<D>& partition) {
    auto& whole = *partition.whole().datum();
    if (whole.parts.empty()) {
      return; // joined with what it is a part of
    }
    check_outside("join");
    record(join_call, -1, std::span(&whole.number, 1));
    gather_parts(whole);
    partition.join_here(); // at home it waits for what comes from elsewhere
  }

  /// What tasks have contributed to parts goes into them, and they end.
  void gather_parts(ClusterDatum& whole) {
    for (auto const& part : std::exchange(whole.parts, {})) {
      gather_parts(*part);
      Uses{{*this, 0}, rank_}.gather(*part);
      part->joined = true;
      if (part->local != nullptr) {
        joined_.push_back(part);
      }
    }
    if (joined_.size() > most_joined_) {
      std::erase_if(joined_, [](auto const& part) { return !part->is_in_use(); });
      most_joined_ = 2 * joined_.size() + 64;
    }
  }

  /// All ranks make the call. When the tasks of this rank have ended, it does `work`.
  template <class Work>
  void together(CallName const& call, Work&& work) {
    check_outside(call.text.data());
    record(call, -1, {});
    if (std::exchange(reduces_, false)) {
      for_each_datum([&](ClusterDatum& datum) { Uses{{*this, 0}, rank_}.gather(datum); });
    }
    exchange_.check();
    std::exception_ptr own;
    std::optional<std::string> why;
    try {
      node_.sync();
      joined_.clear();
      if (!exchange_.broken()) {
        work();
      }
    } catch (std::exception const& error) {
      own = std::current_exception();
      why = error.what();
    } catch (...) {
      own = std::current_exception();
      why = "a task threw what is no std::exception";
    }
    ++syncs_;
    auto const failure = exchange_.finish_together(why);
    log_.forget_first(exchange_.agreed());
    if (failure) {
      if (own) {
        std::rethrow_exception(own);
      }
      throw Error(ErrorCode::cancelled,
                  text("rank %d", failure->rank),
                  (call.hash == sync_call.hash ? "a task" : std::string(call.text)) +
                      " failed there: " + failure->why);
    }
  }

  std::unordered_map<TaskType const*, CallName> names_; // of lambdas' types
  SpawnLog log_;
  Node node_;
  Exchange<T> exchange_;
  std::int32_t const rank_ = exchange_.rank();
  std::int32_t const ranks_ = exchange_.ranks();
  std::uint32_t registered_ = 0;
  std::vector<Known> data_; // by number
  /// Parts of what is whole again, while tasks here may use them.
  std::vector<std::shared_ptr<ClusterDatum>> joined_;
  std::size_t most_joined_ = 64;                                 // before those that are unused go
  std::shared_ptr<void> const alive_ = std::make_shared<char>(); // for partitions
  std::uint32_t syncs_ = 0;

  struct Copy {
    std::uint32_t number;
    std::uint64_t since; // the call at which it was used, or noted
  };

  std::deque<Copy> copies_; // large ones of other ranks' values
  std::uint64_t keep_ = std::numeric_limits<std::uint64_t>::max();
  bool reduces_ = false; // some datum may have contributions that are not in its value
};

} // namespace hetsched::detail
