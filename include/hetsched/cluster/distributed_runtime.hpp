// SPDX-License-Identifier: MIT
#pragma once
// One program on several ranks: each makes the same calls, and each runs its part of the tasks.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/cluster/placement.hpp>
#include <hetsched/detail/cluster/cluster_tasks.hpp>
#include <hetsched/detail/cluster/exchange.hpp>
#include <hetsched/detail/cluster/spawn_log.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
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

/// Runs tasks on several ranks: processes of an MPI program, or, with LoopbackTransport, threads of
/// one. Each rank makes the same registrations, spawns and syncs in the same order, and has a
/// `Runtime<Scheduler, Cache, PerfModel>` that runs the tasks which `Placement` gives to the rank.
/// Data have a home rank. What a task reads comes from there, once for each value and rank, and
/// what it writes goes back. The result is that of the same program on one rank, bit for bit, but
/// for floating-point sums by CW, whose order is not fixed.
///
/// One thread of each rank calls it. Idle workers look for messages, busy ones between tasks; there
/// is no further thread. The destructor waits for all ranks.
///
/// Ranks that do not make the same calls are told so, with the first call in which they differ, by
/// Error(bad_call) from the next call that waits; a rank that is gone is named by
/// Error(rank_failed). All later calls throw the same.
///
/// Source: superscalar task insertion on every rank, owner computes: StarPU-MPI (Agullo et al.,
/// "Achieving High Performance on Supercomputers with a Sequential Task-based Programming Model",
/// 2017). Comparing hashes of the calls: Legion's control replication checks.
template <class Scheduler, class Cache, class PerfModel, class PlacementPolicy, class T>
  requires Placement<PlacementPolicy> && Transport<T>
class DistributedRuntime {
public:
  using Node = Runtime<Scheduler, Cache, PerfModel>;

  /// Collective. `transport`, used by nothing else, outlives this. `config`: of this rank. With
  /// several ranks the default is Bind::none, as ranks of one machine know nothing of each other's
  /// cores, and a launcher may have bound the process.
  ///
  /// A rank that says nothing for `patience`, though it has begun, is taken for lost. Each says
  /// that it is alive once a second or oftener, however long its bodies are; a debugger stops that.
  explicit DistributedRuntime(T& transport,
                              Config const& config = {},
                              Duration patience = {8'000'000'000})
      : node_(of_rank(config, transport.ranks())),
        exchange_(transport, node_.engine(), log_, patience) {}

  DistributedRuntime(DistributedRuntime const&) = delete;
  DistributedRuntime& operator=(DistributedRuntime const&) = delete;

  /// Waits for the tasks of all ranks. What no sync has thrown is told in one line on stderr.
  ~DistributedRuntime() {
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

  // ---- tasks ----

  /// As Runtime::spawn, with `on_rank(r)` as a further attribute; a negative r leaves it to the
  /// placement policy. Returns at once where it is no
  /// concern of this rank. Throws Error: bad_call (inside a body, no such rank), bad_data (empty
  /// handle), what is wrong with the ranks, and on the rank that runs the task what Runtime::spawn
  /// throws: then the task does not run, and its data keep their values.
  template <task_type Type, detail::cluster_attribute... A>
  [[nodiscard]] auto spawn(A const&... attributes) {
    auto rank = std::int32_t{-1};
    ((rank = std::max(rank, detail::rank_of_attribute(attributes))), ...);
    return [this, rank, attributes...]<class... Args>(Args&&... arguments) {
      this->template submit_task<Type>(rank,
                                       std::tuple(detail::local_attribute(attributes)...),
                                       std::forward<Args>(arguments)...);
    };
  }

  /// `spawn(attributes...)(lambda, read(h), ...)`: as Runtime::spawn of a lambda.
  template <detail::cluster_attribute A = detail::NoAttribute,
            detail::cluster_attribute B = detail::NoAttribute,
            detail::cluster_attribute C = detail::NoAttribute,
            detail::cluster_attribute D = detail::NoAttribute,
            detail::cluster_attribute E = detail::NoAttribute,
            detail::cluster_attribute F = detail::NoAttribute>
  [[nodiscard]] auto spawn(A const& a = {},
                           B const& b = {},
                           C const& c = {},
                           D const& d = {},
                           E const& e = {},
                           F const& f = {},
                           std::source_location where = std::source_location::current()) {
    auto rank = std::int32_t{-1};
    for (auto const asked : {detail::rank_of_attribute(a),
                             detail::rank_of_attribute(b),
                             detail::rank_of_attribute(c),
                             detail::rank_of_attribute(d),
                             detail::rank_of_attribute(e),
                             detail::rank_of_attribute(f)}) {
      rank = std::max(rank, asked);
    }
    auto const local = std::tuple(detail::local_attribute(a),
                                  detail::local_attribute(b),
                                  detail::local_attribute(c),
                                  detail::local_attribute(d),
                                  detail::local_attribute(e),
                                  detail::local_attribute(f));
    return [this, rank, local, where]<class Function, class... Args>(Function&& function,
                                                                     Args&&... arguments) {
      submit_lambda(
          rank, local, where, std::forward<Function>(function), std::forward<Args>(arguments)...);
    };
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
  template <class Self = DistributedRuntime>
  void checkpoint(std::string const& path) {
    if constexpr (detail::NeedsCheckpointHeader<detail::Checkpoints<Self>>::ok) {
      detail::Checkpoints<Self>(*this, path).save();
    }
  }

  /// Collective: the values of all data are those of a checkpoint. The program has registered the
  /// same data in the same order, at home on any ranks, and may have another number of ranks.
  /// Throws Error(bad_input): there is none, it is damaged, or it is of other data; the values are
  /// then not specified.
  template <class Self = DistributedRuntime>
  void restore(std::string const& path) {
    if constexpr (detail::NeedsCheckpointHeader<detail::Checkpoints<Self>>::ok) {
      detail::Checkpoints<Self>(*this, path).load();
    }
  }

  /// What this rank has sent to another.
  [[nodiscard]] SentTo sent_to(int rank) const { return exchange_.sent_to(rank); }

private:
  template <class Rt>
  friend class detail::Checkpoints;

  using ClusterDatum = detail::ClusterDatum;
  using ClusterUse = detail::ClusterUse;

  static constexpr std::uint64_t calls_between_checks = std::uint64_t{1} << 16U;
  static constexpr detail::CallName data_call{"data"};
  static constexpr detail::CallName sync_call{"sync"};
  static constexpr detail::CallName value_call{"value"};
  static constexpr detail::CallName end_call{"the runtime's destructor"};

  struct Known {
    std::uint32_t number;
    std::weak_ptr<ClusterDatum> datum;
  };

  /// See ClusterUses.
  struct Port {
    DistributedRuntime& runtime;
    std::int32_t urgency;

    [[nodiscard]] void* node() const noexcept { return &runtime.node_; }

    [[nodiscard]] std::uint32_t syncs() const noexcept { return runtime.syncs_; }

    void send(ClusterDatum const& datum, detail::DataRecord& record, int to) const {
      runtime.exchange_.send(line_of(datum, record), record, to, urgency);
    }

    void receive(ClusterDatum const& datum, detail::DataRecord& record, int from) const {
      runtime.exchange_.receive(line_of(datum, record), record, from, urgency);
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

  [[nodiscard]] static Config of_rank(Config config, int ranks) {
    if (ranks > 1 && !config.bind && std::getenv("HETSCHED_BIND") == nullptr) {
      config.bind = Bind::none;
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
    if (data_.size() == data_.capacity()) {
      std::erase_if(data_, [](auto const& known) { return known.datum.expired(); });
      data_.reserve(2 * data_.size() + 64);
    }
    data_.push_back({registered_++, datum});
    return DistributedHandle<D>(std::move(datum));
  }

  /// The data that are among the arguments of a spawn.
  template <class Signature, class... Args>
  [[gnu::always_inline]] static std::array<ClusterDatum*, Signature::data_count>
  data_among(Args const&... arguments) {
    static_assert(Signature::list_count == 0,
                  "hetsched: a DistributedRuntime spawns no task with Each");
    static_assert(
        (std::size_t{0} + ... + (detail::is_distributed<Args> ? 1 : 0)) == Signature::data_count,
        "hetsched: a DistributedRuntime spawns on a DistributedHandle for each data parameter");
    std::array<ClusterDatum*, Signature::data_count> data;
    std::size_t k = 0;
    auto const take = [&]<class A>(A const& argument) {
      if constexpr (detail::is_distributed_handle<A>) {
        data[k++] = &datum_of(argument);
      } else if constexpr (detail::is_distributed<A>) {
        data[k++] = &datum_of(argument.handle);
      }
    };
    (take(arguments), ...);
    return data;
  }

  /// What every rank does for every spawn, so all of it is inlined. `spawn_local(argument_of)`
  /// spawns the task here, with what `argument_of(a)` makes of each argument.
  template <class Signature, class Attributes, class SpawnLocal>
  [[gnu::always_inline]] void submit(detail::CallName const& name,
                                     std::int32_t on,
                                     std::array<ClusterDatum*, Signature::data_count> const& data,
                                     Attributes const& attributes,
                                     SpawnLocal&& spawn_local) {
    constexpr auto count = Signature::data_count;
    std::array<std::uint32_t, count> numbers;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = data[i]->number;
    }
    if (on < 0) {
      std::array<PlacedDatum, count> placed;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < count; ++i) {
        placed[i] = {data[i]->home, Signature::parameters[i].mode, data[i]->bytes()};
      }
      on = placement_.rank_of({name.text, placed, log_.count(), ranks_});
    }
    check_rank("spawn", on);
    record(name, on, numbers);
    bool concerned = on == rank_;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
      concerned =
          concerned || data[i]->home == rank_ || data[i]->concerns(Signature::parameters[i].mode);
    }
    if (concerned) {
      spawn_here<Signature>(on, data, attributes, std::forward<SpawnLocal>(spawn_local));
    }
  }

  /// A spawn that concerns this rank.
  template <class Signature, class Attributes, class SpawnLocal>
  [[gnu::noinline]] void spawn_here(std::int32_t on,
                                    std::array<ClusterDatum*, Signature::data_count> const& data,
                                    Attributes const& attributes,
                                    SpawnLocal&& spawn_local) {
    constexpr auto count = Signature::data_count;
    std::array<ClusterUse, count> uses;
    for (std::size_t i = 0; i < count; ++i) {
      auto const& parameter = Signature::parameters[i];
      uses[i] = {data[i], parameter.mode, parameter.reduction};
      reduces_ = reduces_ || parameter.mode == AccessMode::reduce;
    }
    auto const urgency = std::apply(
        [](auto const&... all) {
          return static_cast<detail::Attributes const&>(detail::attributes_of(all...)).priority;
        },
        attributes);
    std::array<detail::DataRecord*, count> records{};
    Uses const transfers{{*this, urgency}, rank_};
    transfers.before(std::span(uses), records, on);
    std::exception_ptr refused;
    if (on == rank_) {
      try {
        std::size_t next = 0;
        spawn_local([&]<class A>(A&& argument) -> decltype(auto) {
          using Argument = std::remove_cvref_t<A>;
          if constexpr (detail::is_distributed_handle<Argument>) {
            return detail::handle_of<typename Argument::Data>(*records[next++]);
          } else if constexpr (detail::is_distributed<Argument>) {
            return detail::LocalAccess<Argument>(*records[next++]);
          } else {
            return std::forward<A>(argument);
          }
        });
      } catch (...) {
        refused = std::current_exception();
      }
    }
    transfers.after(uses, on);
    if (refused) {
      std::rethrow_exception(refused); // other ranks got the values as they were
    }
  }

  /// Calls `spawn(arguments...)` with what `argument_of` makes of each, from left to right.
  template <class ArgumentOf, class Spawn, class... Args>
  static void spawn_with(ArgumentOf&& argument_of, Spawn&& spawn, Args&&... arguments) {
    std::tuple<decltype(argument_of(std::forward<Args>(arguments)))...> made{
        argument_of(std::forward<Args>(arguments))...};
    std::apply([&](auto&&... all) { spawn(std::forward<decltype(all)>(all)...); }, std::move(made));
  }

  template <class Type, class Attributes, class... Args>
  [[gnu::always_inline]] void
  submit_task(std::int32_t on, Attributes const& attributes, Args&&... arguments) {
    using Signature = detail::SignatureOf<Type>;
    static constexpr detail::CallName name{detail::task_table<Node, Type>.name};
    check_outside("spawn");
    auto const data = data_among<Signature>(arguments...);
    submit<Signature>(name, on, data, attributes, [&](auto&& argument_of) {
      std::apply(
          [&](auto const&... all) {
            spawn_with(
                argument_of, node_.template spawn<Type>(all...), std::forward<Args>(arguments)...);
          },
          attributes);
    });
  }

  template <class F, class Attributes, class... Args>
  void submit_lambda(std::int32_t on,
                     Attributes const& attributes,
                     std::source_location where,
                     F&& function,
                     Args&&... arguments) {
    using Type =
        detail::LambdaTask<std::decay_t<F>, detail::DeclaredOf<std::remove_cvref_t<Args>>...>;
    using Signature = detail::SignatureOf<Type>;
    check_outside("spawn");
    auto const data = data_among<Signature>(arguments...);
    auto const label = std::apply(
        [](auto const&... all) {
          return static_cast<detail::Attributes const&>(detail::attributes_of(all...)).label;
        },
        attributes);
    auto const& type = detail::lambda_types<Type, detail::task_table<Node, Type>>.at(label, where);
    auto const& name = names_.try_emplace(&type, type.name).first->second;
    submit<Signature>(name, on, data, attributes, [&](auto&& argument_of) {
      std::apply(
          [&](auto const&... all) {
            spawn_with(argument_of,
                       node_.spawn(all..., where),
                       std::forward<F>(function),
                       std::forward<Args>(arguments)...);
          },
          attributes);
    });
  }

  /// Those that somebody has a handle of, in the order of registration.
  template <class F>
  void for_each_datum(F&& f) {
    for (auto const& known : data_) {
      if (auto const datum = known.datum.lock()) {
        f(*datum);
      }
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

  detail::SpawnLog log_;
  Node node_;
  detail::Exchange<T> exchange_;
  std::int32_t const rank_ = exchange_.rank();
  std::int32_t const ranks_ = exchange_.ranks();
  [[no_unique_address]] PlacementPolicy placement_;
  std::uint32_t registered_ = 0;
  std::vector<Known> data_; // by number
  std::uint32_t syncs_ = 0;
  std::unordered_map<detail::TaskType const*, detail::CallName> names_; // of lambdas' types
  bool reduces_ = false; // some datum may have contributions that are not in its value
};

/// `hs::DistributedRuntime runtime(transport);` has the policies of `Runtime<>`.
template <class T>
DistributedRuntime(T&, Config const& = {}, Duration = {})
    -> DistributedRuntime<policies::WorkStealing<>,
                          policies::Lru,
                          policies::NoModel,
                          OwnerComputes,
                          T>;

} // namespace hetsched
