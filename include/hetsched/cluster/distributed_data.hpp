// SPDX-License-Identifier: MIT
#pragma once
// A runtime of several ranks, without what depends on the placement policy: data, and waiting.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/cluster/distributed_partition.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/rank_state.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

template <class Work>
struct NeedsCheckpointHeader {
  static constexpr bool ok = requires { sizeof(Work); };
  static_assert(ok,
                "hetsched: DistributedRuntime::checkpoint and restore need `#include "
                "<hetsched/cluster/checkpoint.hpp>`");
};

} // namespace detail

/// The members of DistributedRuntime that are not about tasks; see there. `Rt`: the runtime of a
/// rank. Constructor and destructor: see RankState.
template <class Rt, Transport T>
class DistributedData : public detail::RankState<Rt, T> {
  using Base = detail::RankState<Rt, T>;

public:
  using Base::Base;
  using Base::ranks;
  using typename Base::Node;

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
  /// Throws Error(bad_call) if an earlier call said fewer: copies may be gone by that.
  void keep_copies(std::uint64_t calls) {
    check_outside("keep_copies");
    if (calls > keep_) {
      throw Error(ErrorCode::bad_call,
                  "keep_copies",
                  std::to_string(calls) + " calls, after " + std::to_string(keep_) +
                      ": what was given up by that is gone");
    }
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

protected:
  using ClusterDatum = detail::ClusterDatum;
  using ClusterUse = detail::ClusterUse;
  using Base::check_outside;
  using Base::check_rank;
  using Base::datum_of;
  using Base::record;
  using typename Base::Uses;

private:
  template <class Rank>
  friend class detail::Checkpoints;

  using Base::alive_;
  using Base::data_call;
  using Base::end_partition;
  using Base::exchange_;
  using Base::joined_;
  using Base::keep_;
  using Base::keep_call;
  using Base::node_;
  using Base::partition_call;
  using Base::rank_;
  using Base::registered_;
  using Base::remember;
  using Base::sync_call;
  using Base::together;
  using Base::value_call;

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
};

} // namespace hetsched
