// SPDX-License-Identifier: MIT
#pragma once
// Which memory node holds what: coherence, admission and replacement, for every engine.

#include <hetsched/access.hpp>
#include <hetsched/detail/cache_kind.hpp>
#include <hetsched/detail/memory_events.hpp>
#include <hetsched/detail/node_memory.hpp>
#include <hetsched/detail/replicas.hpp>
#include <hetsched/platform.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The state machine behind device memories: events in, transfers to perform out. No lock, no wait,
/// no clock and no device call inside, so that one implementation serves threads and virtual time;
/// the engine holds one lock around every call.
///
/// Coherence: a node's copy is valid or not. A task makes valid what it reads, at its own node, and
/// its end makes that node's copy of what it wrote the only one (write-back, lazily: Lima et al.
/// 2015, sec. 3.4.4). Until then older copies stay valid, so that a failed task loses nothing but
/// what it overwrote in place. Admission: a task's whole footprint is reserved, or nothing.
class MemoryNodes {
public:
  enum class Admission : std::uint8_t {
    admitted,
    later, // when a transfer or a task that is under way has ended
    never, // with everything out that may leave, it does not fit: see `missing_bytes`
  };

  enum class Arrival : std::uint8_t { here, coming, failed };

  /// `capacities`: of the devices' memories, nodes 1 and following. Without costs all transfers are
  /// taken to cost the same.
  MemoryNodes(CacheKind const& kind,
              std::span<std::size_t const> capacities,
              TransferCosts costs = {})
      : costs_(costs), outgoing_(capacities.size() + 1) {
    for (auto const capacity : capacities) {
      nodes_.push_back(std::make_unique<NodeMemory>(kind, capacity));
    }
    reaches_.assign(capacities.size() * capacities.size(), false);
  }

  /// Counts the host's.
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size() + 1; }

  /// Who is told of everything; null: nobody.
  void observe(MemoryObserver* observer) noexcept { observer_ = observer; }

  /// Copies from one device's node to another's need not pass through host memory.
  void connect(NodeId from, NodeId to) { reaches_[link(from, to)] = true; }

  void add(Replicas& datum) noexcept {
    datum.number = ++added_;
    datum.next = all_;
    if (all_ != nullptr) {
      all_->previous = &datum;
    }
    all_ = &datum;
  }

  /// The program's own memory in a device, at `offset` from the device's, holds the datum's value
  /// and is its place there for good.
  void adopt(Replicas& datum, NodeId at, std::size_t offset) {
    auto& node = this->node(at);
    auto const block = node.new_block(offset, datum, true);
    datum.at(at).block = block;
    datum.home = at;
    node.insert(block, {datum.bytes(), node.tasks, datum.reuse});
    program_takes(datum, at);
  }

  /// The first of all data known here; Replicas::next leads on.
  [[nodiscard]] Replicas* first() const noexcept { return all_; }

  /// Its copies and their places are given up, whatever they hold. None is moving.
  void remove(Replicas& datum) noexcept {
    if (observer_ != nullptr) {
      observer_->forget(datum);
    }
    for (auto n = host_node; next(n);) {
      if (auto const block = datum.at(n).block; block != no_block) {
        while (node(n).block(block).pins > datum.at(n).attempts) { // the user's
          (void)node(n).release(block);
        }
        if (datum.at(n).attempts == 0) {
          drop(datum, n);
        }
      }
    }
    datum.valid.store(0, std::memory_order_release); // an attempt's place goes with the attempt
    (datum.previous != nullptr ? datum.previous->next : all_) = datum.next;
    if (datum.next != nullptr) {
      datum.next->previous = datum.previous;
    }
  }

  // ---- tasks on a device ----

  /// Reserves a place for each datum of `task`. `alone`: no other task is in the node.
  [[nodiscard]] Admission
  admit(NodeId at, void const* task, std::span<Need const> needs, bool alone) {
    auto& node = this->node(at);
    std::size_t lacking = 0;
    for (auto const& need : needs) {
      if (auto const block = need.datum->at(at).block; block != no_block) {
        node.pin(block);
      } else {
        lacking += Arena::rounded(need.datum->bytes());
      }
    }
    auto missing = lacking;
    fresh_.clear();
    for (auto const& need : needs) {
      if (need.datum->at(at).block != no_block) {
        continue;
      }
      auto const bytes = need.datum->bytes();
      if (!make_room(at, bytes, missing)) {
        undo(at, needs);
        return refused(at, lacking, alone);
      }
      need.datum->at(at).block = node.new_block(offset_, *need.datum);
      fresh_.push_back(need.datum);
      missing -= Arena::rounded(bytes);
    }
    note_uses(at, task, needs);
    return Admission::admitted;
  }

  /// After admit answered never: what the task lacked.
  [[nodiscard]] std::size_t missing_bytes() const noexcept { return missing_; }

  /// Whether an admitted task may begin: what it reads is here, or will have been written here by
  /// tasks that have begun and that the device runs first; and nobody still copies what it is to
  /// overwrite. Asks for transfers of what is not here.
  [[nodiscard]] Arrival ready(NodeId at, std::span<Need const> needs) {
    auto all = Arrival::here;
    for (auto const& need : needs) {
      if (need.reads && need.datum->writers == 0) {
        auto const arrival = request(*need.datum, at);
        if (arrival == Arrival::failed) {
          return arrival;
        }
        all = std::max(all, arrival);
      }
      if (need.writes && (need.datum->copies_moving != 0 || need.datum->at(at).unsettled != 0)) {
        all = Arrival::coming;
      }
    }
    return all;
  }

  /// The same for an admitted attempt at an abortable task, which overwrites its copies: what it is
  /// to read and write must be valid elsewhere, too. Asks for a transfer to host memory if it is
  /// not.
  [[nodiscard]] Arrival ready_to_attempt(NodeId at, std::span<Need const> needs) {
    auto all = ready(at, needs);
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (all == Arrival::failed || !need.reads || !need.writes || !is_only_copy(datum, at)) {
        continue;
      }
      auto const moving = datum.copies_moving;
      all = std::max(all, request(datum, host_node));
      node(at).counters.kept_bytes += datum.copies_moving != moving ? datum.bytes() : 0;
    }
    return all;
  }

  /// The task was launched.
  void begin(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      if (observer_ != nullptr) {
        observer_->begin(*need.datum, at, need.reads, need.writes);
      }
      need.datum->writers += need.writes ? 1 : 0;
    }
  }

  /// An attempt at an abortable task was admitted. Its places stay when the data go.
  void hold(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      ++need.datum->at(at).attempts;
    }
  }

  /// It was launched: its node's copies of what it writes are lost, if there are others.
  void begin_attempt(NodeId at, std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (observer_ != nullptr) {
        observer_->begin(datum, at, need.reads, need.writes);
      }
      ++datum.at(at).unsettled;
      if (need.writes && !is_only_copy(datum, at)) {
        datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
      }
    }
  }

  /// It is over. `launched`: it had begun. `published`: what it wrote is the value now; else its
  /// data may have gone on without it, or be gone.
  void end_attempt(NodeId at, std::span<Need const> needs, bool launched, bool published) {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      --datum.at(at).attempts;
      if (!launched) {
        continue;
      }
      --datum.at(at).unsettled;
      if (published && need.writes) {
        datum.lost = false;
        only_valid_at(datum, at);
      }
      if (observer_ != nullptr && !datum.forgotten) {
        observer_->end(datum, at, need.writes, published);
      }
    }
    leave(at, needs);
  }

  /// A task that had begun is over. Not `done`: what it was to write there is not to be used; if it
  /// overwrote the only copy, the datum is lost.
  void end(NodeId at, std::span<Need const> needs, bool done) {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (observer_ != nullptr) {
        observer_->end(datum, at, need.writes, done);
      }
      if (need.writes) {
        --datum.writers;
        if (done) {
          datum.lost = false;
          only_valid_at(datum, at);
        } else {
          invalidate(datum, at);
        }
      }
    }
    leave(at, needs);
  }

  /// A task that had begun stops, and has not written there: its data are as they were before.
  void cancel(NodeId at, std::span<Need const> needs) {
    for (auto const& need : needs) {
      if (observer_ != nullptr) {
        observer_->cancel(*need.datum, at, need.writes);
      }
      need.datum->writers -= need.writes ? 1 : 0;
    }
    leave(at, needs);
  }

  /// An admitted task gives its places back; of one that had begun, `end` or `cancel` does.
  void leave(NodeId at, std::span<Need const> needs) {
    for (auto const& need : needs) {
      unpin(*need.datum, at);
    }
  }

  /// Brings a datum to a device if there is room without eviction; it may leave at any time.
  void prefetch(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    if (datum.at(at).block != no_block) {
      request_early(datum, at);
      return;
    }
    if (auto const offset = node.arena.allocate(datum.bytes())) {
      auto const block = node.new_block(*offset, datum);
      datum.at(at).block = block;
      node.insert(block, {datum.bytes(), node.tasks, datum.reuse});
      request_early(datum, at);
      unpin(datum, at); // if nothing is on its way, the place goes
    }
  }

  /// Keeps the datum's place, which it has, from being evicted, until as many unpins. The two may
  /// come in any order: both only read the datum.
  void pin_user(Replicas& datum, NodeId at) {
    if (++datum.at(at).user_pins > 0) {
      node(at).pin(datum.at(at).block);
    }
  }

  void unpin_user(Replicas& datum, NodeId at) {
    if (--datum.at(at).user_pins >= 0) {
      unpin(datum, at);
    }
  }

  // ---- coming uses, for policies that want them ----

  [[nodiscard]] bool wants_next_use() const noexcept { return nodes_.front()->wants_next_use(); }

  /// A task that will use the datum was spawned, as number `number` of all.
  void will_use(Replicas& datum, void const* task, std::uint64_t number) {
    datum.coming.push_back({task, number});
    if (datum.coming.size() == 1) {
      foresee(datum, host_node);
    }
  }

  /// The task uses it now, at a node, or will not.
  void begin_use(Replicas& datum, void const* task, NodeId at) {
    for (std::size_t k = 0; k < datum.coming.size(); ++k) {
      if (datum.coming[k].task == task) {
        datum.coming.erase(k, k + 1);
        if (k == 0) {
          foresee(datum, at);
        }
        return;
      }
    }
  }

  // ---- transfers ----

  /// Whether the node holds the datum; if not, a transfer is asked for or under way.
  Arrival request(Replicas& datum, NodeId to) {
    if (datum.valid_at(to)) {
      return Arrival::here;
    }
    if (datum.at(to).arriving != nullptr || (to != host_node && datum.writers != 0) ||
        datum.at(to).unsettled != 0 || datum.at(to).sending != 0) { // for an attempt, too late
      return Arrival::coming;
    }
    if (datum.failed_copies > most_failed_copies || datum.lost) {
      return Arrival::failed;
    }
    if (auto const from = best_source(datum, to); from != to) {
      start(datum, from, to, false);
      return Arrival::coming;
    }
    return to == host_node ? Arrival::failed : std::max(request(datum, host_node), Arrival::coming);
  }

  /// The next transfer to perform, or null. Its places do not move until it is reported.
  [[nodiscard]] Copy* next_copy() {
    if (next_copy_ == to_perform_.size()) {
      to_perform_.clear();
      next_copy_ = 0;
      return nullptr;
    }
    return to_perform_[next_copy_++];
  }

  /// The transfer is over. `copy` is deleted.
  void finished(Copy* copy, bool done) {
    std::unique_ptr<Copy> const owner(copy);
    auto& datum = *copy->datum;
    --datum.copies_moving;
    --outgoing_[static_cast<std::size_t>(copy->from.value)];
    --datum.at(copy->from).sending;
    datum.at(copy->to).arriving = nullptr;
    if (done) {
      datum.failed_copies = 0;
      count_bytes(*copy);
      if (observer_ != nullptr) {
        observer_->moved(datum, copy->from, copy->to);
      }
      if (copy->version == datum.version) { // else it was overwritten meanwhile, elsewhere
        datum.valid.fetch_or(bit(copy->to), std::memory_order_acq_rel);
      }
    } else {
      ++datum.failed_copies;
    }
    if (copy->to != host_node) {
      --node(copy->to).moving;
      unpin(datum, copy->to);
    }
    if (copy->from != host_node) {
      auto& source = node(copy->from);
      --source.moving;
      if (copy->evicts) {
        source.leaving -= Arena::rounded(datum.bytes());
      }
      unpin(datum, copy->from);
      auto const block = datum.at(copy->from).block;
      if (copy->evicts && done && datum.valid_at(copy->from) && block != no_block &&
          source.block(block).pins == 0) {
        ++source.counters.evictions_dirty;
        tell_evict(datum, copy->from);
        drop(datum, copy->from);
      }
    }
  }

  // ---- memory of the program's: the host's, or what it has on a device ----

  /// The program is about to read the datum at a node, for which it is requested.
  void program_reads(Replicas const& datum, NodeId at) noexcept {
    if (observer_ != nullptr) {
      observer_->admit(datum, at, true, false);
    }
  }

  /// The program is about to write the datum at a node: no other copy stays valid. No copy is
  /// moving and no task on a device uses it.
  void program_takes(Replicas& datum, NodeId at) {
    if (observer_ != nullptr) {
      observer_->begin(datum, at, false, true);
      observer_->end(datum, at, true, true);
    }
    datum.lost = false;
    only_valid_at(datum, at);
  }

  /// The datum leaves the node if nobody uses it there and another copy is valid.
  void evict(Replicas& datum, NodeId at) {
    auto const block = datum.at(at).block;
    if (block != no_block && node(at).block(block).pins == 0 && !is_only_copy(datum, at)) {
      ++node(at).counters.evictions_clean;
      tell_evict(datum, at);
      drop(datum, at);
    }
  }

  /// The node is gone, with everything in it.
  void lose_copies(NodeId at) {
    for (auto* datum = all_; datum != nullptr; datum = datum->next) {
      if (datum->valid_at(at)) {
        invalidate(*datum, at);
      }
    }
  }

  // ---- looking at it ----

  /// Where the datum is in the node's memory; it has a place there.
  [[nodiscard]] std::size_t offset(Replicas const& datum, NodeId at) const noexcept {
    return node(at).block(datum.at(at).block).offset;
  }

  [[nodiscard]] std::size_t capacity(NodeId at) const noexcept { return node(at).arena.capacity(); }

  [[nodiscard]] std::size_t unused(NodeId at) const noexcept { return node(at).arena.unused(); }

  [[nodiscard]] NodeCounters const& counters(NodeId at) const noexcept { return node(at).counters; }

  /// Data whose places the last admit made: fresh memory.
  [[nodiscard]] std::span<Replicas* const> fresh() const noexcept { return fresh_; }

private:
  static constexpr int most_failed_copies = 3;

  [[nodiscard]] static std::uint64_t bit(NodeId at) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(at.value);
  }

  [[nodiscard]] NodeMemory& node(NodeId at) noexcept {
    return *nodes_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] NodeMemory const& node(NodeId at) const noexcept {
    return *nodes_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] std::size_t link(NodeId from, NodeId to) const noexcept {
    return static_cast<std::size_t>(from.value - 1) * nodes_.size() +
           static_cast<std::size_t>(to.value - 1);
  }

  /// Steps to the next device's node.
  [[nodiscard]] bool next(NodeId& at) const noexcept {
    return static_cast<std::size_t>(++at.value) <= nodes_.size();
  }

  /// A place that nobody uses any more and that holds nothing is given back.
  void unpin(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    if (node.release(datum.at(at).block) && !datum.valid_at(at) &&
        datum.at(at).arriving == nullptr) {
      drop(datum, at);
    }
  }

  void drop(Replicas& datum, NodeId at) {
    auto& place = datum.at(at);
    node(at).erase(place.block);
    place.block = no_block;
    datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
  }

  /// The node from which the datum comes in the shortest predicted time, among equals from which
  /// fewest transfers are under way, then the first; `to` itself if none of those that hold it
  /// reaches `to`.
  [[nodiscard]] NodeId best_source(Replicas const& datum, NodeId to) const {
    auto best = to;
    Duration best_time;
    auto from = host_node;
    do {
      if (!datum.valid_at(from) ||
          (from != host_node && to != host_node && !reaches_[link(from, to)])) {
        continue;
      }
      auto const time = costs_.predict != nullptr
                            ? costs_.predict(costs_.model, datum.bytes(), from, to)
                            : Duration{};
      if (best == to || time < best_time || (time == best_time && out(from) < out(best))) {
        best = from;
        best_time = time;
      }
    } while (next(from));
    return best;
  }

  /// How many transfers from the node are under way.
  [[nodiscard]] int out(NodeId from) const noexcept {
    return outgoing_[static_cast<std::size_t>(from.value)];
  }

  void tell_evict(Replicas const& datum, NodeId at) {
    if (observer_ != nullptr) {
      observer_->evict(datum, at);
    }
  }

  /// A request that no task makes.
  void request_early(Replicas& datum, NodeId at) {
    auto const moving = datum.copies_moving;
    (void)request(datum, at);
    if (observer_ != nullptr && datum.copies_moving != moving) {
      observer_->prefetch(datum, datum.at(at).arriving != nullptr ? at : host_node);
    }
  }

  [[nodiscard]] static bool is_only_copy(Replicas const& datum, NodeId at) noexcept {
    return datum.valid.load(std::memory_order_acquire) == bit(at);
  }

  [[nodiscard]] BlockId victim(NodeId at) const {
    struct Source {
      NodeMemory const* node;
      NodeId at;
    } const source{&node(at), at};

    auto const dirty = [](void const* from, BlockId block) {
      auto const& [its_node, its_id] = *static_cast<Source const*>(from);
      return is_only_copy(*its_node->block(block).owner, its_id);
    };
    return source.node->victim(DirtyBlocks(dirty, &source));
  }

  /// Sees to a free range of `bytes`, at offset_, by evicting if there must be. False: not now;
  /// `missing`: how much the task still lacks in all.
  [[nodiscard]] bool make_room(NodeId at, std::size_t bytes, std::size_t missing) {
    auto& node = this->node(at);
    for (;;) {
      if (auto const offset = node.arena.allocate(bytes)) {
        offset_ = *offset;
        return true;
      }
      if (node.leaving != 0 && node.arena.unused() + node.leaving >= missing) {
        return false;
      }
      auto const block = victim(at);
      if (block == no_block) {
        return false;
      }
      expel(*node.block(block).owner, at);
    }
  }

  /// Makes an unpinned block leave: at once, or after a transfer to host memory.
  void expel(Replicas& datum, NodeId at) {
    if (!is_only_copy(datum, at)) {
      ++node(at).counters.evictions_clean;
      tell_evict(datum, at);
      drop(datum, at);
      return;
    }
    if (observer_ != nullptr) {
      observer_->write_back(datum, at);
    }
    node(at).leaving += Arena::rounded(datum.bytes());
    start(datum, at, host_node, true);
  }

  /// Undoes an admission that stopped half way.
  void undo(NodeId at, std::span<Need const> needs) {
    auto& node = this->node(at);
    for (auto* datum : fresh_) {
      node.free(datum->at(at).block);
      datum->at(at).block = no_block;
    }
    fresh_.clear();
    for (auto const& need : needs) {
      if (need.datum->at(at).block != no_block) {
        unpin(*need.datum, at);
      }
    }
  }

  /// The answer to a task for which there is no room. One that is alone in the node gets all of it,
  /// its own data out first: those could be where they split the free memory in two.
  [[nodiscard]] Admission refused(NodeId at, std::size_t missing, bool alone) {
    auto& node = this->node(at);
    if (!alone || node.moving != 0) {
      return Admission::later;
    }
    bool any = false;
    for (auto block = victim(at); block != no_block; block = victim(at)) {
      expel(*node.block(block).owner, at);
      any = true;
    }
    if (any) {
      return Admission::later;
    }
    missing_ = missing - std::min(missing - 1, node.arena.unused());
    return Admission::never;
  }

  /// Tells the cache what an admitted task uses.
  void note_uses(NodeId at, void const* task, std::span<Need const> needs) {
    auto& node = this->node(at);
    ++node.tasks;
    for (auto const& need : needs) {
      auto& datum = *need.datum;
      if (observer_ != nullptr) {
        observer_->admit(datum, at, need.reads, need.writes);
      }
      auto const block = datum.at(at).block;
      begin_use(datum, task, at);
      BlockUse const use{datum.bytes(), node.tasks, need.reuse, datum.next_use()};
      bool const known = std::find(fresh_.begin(), fresh_.end(), need.datum) == fresh_.end();
      if (known) {
        node.access(block, use);
      } else {
        node.insert(block, use);
      }
      bool const coming =
          datum.valid_at(at) || datum.at(at).arriving != nullptr || datum.writers != 0;
      ++(known && (coming || !need.reads) ? node.counters.hits : node.counters.misses);
    }
  }

  /// Tells the caches of the datum's next use; not that of `user`, which hears of it by the use.
  void foresee(Replicas const& datum, NodeId user) {
    for (auto n = host_node; next(n);) {
      auto const block = datum.at(n).block;
      if (n != user && block != no_block) {
        node(n).foresee(block, datum.next_use());
      }
    }
  }

  void start(Replicas& datum, NodeId from, NodeId to, bool evicts) {
    auto copy = std::make_unique<Copy>(Copy{&datum, from, to, evicts, datum.version});
    ++datum.copies_moving;
    ++outgoing_[static_cast<std::size_t>(from.value)];
    ++datum.at(from).sending;
    datum.at(to).arriving = copy.get();
    if (to != host_node) {
      ++node(to).moving;
      node(to).pin(datum.at(to).block);
    }
    if (from != host_node) {
      ++node(from).moving;
      node(from).pin(datum.at(from).block);
    }
    to_perform_.push_back(copy.release());
  }

  void count_bytes(Copy const& copy) {
    auto const bytes = copy.datum->bytes();
    if (copy.to == host_node) {
      node(copy.from).counters.bytes_to_host += bytes;
    } else if (copy.from == host_node) {
      node(copy.to).counters.bytes_from_host += bytes;
    } else {
      node(copy.to).counters.bytes_from_peers += bytes;
    }
  }

  /// Gives up the places elsewhere, but for those that are pinned.
  void only_valid_at(Replicas& datum, NodeId at) {
    ++datum.version;
    datum.valid.store(bit(at), std::memory_order_release);
    for (auto n = host_node; next(n);) {
      auto const block = datum.at(n).block;
      if (n != at && block != no_block && node(n).block(block).pins == 0) {
        drop(datum, n);
      }
    }
  }

  void invalidate(Replicas& datum, NodeId at) {
    auto const left = datum.valid.load(std::memory_order_acquire) & ~bit(at);
    datum.lost = datum.lost || left == 0;
    datum.valid.store(left == 0 ? bit(host_node) : left, std::memory_order_release);
    auto const block = datum.at(at).block;
    if (block != no_block && node(at).block(block).pins == 0) {
      drop(datum, at);
    }
  }

  TransferCosts const costs_;
  std::vector<int> outgoing_; // transfers under way from each node
  std::vector<std::unique_ptr<NodeMemory>> nodes_;
  std::vector<bool> reaches_;
  std::vector<Copy*> to_perform_;
  std::size_t next_copy_ = 0;
  std::vector<Replicas*> fresh_;
  std::size_t offset_ = 0;
  std::size_t missing_ = 0;
  Replicas* all_ = nullptr;
  std::uint64_t added_ = 0;
  MemoryObserver* observer_ = nullptr;
};

} // namespace hetsched::detail
