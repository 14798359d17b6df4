// SPDX-License-Identifier: MIT
#pragma once
// Which memory node holds what: coherence, admission and replacement, for every engine.

#include <hetsched/access.hpp>
#include <hetsched/detail/arena.hpp>
#include <hetsched/detail/assert.hpp>
#include <hetsched/detail/cache_kind.hpp>
#include <hetsched/detail/replicas.hpp>
#include <hetsched/platform.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::detail {

/// A transfer that the engine is to perform and to report by `MemoryNodes::finished`.
struct Copy {
  Replicas* datum;
  NodeId from;
  NodeId to;
  bool evicts;            // the source leaves its node when it is done
  std::uint32_t version;  // of the datum when it began
  void* engine = nullptr; // what the engine knows it by
};

/// One datum of a task, each datum once.
struct Need {
  Replicas* datum = nullptr;
  bool reads = false;
  bool writes = false;
  std::int64_t reuse = 0;
};

/// Counted in one node since it began.
struct NodeCounters {
  std::uint64_t hits = 0;   // data that a task found in the node when it was let in
  std::uint64_t misses = 0; // and that it did not
  std::uint64_t evictions_clean = 0;
  std::uint64_t evictions_dirty = 0; // with a transfer to host memory
  std::uint64_t bytes_from_host = 0;
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_from_peers = 0;
};

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

  /// `capacities`: of the devices' memories, nodes 1 and following.
  MemoryNodes(CacheKind const& kind, std::span<std::size_t const> capacities) {
    for (auto const capacity : capacities) {
      nodes_.push_back(std::make_unique<Node>(kind, capacity));
    }
    reaches_.assign(capacities.size() * capacities.size(), false);
  }

  /// Counts the host's.
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size() + 1; }

  /// Copies from one device's node to another's need not pass through host memory.
  void connect(NodeId from, NodeId to) { reaches_[link(from, to)] = true; }

  void add(Replicas& datum) noexcept {
    datum.next = all_;
    if (all_ != nullptr) {
      all_->previous = &datum;
    }
    all_ = &datum;
  }

  /// The first of all data known here; Replicas::next leads on.
  [[nodiscard]] Replicas* first() const noexcept { return all_; }

  /// Its copies and their places are given up, whatever they hold. None is moving.
  void remove(Replicas& datum) noexcept {
    for (auto n = host_node; next(n);) {
      if (auto const block = datum.at(n).block; block != no_block) {
        while (node(n).block(block).pins != 0) { // the user's
          --node(n).block(block).pins;
          node(n).cache_kind.release(node(n).cache, block);
        }
        drop(datum, n);
      }
    }
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
        pin(node, block);
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
      need.datum->at(at).block = new_block(node, *need.datum);
      fresh_.push_back(need.datum);
      missing -= Arena::rounded(bytes);
    }
    note_uses(at, task, needs);
    return Admission::admitted;
  }

  /// After admit answered never: what the task lacked.
  [[nodiscard]] std::size_t missing_bytes() const noexcept { return missing_; }

  /// Whether an admitted task may begin: what it reads is here, and nobody still copies what it is
  /// to overwrite. Asks for transfers of what is not.
  [[nodiscard]] Arrival ready(NodeId at, std::span<Need const> needs) {
    auto all = Arrival::here;
    for (auto const& need : needs) {
      if (need.reads) {
        auto const arrival = request(*need.datum, at);
        if (arrival == Arrival::failed) {
          return arrival;
        }
        all = std::max(all, arrival);
      }
      if (need.writes && need.datum->copies_moving != 0) {
        all = Arrival::coming;
      }
    }
    return all;
  }

  /// The task was launched.
  void begin(std::span<Need const> needs) noexcept {
    for (auto const& need : needs) {
      need.datum->writers += need.writes ? 1 : 0;
    }
  }

  /// A task that had begun is over. Not `done`: what it was to write there is not to be used; if it
  /// overwrote the only copy, the datum is lost.
  void end(NodeId at, std::span<Need const> needs, bool done) {
    for (auto const& need : needs) {
      auto& datum = *need.datum;
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

  /// An admitted task gives its places back; of one that had begun, `end` does.
  void leave(NodeId at, std::span<Need const> needs) {
    for (auto const& need : needs) {
      unpin(*need.datum, at);
    }
  }

  /// Brings a datum to a device if there is room without eviction; it may leave at any time.
  void prefetch(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    if (datum.at(at).block != no_block) {
      (void)request(datum, at);
      return;
    }
    if (auto const offset = node.arena.allocate(datum.bytes())) {
      offset_ = *offset;
      auto const block = new_block(node, datum);
      datum.at(at).block = block;
      node.cache_kind.insert(node.cache, block, {datum.bytes(), node.tasks, datum.reuse});
      node.cache_kind.pin(node.cache, block);
      (void)request(datum, at);
      unpin(datum, at); // if nothing is on its way, the place goes
    }
  }

  /// Keeps the datum's place, which it has, from being evicted, until as many unpins. The two may
  /// come in any order: both only read the datum.
  void pin_user(Replicas& datum, NodeId at) {
    if (++datum.at(at).user_pins > 0) {
      pin(node(at), datum.at(at).block);
    }
  }

  void unpin_user(Replicas& datum, NodeId at) {
    if (--datum.at(at).user_pins >= 0) {
      unpin(datum, at);
    }
  }

  // ---- coming uses, for policies that want them ----

  [[nodiscard]] bool wants_next_use() const noexcept {
    return nodes_.front()->cache_kind.wants_next_use;
  }

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
    auto& place = datum.at(to);
    if (place.arriving != nullptr) {
      return Arrival::coming;
    }
    if (datum.failed_copies > most_failed_copies || datum.lost) {
      return Arrival::failed;
    }
    if (datum.valid_at(host_node)) {
      start(datum, host_node, to, false);
      return Arrival::coming;
    }
    for (auto from = host_node; next(from);) {
      if (datum.valid_at(from)) {
        if (to == host_node || reaches_[link(from, to)]) {
          start(datum, from, to, false);
          return Arrival::coming;
        }
        return std::max(request(datum, host_node), Arrival::coming);
      }
    }
    return Arrival::failed;
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
    datum.at(copy->to).arriving = nullptr;
    if (done) {
      datum.failed_copies = 0;
      count_bytes(*copy);
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
        drop(datum, copy->from);
      }
    }
  }

  // ---- host memory ----

  /// The host is about to write the datum: no other copy stays valid. No copy is moving and no task
  /// on a device uses it.
  void host_takes(Replicas& datum) {
    datum.lost = false;
    only_valid_at(datum, host_node);
  }

  /// The datum leaves the node if nobody uses it there and another copy is valid.
  void evict(Replicas& datum, NodeId at) {
    auto const block = datum.at(at).block;
    if (block != no_block && node(at).block(block).pins == 0 && !is_only_copy(datum, at)) {
      ++node(at).counters.evictions_clean;
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

  struct Block {
    std::size_t offset = 0;
    Replicas* owner = nullptr;
    int pins = 0;
  };

  struct Node {
    Node(CacheKind const& kind, std::size_t capacity)
        : cache_kind(kind), cache(kind.make()), arena(capacity) {}

    Node(Node const&) = delete;
    Node& operator=(Node const&) = delete;

    ~Node() { cache_kind.destroy(cache); }

    [[nodiscard]] Block& block(BlockId id) noexcept { return blocks[id.value]; }

    [[nodiscard]] Block const& block(BlockId id) const noexcept { return blocks[id.value]; }

    CacheKind const cache_kind;
    void* const cache;
    Arena arena;
    std::vector<Block> blocks = std::vector<Block>(1); // number 0 is no_block
    std::vector<BlockId> unused_ids;
    std::size_t leaving = 0; // bytes of blocks that are being written back to leave
    int moving = 0;          // transfers from and to here
    std::uint64_t tasks = 0; // let in so far
    NodeCounters counters;
  };

  [[nodiscard]] static std::uint64_t bit(NodeId at) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(at.value);
  }

  [[nodiscard]] Node& node(NodeId at) noexcept {
    return *nodes_[static_cast<std::size_t>(at.value) - 1];
  }

  [[nodiscard]] Node const& node(NodeId at) const noexcept {
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

  static void pin(Node& node, BlockId block) {
    ++node.block(block).pins;
    node.cache_kind.pin(node.cache, block);
  }

  /// A place that nobody uses any more and that holds nothing is given back.
  void unpin(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    auto const id = datum.at(at).block;
    node.cache_kind.release(node.cache, id);
    if (--node.block(id).pins == 0 && !datum.valid_at(at) && datum.at(at).arriving == nullptr) {
      drop(datum, at);
    }
  }

  /// A block at offset_ for the datum, pinned once, not yet known to the cache.
  BlockId new_block(Node& node, Replicas& datum) {
    BlockId id;
    if (node.unused_ids.empty()) {
      id.value = static_cast<std::uint32_t>(node.blocks.size());
      node.blocks.emplace_back();
    } else {
      id = node.unused_ids.back();
      node.unused_ids.pop_back();
    }
    node.block(id) = {offset_, &datum, 1};
    return id;
  }

  void drop(Replicas& datum, NodeId at) {
    auto& node = this->node(at);
    auto& place = datum.at(at);
    node.cache_kind.erase(node.cache, place.block);
    free_block(node, place.block);
    place.block = no_block;
    datum.valid.fetch_and(~bit(at), std::memory_order_acq_rel);
  }

  static void free_block(Node& node, BlockId id) {
    auto& block = node.block(id);
    node.arena.release(block.offset, block.owner->bytes());
    block.owner = nullptr;
    node.unused_ids.push_back(id);
  }

  [[nodiscard]] static bool is_only_copy(Replicas const& datum, NodeId at) noexcept {
    return datum.valid.load(std::memory_order_acquire) == bit(at);
  }

  [[nodiscard]] BlockId victim(Node& node, NodeId at) {
    struct Source {
      Node const* node;
      NodeId at;
    } const source{&node, at};

    return node.cache_kind.victim(node.cache,
                                  DirtyBlocks(
                                      [](void const* from, BlockId block) {
                                        auto const& [its_node, its_id] =
                                            *static_cast<Source const*>(from);
                                        return is_only_copy(*its_node->block(block).owner, its_id);
                                      },
                                      &source));
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
      auto const block = victim(node, at);
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
      drop(datum, at);
      return;
    }
    node(at).leaving += Arena::rounded(datum.bytes());
    start(datum, at, host_node, true);
  }

  /// Undoes an admission that stopped half way.
  void undo(NodeId at, std::span<Need const> needs) {
    auto& node = this->node(at);
    for (auto* datum : fresh_) {
      free_block(node, datum->at(at).block);
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
    for (auto block = victim(node, at); block != no_block; block = victim(node, at)) {
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
      auto const block = datum.at(at).block;
      begin_use(datum, task, at);
      BlockUse const use{datum.bytes(), node.tasks, need.reuse, datum.next_use()};
      bool const known = std::find(fresh_.begin(), fresh_.end(), need.datum) == fresh_.end();
      if (known) {
        node.cache_kind.access(node.cache, block, use);
      } else {
        node.cache_kind.insert(node.cache, block, use);
        node.cache_kind.pin(node.cache, block);
      }
      bool const coming = datum.valid_at(at) || datum.at(at).arriving != nullptr;
      ++(known && (coming || !need.reads) ? node.counters.hits : node.counters.misses);
    }
  }

  /// Tells the caches of the datum's next use; not that of `user`, which hears of it by the use.
  void foresee(Replicas const& datum, NodeId user) {
    for (auto n = host_node; next(n);) {
      auto& node = this->node(n);
      auto const block = datum.at(n).block;
      if (n != user && block != no_block && node.cache_kind.foresee != nullptr) {
        node.cache_kind.foresee(node.cache, block, datum.next_use());
      }
    }
  }

  void start(Replicas& datum, NodeId from, NodeId to, bool evicts) {
    auto copy = std::make_unique<Copy>(Copy{&datum, from, to, evicts, datum.version});
    ++datum.copies_moving;
    datum.at(to).arriving = copy.get();
    if (to != host_node) {
      ++node(to).moving;
      pin(node(to), datum.at(to).block);
    }
    if (from != host_node) {
      ++node(from).moving;
      pin(node(from), datum.at(from).block);
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

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<bool> reaches_;
  std::vector<Copy*> to_perform_;
  std::size_t next_copy_ = 0;
  std::vector<Replicas*> fresh_;
  std::size_t offset_ = 0;
  std::size_t missing_ = 0;
  Replicas* all_ = nullptr;
};

} // namespace hetsched::detail
