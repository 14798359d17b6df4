// SPDX-License-Identifier: MIT
#pragma once
// What one rank knows of a datum that all ranks have registered, and which transfers follow from
// that.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A datum of a DistributedRuntime, on one rank. The thread that spawns owns it.
struct ClusterDatum {
  /// At home: a rank to which values went.
  struct Reader {
    std::int32_t rank;
    Turn turn;             // of the last one
    std::uint32_t changes; // as in Local, when it had the present value
    std::uint64_t used;    // see ClusterDatum::used
  };

  /// What only ranks have that use it.
  struct Local {
    DataRecord* record = nullptr;  // a handle is held
    DataRecord* partial = nullptr; // what tasks here have contributed, not yet in the value; the
                                   // same. Of home: the contributions of another rank, for a while
    std::vector<Reader> readers;   // at home, of all values so far
    std::uint32_t changes = 0;     // at home: how often other ranks' copies became old
    Turn turn;                     // elsewhere: of the last value from home
    std::vector<std::int32_t> contributors; // at home: other ranks that have partial values
    ReductionOps const* op = nullptr;       // of these

    void forget_readers() noexcept { ++changes; }

    /// Made if it is new, without the present value.
    [[nodiscard]] Reader& reader(std::int32_t rank) {
      auto const found = std::find_if(
          readers.begin(), readers.end(), [&](Reader const& other) { return other.rank == rank; });
      return found != readers.end() ? *found : readers.emplace_back(rank, Turn{}, changes - 1, 0);
    }
  };

  std::uint32_t number;    // how many were registered before
  std::int32_t home;       // rank
  bool cached = false;     // elsewhere: the copy here is the present value
  bool partial = false;    // elsewhere: there are contributions here
  bool noted = false;      // elsewhere: among the copies that may be given up
  std::uint32_t epoch = 0; // syncs before the latest use: what was known then is no longer so
  std::uint64_t used = 0;  // elsewhere: the call at which a task here last used the present value
  std::uint32_t element_bytes;
  std::size_t rows;
  std::size_t cols;
  std::size_t ld; // at home, in elements
  /// Makes a record of memory, or with nullptr of new memory.
  DataRecord* (*make)(void* node, ClusterDatum const& datum, void* memory);
  std::unique_ptr<Local> local;
  /// While it is partitioned: its parts. The same on all ranks.
  std::vector<std::shared_ptr<ClusterDatum>> parts = {};
  bool joined = false; // it is a part of what is whole again

  ClusterDatum(std::uint32_t its_number,
               std::int32_t its_home,
               std::size_t bytes,
               Shape const& shape,
               DataRecord* (*its_make)(void*, ClusterDatum const&, void*))
      : number(its_number), home(its_home), element_bytes(static_cast<std::uint32_t>(bytes)),
        rows(shape.rows), cols(shape.cols), ld(shape.ld), make(its_make) {}

  ClusterDatum(ClusterDatum const&) = delete;
  ClusterDatum& operator=(ClusterDatum const&) = delete;

  /// Waits for tasks that use it, as the end of a Handle does.
  ~ClusterDatum() {
    if (local != nullptr) {
      for (auto* const record : {local->partial, local->record}) {
        if (record != nullptr) {
          release_handle(record);
        }
      }
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return rows * cols * element_bytes; }

  /// Throws Error(bad_access) if tasks cannot use it as it is.
  void check_usable(char const* operation) const {
    if (!parts.empty() || joined) [[unlikely]] {
      throw Error(ErrorCode::bad_access,
                  operation,
                  text(joined ? "datum %u is a part of what has been joined"
                              : "datum %u is partitioned: use its parts, or join them",
                       unsigned{number}));
    }
  }

  /// Whether a rank where a task does not run, and which is not the datum's home, must know of an
  /// access to it.
  [[nodiscard, gnu::always_inline]] bool concerns(AccessMode mode) const noexcept {
    return (cached && writes(mode)) || partial;
  }

  [[nodiscard]] Local& here(void* node) {
    if (local == nullptr) {
      auto made = std::make_unique<Local>();
      made->record = make(node, *this, nullptr);
      local = std::move(made);
    }
    return *local;
  }

  /// A use after so many syncs. Only the value at home counts then: the program may have written
  /// it, or a task has failed.
  void enter(std::uint32_t syncs) noexcept {
    if (std::exchange(epoch, syncs) == syncs) {
      return;
    }
    cached = false;
    partial = false;
    if (local != nullptr) {
      local->forget_readers();
      local->contributors.clear();
    }
  }

  /// Whether tasks of this rank use it.
  [[nodiscard]] bool is_in_use() const {
    auto const uses = [](DataRecord* record) {
      if (record == nullptr) {
        return false;
      }
      std::lock_guard const guard(record->home.lock);
      return record->home.in_use();
    };
    return local != nullptr && (uses(local->record) || uses(local->partial));
  }

  [[nodiscard]] DataRecord& partial_here(void* node) {
    auto& own = here(node);
    if (own.partial == nullptr) {
      own.partial = make(node, *this, nullptr);
    }
    return *own.partial;
  }
};

/// One datum of a spawn.
struct ClusterUse {
  ClusterDatum* datum;
  AccessMode mode;
  ReductionOps const* op;  // of CW
  std::uint32_t first = 0; // without a datum: an earlier use has it
};

/// The strongest of two accesses of one task to one datum.
[[nodiscard]] constexpr AccessMode both(AccessMode a, AccessMode b) noexcept {
  if (a == b) {
    return a;
  }
  return !writes(a) && !writes(b) ? AccessMode::read : AccessMode::read_write;
}

/// The transfers of one rank that follow from spawns, in program order: what a task reads comes
/// from home, what it wrote goes back there, and contributions go there before the next other
/// access. `Port` (the runtime of the rank) offers
///   void* node()   for ClusterDatum::make
///   std::uint32_t syncs()   so far
///   std::uint64_t calls()   so far, the same on all ranks
///   std::uint64_t keep()    a copy that is used is kept for as many calls; the same
///   void note_copy(ClusterDatum&)   there is a copy here
///   void send(ClusterDatum&, DataRecord&, int to, Turn),
///        receive(ClusterDatum&, DataRecord&, int from, Turn)
///   void begin(DataRecord& partial, op), add(DataRecord& value, DataRecord& partial, op)   tasks
template <class Port>
struct ClusterUses {
  Port port;
  std::int32_t rank;

  /// Before a task, which runs on rank `on`: of several uses of one datum only the first keeps it,
  /// in the strongest mode. records[k] is what the task uses, on that rank, for its k-th datum.
  void before(std::span<ClusterUse> uses, std::span<DataRecord*> records, std::int32_t on) const {
    if (uses.size() <= few_data) {
      for (std::size_t k = 0; k < uses.size(); ++k) {
        for (std::size_t other = k + 1; uses[k].datum != nullptr && other < uses.size(); ++other) {
          if (uses[other].datum == uses[k].datum) {
            unite(uses, k, other);
          }
        }
      }
    } else {
      unite_many(uses);
    }
    for (std::size_t k = 0; k < uses.size(); ++k) {
      records[k] = uses[k].datum != nullptr ? before(uses[k], on) : records[uses[k].first];
    }
  }

  /// After the task.
  void after(std::span<ClusterUse const> uses, std::int32_t on) const {
    for (auto const& use : uses) {
      if (use.datum != nullptr) {
        after(use, on);
      }
    }
  }

  /// Before the task, which runs on rank `on`. Returns what it uses there for the datum.
  DataRecord* before(ClusterUse const& use, std::int32_t on) const {
    auto& datum = *use.datum;
    datum.enter(port.syncs());
    if (use.mode != AccessMode::reduce || has_other_op(datum, use.op)) {
      gather(datum);
    }
    bool const home = datum.home == rank;
    if (use.mode == AccessMode::reduce && on != datum.home) {
      return contribute(use, on);
    }
    if (reads(use.mode) && on != datum.home) {
      if (home) {
        send_once(datum, on);
      } else if (on == rank) {
        receive_once(datum);
      }
    }
    return on == rank ? datum.here(port.node()).record : nullptr;
  }

  /// After the task.
  void after(ClusterUse const& use, std::int32_t on) const {
    auto& datum = *use.datum;
    if (!writes(use.mode) || (use.mode == AccessMode::reduce && on != datum.home)) {
      return;
    }
    if (datum.home == rank) {
      auto& own = datum.here(port.node());
      own.forget_readers();
      if (on != rank) {
        port.receive(datum, *own.record, on, no_turn);
        note_present(own, own.reader(on));
      }
    } else {
      datum.cached = on == rank;
      if (datum.cached) {
        datum.used = port.calls();
        port.note_copy(datum);
        port.send(datum, *datum.local->record, datum.home, no_turn);
      }
    }
  }

  /// All contributions so far go into the value.
  void gather(ClusterDatum& datum) const {
    datum.enter(port.syncs());
    if (datum.partial) {
      port.send(datum, *datum.local->partial, datum.home, no_turn);
      datum.partial = false;
    }
    if (datum.home != rank || datum.local == nullptr) {
      return;
    }
    auto& own = *datum.local;
    for (auto const from : std::exchange(own.contributors, {})) {
      auto& partial = datum.partial_here(port.node());
      port.receive(datum, partial, from, no_turn);
      port.add(*own.record, partial, *own.op);
    }
  }

private:
  static constexpr std::size_t few_data = 16; // more are sorted to find those that are there twice

  static void unite(std::span<ClusterUse> uses, std::size_t first, std::size_t other) {
    uses[first].mode = both(uses[first].mode, uses[other].mode);
    uses[other].datum = nullptr;
    uses[other].first = static_cast<std::uint32_t>(first);
  }

  static void unite_many(std::span<ClusterUse> uses) {
    std::vector<std::size_t> order(uses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(uses[a].datum->number, a) < std::pair(uses[b].datum->number, b);
    });
    for (std::size_t k = 0; k < order.size();) {
      auto const first = order[k];
      for (++k; k < order.size() && uses[order[k]].datum == uses[first].datum; ++k) {
        unite(uses, first, order[k]);
      }
    }
  }

  [[nodiscard]] static bool has_other_op(ClusterDatum const& datum, ReductionOps const* op) {
    return datum.local != nullptr && (datum.partial || !datum.local->contributors.empty()) &&
           datum.local->op != op;
  }

  void send_once(ClusterDatum& datum, std::int32_t to) const {
    auto& own = datum.here(port.node());
    auto& reader = own.reader(to);
    if (reader.changes != own.changes || is_given_up(reader.used)) {
      port.send(datum, *own.record, to, reader.turn.next());
    }
    note_present(own, reader);
  }

  /// The other end of `send_once`.
  void receive_once(ClusterDatum& datum) const {
    if (!datum.cached || is_given_up(datum.used)) {
      auto& own = datum.here(port.node());
      port.receive(datum, *own.record, datum.home, own.turn.next());
      datum.cached = true;
      port.note_copy(datum);
    }
    datum.used = port.calls();
  }

  [[nodiscard]] bool is_given_up(std::uint64_t used) const {
    return port.calls() - used > port.keep();
  }

  void note_present(ClusterDatum::Local const& own, ClusterDatum::Reader& reader) const {
    reader.changes = own.changes;
    reader.used = port.calls();
  }

  /// A task contributes elsewhere than at home.
  DataRecord* contribute(ClusterUse const& use, std::int32_t on) const {
    auto& datum = *use.datum;
    if (datum.home == rank) {
      auto& own = datum.here(port.node());
      own.forget_readers();
      if (std::find(own.contributors.begin(), own.contributors.end(), on) ==
          own.contributors.end()) {
        own.contributors.push_back(on);
      }
      own.op = use.op;
      return nullptr;
    }
    datum.cached = false;
    if (on != rank) {
      return nullptr;
    }
    auto& partial = datum.partial_here(port.node());
    if (!datum.partial) {
      datum.partial = true;
      datum.local->op = use.op;
      port.begin(partial, *use.op);
    }
    return &partial;
  }
};

} // namespace hetsched::detail
