// SPDX-License-Identifier: MIT
#pragma once
// A runtime of several ranks, without what depends on the placement policy: data, and waiting.

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
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// What `DistributedRuntime::checkpoint` and `restore` do, for programs that call them:
/// cluster/checkpoint.hpp.
template <class Rt>
class Checkpoints;

template <class Work>
struct NeedsCheckpointHeader {
  static constexpr bool ok = requires { sizeof(Work); };
  static_assert(ok,
                "hetsched: DistributedRuntime::checkpoint and restore need `#include "
                "<hetsched/cluster/checkpoint.hpp>`");
};

} // namespace detail

/// The members of DistributedRuntime that are not about tasks; see there. `Rt`: the runtime of a
/// rank.
template <class Rt, Transport T>
class DistributedData {
public:
  using Node = Rt;

  /// Collective. `transport`, used by nothing else, outlives this. `config`: of this rank. With
  /// several ranks the default is Bind::none, as ranks of one machine know nothing of each other's
  /// cores, and a launcher may have bound the process; and a trace that is asked for goes to a file
  /// of each rank: run.rank2.json, where run.json was named.
  ///
  /// A rank that says nothing for `patience`, though it has begun, is taken for lost. Each says
  /// that it is alive once a second or oftener, however long its bodies are; a debugger stops that.
  explicit DistributedData(T& transport,
                           Config const& config = {},
                           Duration patience = {8'000'000'000})
      : node_(of_rank(config, transport.rank(), transport.ranks())),
        exchange_(transport, node_.engine(), log_, patience) {}

  DistributedData(DistributedData const&) = delete;
  DistributedData& operator=(DistributedData const&) = delete;

  /// Waits for the tasks of all ranks. What no sync has thrown is told in one line on stderr.
  ~DistributedData() {
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

  // ---- data ----

  /// Registers a datum whose memory is on rank `home`, where the arguments are as for
  /// Runtime::data. On other ranks only type and shape count: the memory is not looked at, and a
  /// pointer may be null. Elements must be trivially copyable. Throws Error: bad_call (no such
  /// rank, inside a body), and at home what Runtime::data throws.
  template <class E>
  [[nodiscard]] DistributedHandle<E> data(int home, E& object) {
    static_assert(!detail::vector_like<E> && !detail::matrix_like<E>,
                  "hetsched: DistributedRuntime::data takes a scalar, or a pointer and sizes");
    return add<E>(home, &object, 1, 1, 1);
  }

  template <class E>
  [[nodiscard]] DistributedHandle<VectorView<E>> data(int home, E* first, std::size_t count) {
    return add<VectorView<E>>(home, first, count, 1, count);
  }

  template <class E>
  [[nodiscard]] DistributedHandle<TileView<E>>
  data(int home, E* first, std::size_t rows, std::size_t cols, std::size_t ld) {
    return add<TileView<E>>(home, first, rows, cols, ld);
  }

  /// Every rank cuts a vector or tile into blocks; see DistributedPartition. Copies of the whole on
  /// other ranks are no longer valid. Costs O(parts). Throws what Runtime::partition throws.
  template <class D>
  [[nodiscard]] DistributedPartition<D> partition(DistributedHandle<D> const& whole,
                                                  Blocks blocks) {
    check_outside("partition");
    auto& datum = datum_of(whole);
    datum.check_usable("partition");
    if (blocks.rows == 0 || blocks.cols == 0) {
      throw Error(ErrorCode::bad_data,
                  detail::text("datum %u", unsigned{datum.number}),
                  "partition into blocks of no elements");
    }
    auto const low = [](std::size_t number) { return static_cast<std::uint32_t>(number); };
    std::array const numbers{datum.number, low(blocks.rows), low(blocks.cols)};
    record(partition_call, -1, numbers);
    Uses const uses{{*this, 0}, rank_};
    ClusterUse const use{&datum, AccessMode::read_write, nullptr};
    (void)uses.before(use, datum.home); // as if a task at home wrote it
    Partition<D> here;
    if (datum.home == rank_) {
      here = node_.partition(detail::handle_of<D>(*datum.here(&node_).record), blocks);
    }
    uses.after(use, datum.home);
    auto const height = std::min(blocks.rows, std::max<std::size_t>(datum.rows, 1));
    auto const width = std::min(blocks.cols, std::max<std::size_t>(datum.cols, 1));
    auto const rows = std::max<std::size_t>((datum.rows + height - 1) / height, 1);
    auto const cols = std::max<std::size_t>((datum.cols + width - 1) / width, 1);
    std::vector<DistributedHandle<D>> parts;
    for (std::size_t j = 0; j < cols; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        detail::Shape const shape{std::min(height, datum.rows - i * height),
                                  std::min(width, datum.cols - j * width),
                                  datum.ld};
        auto part = std::make_shared<ClusterDatum>(
            registered_, datum.home, datum.element_bytes, shape, datum.make);
        if (datum.home == rank_) {
          part->local = std::make_unique<ClusterDatum::Local>();
          part->local->record = detail::held(here(i, j));
        }
        datum.parts.push_back(part);
        remember(part);
        parts.emplace_back(std::move(part));
      }
    }
    return {[](void* runtime, DistributedPartition<D>& partition) {
              static_cast<DistributedData*>(runtime)->end_partition(partition);
            },
            this,
            alive_,
            whole,
            std::move(here),
            rows,
            std::move(parts)};
  }

  /// `partition.join()`, as Runtime::join.
  template <class D>
  void join(DistributedPartition<D>& partition) {
    partition.join();
  }

  /// By every rank. From now on a copy of another rank's value is given up when no task of this
  /// rank has used it for so many calls (spawns, registrations, ...) of the program; if one does
  /// later, the value is sent again. The memory of a large copy is free once the tasks that use it
  /// are complete. For programs whose copies do not fit: at first they stay until the datum goes.
  void keep_copies(std::uint64_t calls) {
    check_outside("keep_copies");
    std::array const numbers{static_cast<std::uint32_t>(calls),
                             static_cast<std::uint32_t>(calls >> 32U)};
    record(keep_call, -1, numbers);
    keep_ = calls;
  }

  // ---- waiting ----

  /// Collective: waits until every task of every rank is complete and each datum has its value in
  /// the memory at home, to be read and written there until the next spawn on it. Throws the first
  /// exception of a task on this rank, or, if there was none, Error(cancelled) for the first on
  /// another. The runtime stays usable. As the program may have written data, copies elsewhere are
  /// sent once more when they are needed; `value` and `wait` leave them valid.
  void sync() {
    together(sync_call, [] {});
  }

  /// The tasks so far of this rank are complete.
  void wait() {
    exchange_.check_unbroken();
    node_.wait();
    joined_.clear();
  }

  /// Collective: the value of a scalar, when all earlier tasks on it are complete; the same on all
  /// ranks. Throws what Runtime::sync(handle) throws.
  template <class E>
  [[nodiscard]] E value(DistributedHandle<E> const& handle) {
    check_outside("value");
    auto& datum = datum_of(handle);
    record(value_call, -1, std::span(&datum.number, 1));
    exchange_.check();
    Uses const uses{{*this, 0}, rank_};
    uses.gather(datum);
    for (std::int32_t r = 0; r < ranks(); ++r) {
      if (r == rank_ || datum.home == rank_) {
        (void)uses.before({&datum, AccessMode::read, nullptr}, r);
      }
    }
    auto& local = *datum.here(&node_).record;
    try {
      node_.sync(detail::handle_of<E>(local));
    } catch (...) {
      exchange_.check_unbroken(); // this is why
      throw;
    }
    return *static_cast<E const*>(local.home.base);
  }

  // ---- checkpoints: for files that include <hetsched/cluster/checkpoint.hpp> ----

  /// Collective: `sync()`, then the values of all data are written to files PATH and PATH.a.RANK or
  /// PATH.b.RANK, in a folder that all ranks see. An old checkpoint of that name stays until the
  /// new one is complete and on the disk, also if a disk is full or a process ends. Throws
  /// Error(bad_input) on the rank that cannot write, and Error(cancelled) on the others.
  ///
  /// What else a program needs to go on, such as the number of a step, it keeps in a datum.
  template <class Self = DistributedData>
  void checkpoint(std::string const& path) {
    if constexpr (detail::NeedsCheckpointHeader<detail::Checkpoints<Self>>::ok) {
      detail::Checkpoints<Self>(*this, path).save();
    }
  }

  /// Collective: the values of all data are those of a checkpoint. The program has registered the
  /// same data in the same order, at home on any ranks, and may have another number of ranks.
  /// Throws Error(bad_input): there is none, it is damaged, or it is of other data; the values are
  /// then not specified.
  template <class Self = DistributedData>
  void restore(std::string const& path) {
    if constexpr (detail::NeedsCheckpointHeader<detail::Checkpoints<Self>>::ok) {
      detail::Checkpoints<Self>(*this, path).load();
    }
  }

  /// What this rank has sent to another, itself or through others. Throws Error(bad_call) for a
  /// rank that does not exist.
  [[nodiscard]] Traffic sent_to(int rank) const {
    check_rank("sent_to", rank);
    return exchange_.sent_to(rank);
  }

  /// What others have sent through this rank.
  [[nodiscard]] Traffic passed_on() const { return exchange_.passed_on(); }

protected:
  using ClusterDatum = detail::ClusterDatum;
  using ClusterUse = detail::ClusterUse;

  static constexpr std::uint64_t calls_between_checks = std::uint64_t{1} << 16U;
  static constexpr detail::CallName data_call{"data"};
  static constexpr detail::CallName partition_call{"partition"};
  static constexpr detail::CallName join_call{"join"};
  static constexpr detail::CallName keep_call{"keep_copies"};
  static constexpr detail::CallName sync_call{"sync"};
  static constexpr detail::CallName value_call{"value"};
  static constexpr detail::CallName end_call{"the runtime's destructor"};

  struct Known {
    std::uint32_t number;
    std::weak_ptr<ClusterDatum> datum;
  };

  /// See ClusterUses.
  struct Port {
    DistributedData& runtime;
    std::int32_t urgency;

    [[nodiscard]] void* node() const noexcept { return &runtime.node_; }

    [[nodiscard]] std::uint32_t syncs() const noexcept { return runtime.syncs_; }

    [[nodiscard]] std::uint64_t calls() const noexcept { return runtime.log_.count(); }

    [[nodiscard]] std::uint64_t keep() const noexcept { return runtime.keep_; }

    void note_copy(ClusterDatum& datum) const {
      if (datum.bytes() >= detail::GiveBack::least_bytes && !std::exchange(datum.noted, true)) {
        runtime.copies_.push_back({datum.number, runtime.log_.count()});
      }
    }

    void
    send(ClusterDatum const& datum, detail::DataRecord& record, int to, detail::Turn turn) const {
      runtime.exchange_.send(line_of(datum, record), turn, record, to, urgency);
    }

    void receive(ClusterDatum const& datum,
                 detail::DataRecord& record,
                 int from,
                 detail::Turn turn) const {
      runtime.exchange_.receive(line_of(datum, record), turn, record, from, urgency);
    }

    [[nodiscard]] static detail::DatumLine line_of(ClusterDatum const& datum,
                                                   detail::DataRecord const& record) noexcept {
      return {datum.number, &record == datum.local->partial};
    }

    void begin(detail::DataRecord& partial, detail::ReductionOps const& op) const {
      runtime.node_.template spawn<detail::BeginPartial>(SetArch(ArchHost), priority(urgency))(
          detail::handle_of<detail::AnyData>(partial), &op, partial.elements());
    }

    void add(detail::DataRecord& value,
             detail::DataRecord& partial,
             detail::ReductionOps const& op) const {
      auto shape = value.shape;
      shape.ld = value.home.ld;
      runtime.node_.template spawn<detail::AddPartial>(SetArch(ArchHost), priority(urgency))(
          detail::handle_of<detail::AnyData>(value),
          detail::handle_of<detail::AnyData>(partial),
          &op,
          shape);
    }
  };

  using Uses = detail::ClusterUses<Port>;

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
                  detail::text("there is no rank %d, only 0 to %d", rank, ranks() - 1));
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
  record(detail::CallName const& name, std::int32_t on, std::span<std::uint32_t const> numbers) {
    log_.add(name, on, numbers);
    if (log_.count() % calls_between_checks == 0) [[unlikely]] {
      exchange_.check();
      log_.forget_first(exchange_.agreed());
    }
  }

  template <class D, class E>
  [[nodiscard]] DistributedHandle<D>
  add(int home, E* first, std::size_t rows, std::size_t cols, std::size_t ld) {
    static_assert(std::is_trivially_copyable_v<E> && !std::is_const_v<E>,
                  "hetsched: DistributedRuntime::data needs trivially copyable elements that may "
                  "be written");
    check_outside("data");
    check_rank("data", home);
    auto datum = std::make_shared<ClusterDatum>(
        registered_, home, sizeof(E), detail::Shape{rows, cols, ld}, &detail::make_record<D, Node>);
    if (home == rank_) {
      auto local = std::make_unique<ClusterDatum::Local>();
      local->record = datum->make(&node_, *datum, first);
      datum->local = std::move(local);
    }
    auto const low = [](std::size_t number) { return static_cast<std::uint32_t>(number); };
    std::array const numbers{registered_, low(rows), low(cols), low(sizeof(E)), low(home)};
    record(data_call, -1, numbers);
    remember(datum);
    return DistributedHandle<D>(std::move(datum));
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
      node_.template spawn<detail::GiveBack>(SetArch(ArchHost))(
          detail::handle_of<detail::AnyData>(*datum->local->record), datum->bytes());
    }
  }

  [[nodiscard]] detail::SpawnLog const& log() const noexcept { return log_; }

  /// Of a lambda's type.
  [[nodiscard]] detail::CallName const& name_of(detail::TaskType const& type) {
    return names_.try_emplace(&type, type.name).first->second;
  }

  /// A datum may have contributions that are not in its value.
  void note_reduction() noexcept { reduces_ = true; }

private:
  template <class Rank>
  friend class detail::Checkpoints;

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
  void together(detail::CallName const& call, Work&& work) {
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
                  detail::text("rank %d", failure->rank),
                  (call.hash == sync_call.hash ? "a task" : std::string(call.text)) +
                      " failed there: " + failure->why);
    }
  }

  std::unordered_map<detail::TaskType const*, detail::CallName> names_; // of lambdas' types
  detail::SpawnLog log_;
  Node node_;
  detail::Exchange<T> exchange_;
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

} // namespace hetsched
