// SPDX-License-Identifier: MIT
// The state machine alone: no device, no thread; the test performs the transfers.

#include <hetsched/detail/memory/memory_nodes.hpp>
#include <hetsched/policies/caches/least_used_future.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::detail::MemoryNodes;
using hs::detail::Need;
using hs::detail::Replicas;
using Admission = MemoryNodes::Admission;
using Arrival = MemoryNodes::Arrival;

namespace memory_nodes_test {

constexpr hs::NodeId host = hs::host_node;
constexpr hs::NodeId one{1};
constexpr hs::NodeId two{2};
constexpr std::size_t kilo = 1024;

class NoKeeper final : public hs::detail::ReplicaKeeper {
  void take(std::span<Replicas* const>, hs::detail::Destination, bool) override {}

  void reindex(Replicas&, std::int64_t) noexcept override {}

  void forget(Replicas*) noexcept override {}
};

/// Two devices with three kilobytes each, and data of one.
class Machine {
public:
  explicit Machine(std::size_t capacity = 3 * kilo,
                   hs::detail::TransferCosts costs = {},
                   hs::detail::CacheKind const& cache = hs::detail::cache_kind<hs::policies::Lru>)
      : nodes(cache, std::array{capacity, capacity}, costs) {}

  ~Machine() {
    finish(true);
    for (auto const& datum : data_) {
      nodes.remove(*datum);
    }
  }

  Replicas& datum(std::size_t bytes = kilo) {
    auto& made = *data_.emplace_back(std::make_unique<Replicas>(keeper_, nodes.node_count()));
    made.width = made.pitch = bytes;
    made.columns = 1;
    nodes.add(made);
    return made;
  }

  /// Performs the transfers that are asked for; how many. In the order of asking, all of them.
  int finish(bool done) {
    int count = 0;
    while (auto* const copy = nodes.next_copy()) {
      nodes.finished(copy, done);
      ++count;
    }
    return count;
  }

  /// A task from its admission to its end.
  void run(hs::NodeId at, std::vector<Need> const& needs) {
    for (int attempt = 0; nodes.admit(at, nullptr, needs, true) != Admission::admitted; ++attempt) {
      REQUIRE(attempt < 3);
      finish(true);
    }
    while (nodes.ready(at, needs) != Arrival::here) {
      REQUIRE(finish(true) > 0);
    }
    nodes.begin(at, needs);
    nodes.end(at, needs, true);
  }

  MemoryNodes nodes;

private:
  NoKeeper keeper_;
  std::vector<std::unique_ptr<Replicas>> data_;
};

Need reading(Replicas& datum) {
  return {&datum, true, false};
}

Need writing(Replicas& datum) {
  return {&datum, false, true};
}

Need updating(Replicas& datum) {
  return {&datum, true, true};
}

TEST_SUITE_BEGIN("detail");

TEST_CASE("MemoryNodes: what is read is copied once and stays; what is written is not copied") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  machine.run(one, {reading(a), writing(b)});
  machine.run(one, {reading(a), updating(b)});

  auto const& counted = machine.nodes.counters(one);
  CHECK(counted.bytes_from_host == kilo);
  CHECK(counted.bytes_to_host == 0);
  CHECK(counted.hits == 2);
  CHECK(counted.misses == 2);
  CHECK(a.valid == 0b011);
  CHECK(b.valid == 0b010);
}

TEST_CASE("MemoryNodes: a copy elsewhere comes through host memory, or straight if it can") {
  for (bool const connected : {false, true}) {
    Machine machine;
    if (connected) {
      machine.nodes.connect(one, two);
    }
    auto& a = machine.datum();
    machine.run(one, {writing(a)});
    machine.run(two, {reading(a)});

    CHECK(machine.nodes.counters(one).bytes_to_host == (connected ? 0 : kilo));
    CHECK(machine.nodes.counters(two).bytes_from_host == (connected ? 0 : kilo));
    CHECK(machine.nodes.counters(two).bytes_from_peers == (connected ? kilo : 0));
  }
}

TEST_CASE("MemoryNodes: the cache learns what is foretold of a datum for its node") {
  Machine machine(3 * kilo, {}, hs::detail::cache_kind<hs::policies::LeastUsedFuture>);
  auto& a = machine.datum();
  auto& b = machine.datum();
  auto& c = machine.datum();
  auto& d = machine.datum();
  for (auto* const datum : {&a, &b, &c, &d}) {
    datum->identity = datum;
  }
  for (auto const at : {one, two}) {
    machine.run(at, {reading(a)});
    machine.run(at, {reading(b)});
    machine.run(at, {reading(c)});
  }

  struct Foretold {
    Replicas const* used_at_one;
    Replicas const* used_at_two;
  } const foretold{&a, &b};

  machine.nodes.foretell_by(
      {&foretold, [](void const* from, std::uint64_t data, hs::NodeId node) {
         auto const& uses = *static_cast<Foretold const*>(from);
         auto const* const used = node == one ? uses.used_at_one : uses.used_at_two;
         return hs::FutureUses{data == reinterpret_cast<std::uintptr_t>(used) ? 1U : 0U, 0};
       }});
  machine.run(one, {reading(d)});
  machine.run(two, {reading(d)});

  CHECK(a.valid == 0b011); // the oldest of both nodes
  CHECK(b.valid == 0b101);
  CHECK(c.valid == 0b111);
}

TEST_CASE("MemoryNodes: eviction writes back the only copy, and no other") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  auto& c = machine.datum();
  auto& d = machine.datum();
  auto& e = machine.datum();
  machine.run(one, {reading(a)});
  machine.run(one, {writing(b)});
  machine.run(one, {reading(c)});
  machine.run(one, {reading(d)}); // a leaves
  CHECK(machine.nodes.counters(one).evictions_clean == 1);
  CHECK(machine.nodes.counters(one).bytes_to_host == 0);
  machine.run(one, {reading(e)}); // b leaves

  CHECK(machine.nodes.counters(one).evictions_dirty == 1);
  CHECK(machine.nodes.counters(one).bytes_to_host == kilo);
  CHECK(b.valid == 0b001);
}

TEST_CASE("MemoryNodes: a task is let in with all its data or with none") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  auto& c = machine.datum(2 * kilo);
  std::vector<Need> const running{reading(a), reading(b)};
  std::vector<Need> const next{reading(c), writing(machine.datum(256))};
  REQUIRE(machine.nodes.admit(one, nullptr, running, true) == Admission::admitted);
  auto const unused = machine.nodes.unused(one);

  CHECK(machine.nodes.admit(one, nullptr, next, false) == Admission::later);
  CHECK(machine.nodes.unused(one) == unused);
  machine.nodes.leave(one, running);
  CHECK(machine.nodes.admit(one, nullptr, next, true) == Admission::admitted);
  machine.nodes.leave(one, next);
}

TEST_CASE("MemoryNodes: free memory in two halves is made one for a task that is alone") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  auto& c = machine.datum();
  machine.run(one, {reading(a), reading(b), writing(c)});
  // b, in the middle, is its own: it must move
  machine.run(one, {reading(b), writing(machine.datum(2 * kilo))});

  CHECK(machine.nodes.unused(one) == 0);
  CHECK(c.valid_at(host));
}

TEST_CASE("MemoryNodes: what can never fit is said to lack so much") {
  Machine machine;
  auto& a = machine.datum();
  machine.run(one, {reading(a)});
  machine.nodes.pin_user(a, one);
  std::vector<Need> const needs{reading(machine.datum(2 * kilo)), reading(machine.datum(256))};

  CHECK(machine.nodes.admit(one, nullptr, needs, true) == Admission::never);
  CHECK(machine.nodes.missing_bytes() == 256);
  machine.nodes.unpin_user(a, one);
  CHECK(machine.nodes.admit(one, nullptr, needs, true) == Admission::admitted);
  machine.nodes.leave(one, needs);
}

TEST_CASE("MemoryNodes: a transfer of what was overwritten meanwhile makes nothing valid") {
  Machine machine(kilo);
  auto& a = machine.datum();
  machine.run(one, {writing(a)});
  std::vector<Need> const needs{writing(a)};
  REQUIRE(machine.nodes.admit(two, nullptr, needs, true) == Admission::admitted);
  REQUIRE(machine.nodes.ready(two, needs) == Arrival::here);
  machine.nodes.begin(two, needs);
  std::vector<Need> const other{writing(machine.datum())};
  CHECK(machine.nodes.admit(one, nullptr, other, true) == Admission::later); // a is written back
  machine.nodes.end(two, needs, true);
  machine.finish(true);

  CHECK(a.valid == 0b100);
}

TEST_CASE("MemoryNodes: a failed task loses only what it overwrote in place") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  machine.run(one, {writing(b)});
  std::vector<Need> const needs{updating(a), updating(b)};
  REQUIRE(machine.nodes.admit(one, nullptr, needs, true) == Admission::admitted);
  REQUIRE(machine.nodes.ready(one, needs) == Arrival::coming);
  machine.finish(true);
  machine.nodes.begin(one, needs);
  machine.nodes.end(one, needs, false);

  CHECK(a.valid == 0b001);
  CHECK(!a.lost);
  CHECK(b.lost);
  CHECK(b.valid == 0);
  CHECK(machine.nodes.request(b, one) == Arrival::failed);
  CHECK(machine.nodes.request(b, host) == Arrival::failed);
  machine.run(one, {writing(b)});
  CHECK(!b.lost);
  CHECK(b.valid == 0b010);
}

TEST_CASE("MemoryNodes: a transfer that began before its source was lost may save the datum") {
  for (bool const done : {true, false}) {
    Machine machine;
    auto& a = machine.datum();
    machine.run(one, {writing(a)});
    REQUIRE(machine.nodes.request(a, host) == Arrival::coming);
    auto* const copy = machine.nodes.next_copy();
    machine.nodes.lose_copies(one);

    CHECK(a.valid == 0);
    CHECK(machine.nodes.request(a, host) == Arrival::coming);
    CHECK(machine.nodes.request(a, two) == Arrival::coming);
    machine.nodes.finished(copy, done);
    CHECK(a.lost == !done);
    CHECK(a.valid == (done ? 0b001 : 0));
    CHECK(machine.nodes.request(a, host) == (done ? Arrival::here : Arrival::failed));
  }
}

TEST_CASE("MemoryNodes: what is written anew may be copied, however often the old copies failed") {
  Machine machine;
  auto& a = machine.datum();
  machine.run(one, {writing(a)});
  while (machine.nodes.request(a, host) == Arrival::coming) {
    machine.finish(false);
  }
  machine.run(one, {writing(a)});

  CHECK(machine.nodes.request(a, host) == Arrival::coming);
  machine.finish(true);
  CHECK(a.valid == 0b011);
}

TEST_CASE("MemoryNodes: a transfer that fails is tried again, but not for ever") {
  Machine machine;
  auto& a = machine.datum();
  std::vector<Need> const needs{reading(a)};
  REQUIRE(machine.nodes.admit(one, nullptr, needs, true) == Admission::admitted);
  int attempts = 0;
  while (machine.nodes.ready(one, needs) == Arrival::coming) {
    machine.finish(false);
    ++attempts;
  }
  machine.nodes.leave(one, needs);

  CHECK(attempts > 1);
  CHECK(attempts < 10);
  CHECK(a.valid == 0b001);
}

TEST_CASE("MemoryNodes: a write-back that fails is tried again, but not for ever") {
  Machine machine(kilo);
  auto& a = machine.datum();
  auto& b = machine.datum();
  machine.run(one, {writing(a)});
  std::vector const needs{writing(b)};
  int tried = 0;
  while (machine.nodes.admit(one, nullptr, needs, true) == Admission::later) {
    REQUIRE(machine.finish(false) == 1);
    ++tried;
  }
  CHECK(tried == 4);
  CHECK(machine.nodes.admit(one, nullptr, needs, true) == Admission::never);
  CHECK(machine.nodes.admit(one, nullptr, needs, false) == Admission::later); // others may end
  CHECK(machine.finish(true) == 0);
  CHECK(a.valid_at(one));

  machine.run(one, {updating(a)}); // what is written anew may leave
  machine.run(one, {writing(b)});
  CHECK(a.valid_at(host));
}

TEST_CASE("MemoryNodes: a task may begin behind one that writes what it reads") {
  Machine machine;
  auto& a = machine.datum();
  std::vector<Need> const writer{writing(a)};
  std::vector<Need> const follower{updating(a)};
  REQUIRE(machine.nodes.admit(one, nullptr, writer, true) == Admission::admitted);
  REQUIRE(machine.nodes.ready(one, writer) == Arrival::here);
  machine.nodes.begin(one, writer);
  REQUIRE(machine.nodes.admit(one, nullptr, follower, false) == Admission::admitted);
  REQUIRE(machine.nodes.ready(one, follower) == Arrival::here);
  machine.nodes.begin(one, follower);
  machine.nodes.prefetch(a, one); // nothing may come to where they write
  CHECK(machine.finish(true) == 0);
  machine.nodes.end(one, writer, true);
  CHECK(a.valid == 0b010);
  machine.nodes.end(one, follower, true);

  CHECK(a.valid == 0b010);
  CHECK(a.writers == 0);
  CHECK(machine.nodes.counters(one).bytes_from_host == 0);
}

TEST_CASE(
    "MemoryNodes: what is sent ahead is not waited for, until a task that uses it is admitted") {
  Machine machine;
  auto& a = machine.datum();
  auto& b = machine.datum();
  machine.nodes.prefetch(a, one);
  CHECK(machine.nodes.awaited() == 0);
  std::vector<Need> const reader{reading(b)};
  REQUIRE(machine.nodes.admit(one, nullptr, reader, true) == Admission::admitted);
  REQUIRE(machine.nodes.ready(one, reader) == Arrival::coming);
  CHECK(machine.nodes.awaited() == 1);
  std::vector<Need> const later{reading(a)};
  REQUIRE(machine.nodes.admit(one, nullptr, later, false) == Admission::admitted);
  CHECK(machine.nodes.awaited() == 2);
  CHECK(machine.finish(true) == 2);
  CHECK(machine.nodes.awaited() == 0);
  machine.nodes.leave(one, reader);
  machine.nodes.leave(one, later);
}

TEST_CASE("MemoryNodes: what is sent ahead has the reuse index of its latest use") {
  Machine machine(3 * kilo, {}, hs::detail::cache_kind<hs::policies::ReuseGuided>);
  auto const use = [&](Replicas& datum, std::int64_t index) {
    machine.run(one, {{&datum, true, false, index}});
  };
  auto& a = machine.datum();
  use(a, 5);
  machine.nodes.evict(a, one);
  REQUIRE_FALSE(a.valid_at(one));
  machine.nodes.prefetch(a, one);
  machine.finish(true);
  auto& b = machine.datum();
  use(b, 2);
  use(machine.datum(), 9);
  use(machine.datum(), 9);

  CHECK(a.valid_at(one));
  CHECK_FALSE(b.valid_at(one));
}

TEST_CASE("MemoryNodes: a copy comes from where it takes least time, then from who sends least") {
  hs::detail::TransferCosts const slow_peers{
      nullptr, [](void const*, std::size_t, hs::NodeId from, hs::NodeId) {
        return hs::Duration{from == host ? 1 : 2};
      }};
  hs::detail::TransferCosts const slow_host{
      nullptr, [](void const*, std::size_t, hs::NodeId from, hs::NodeId) {
        return hs::Duration{from == host ? 2 : 1};
      }};
  for (auto const& [costs, peers] : {std::pair(slow_peers, 0),
                                     std::pair(slow_host, 2),
                                     std::pair(hs::detail::TransferCosts{}, 1)}) {
    Machine machine(3 * kilo, costs);
    machine.nodes.connect(one, two);
    auto& a = machine.datum();
    auto& b = machine.datum();
    machine.run(one, {reading(a), reading(b)});
    std::vector<Need> const needs{reading(a), reading(b)};
    REQUIRE(machine.nodes.admit(two, nullptr, needs, true) == Admission::admitted);
    REQUIRE(machine.nodes.ready(two, needs) == Arrival::coming);
    machine.finish(true);
    CHECK(machine.nodes.counters(two).bytes_from_peers == static_cast<std::size_t>(peers) * kilo);
    machine.nodes.leave(two, needs);
  }
}

} // namespace memory_nodes_test
