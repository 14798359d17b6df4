// SPDX-License-Identifier: MIT
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/core/error.hpp>

#include "../support/message_log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace loopback_test {

using message_log::head_of;
using message_log::Log;
using message_log::payload_of;

using Events = std::vector<std::string>;

std::optional<hs::ErrorCode> code_of(auto&& call) {
  try {
    call();
  } catch (hs::Error const& error) {
    return error.code();
  }
  return {};
}

void send(hs::LoopbackTransport& from, int to, std::uint64_t number) {
  from.send(to, head_of(number), {}, number);
}

/// Nothing comes after so many polls without an event.
void poll_all(hs::LoopbackTransport& transport, Log& log) {
  for (int idle = 0; idle < 100; ++idle) {
    if (transport.poll(log)) {
      idle = 0;
    }
  }
}

TEST_SUITE_BEGIN("cluster");

TEST_CASE("LoopbackTransport: carries head and payload, and says when the payload was sent") {
  hs::LoopbackNetwork net(2, {.eager_bytes = 10});
  auto a = net.transport(0);
  auto b = net.transport(1);
  auto const large = payload_of(1, 11);
  auto const small = payload_of(2, 10);

  a.send(1, head_of(1), large, 7);
  a.send(1, head_of(2), small, 8);
  a.send(1, head_of(3), {}, 9);
  Log sender;
  a.poll(sender);
  CHECK(sender.sents == std::map<std::uint64_t, int>{{8, 1}, {9, 1}});

  Log receiver;
  CHECK(b.poll(receiver));
  CHECK(receiver.arrivals ==
        std::vector<message_log::Arrival>{{0, 3, {}}, {0, 1, large}, {0, 2, small}});
  CHECK(a.poll(sender));
  CHECK(sender.sents == std::map<std::uint64_t, int>{{7, 1}, {8, 1}, {9, 1}});
  CHECK(!a.poll(sender));
  CHECK(!b.poll(receiver));
}

TEST_CASE("LoopbackTransport: small messages overtake large ones, and begin in order") {
  bool overtook = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    hs::LoopbackNetwork net(2, {.seed = seed, .head_delay = 3, .payload_delay = 10});
    auto a = net.transport(0);
    auto b = net.transport(1);
    auto const payload = payload_of(0, 2000);
    for (std::uint64_t number = 0; number < 20; ++number) {
      a.send(1,
             head_of(number),
             number % 2 == 0 ? std::span(payload) : std::span(payload).first(0),
             number);
    }
    Log log;
    poll_all(b, log);

    REQUIRE(log.arrivals.size() == 20);
    Events begun;
    for (auto const& event : log.events) {
      auto const number = std::stoi(event.substr(event.find(':') + 1));
      if (event.front() == 'b' || number % 2 == 1) {
        begun.push_back(std::to_string(number));
      }
    }
    Events expected;
    for (std::uint64_t number = 0; number < 20; ++number) {
      expected.push_back(std::to_string(number));
      overtook = overtook || log.arrivals[number].number != number;
    }
    CHECK(begun == expected);
  }
  CHECK(overtook);
}

/// Three ranks send to a fourth.
Events many_to_one(hs::LoopbackOptions const& options) {
  hs::LoopbackNetwork net(4, options);
  for (std::uint64_t number = 0; number < 30; ++number) {
    auto from = net.transport(1 + static_cast<int>(number % 3));
    send(from, 0, number);
  }
  auto to = net.transport(0);
  Log log;
  poll_all(to, log);
  return log.events;
}

TEST_CASE("LoopbackTransport: the seed decides about the order between pairs of ranks") {
  hs::LoopbackOptions const delayed{.seed = 5, .head_delay = 8};
  CHECK(many_to_one(delayed).size() == 30);
  CHECK(many_to_one(delayed) == many_to_one(delayed));
  CHECK(many_to_one(delayed) != many_to_one({.seed = 6, .head_delay = 8}));
  CHECK(many_to_one({.seed = 5}) != many_to_one({.seed = 7}));
  CHECK(many_to_one({.seed = 5, .reorders = false}) == many_to_one({.seed = 7, .reorders = false}));
}

TEST_CASE("LoopbackTransport: a poll ends, whatever its callbacks send") {
  hs::LoopbackNetwork net(2);
  std::array transports{net.transport(0), net.transport(1)};
  std::array<Log, 2> logs;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    logs[rank].on_arrival = [&transports, rank](int from, std::uint64_t number) {
      if (number < 100) {
        send(transports[rank], from, number + 1);
        send(transports[rank], from, 1000 + number);
      }
    };
  }
  send(transports[0], 1, 0);
  int rounds = 0;
  for (bool more = true; more;) {
    more = transports[0].poll(logs[0]);
    more = transports[1].poll(logs[1]) || more;
    ++rounds;
  }
  CHECK(rounds >= 50);
  CHECK(logs[0].arrivals.size() + logs[1].arrivals.size() == 201);
}

TEST_CASE("LoopbackTransport: a rank ends at each of its operations") {
  for (std::uint64_t operation = 1; operation <= 6; ++operation) {
    hs::LoopbackNetwork net(3, {.deaths = {{.rank = 1, .operation = operation}}});
    auto dying = net.transport(1);
    auto other = net.transport(0);
    send(other, 1, 1);
    send(other, 1, 2);
    Log log;
    auto const code = code_of([&] {
      send(dying, 0, 10);   // 1
      send(dying, 0, 11);   // 2
      poll_all(dying, log); // 3 to 6
    });
    CHECK(code == hs::ErrorCode::rank_failed);
    CHECK(log.arrivals.size() + log.sents.size() == (operation < 3 ? 0 : operation - 3));

    Log survivor;
    poll_all(other, survivor);
    auto const lost = "lost 1: ended at its operation " + std::to_string(operation);
    CHECK(survivor.events == Events{lost});
    CHECK(survivor.sents == std::map<std::uint64_t, int>{{1, 1}, {2, 1}});
    auto third = net.transport(2);
    Log log_of_third;
    poll_all(third, log_of_third);
    CHECK(log_of_third.events == Events{lost});
  }
}

TEST_CASE("LoopbackNetwork: kill drops what is under way, and frees payloads on both sides") {
  hs::LoopbackNetwork net(3);
  auto a = net.transport(0);
  auto b = net.transport(1);
  auto payload = std::make_unique<std::array<std::byte, 5000>>();
  auto const kept = payload_of(0, 5000);
  b.send(0, head_of(1), *payload, 1);
  a.send(1, head_of(2), kept, 2);

  net.kill(1);
  payload.reset(); // AddressSanitizer sees who reads it
  net.kill(1, "again");
  a.send(1, head_of(3), kept, 3);

  Log log;
  poll_all(a, log);
  CHECK(log.events == Events{"lost 1: was killed"});
  CHECK(log.sents == std::map<std::uint64_t, int>{{2, 1}, {3, 1}});
  CHECK(code_of([&] { b.poll(log); }) == hs::ErrorCode::rank_failed);
  CHECK_THROWS_WITH_AS(send(b, 0, 4), "hetsched: rank 1: was killed", hs::Error);
}

TEST_CASE("LoopbackNetwork: a rank that ends while a message is half there") {
  hs::LoopbackNetwork net(2, {.payload_delay = 1000});
  auto a = net.transport(0);
  auto b = net.transport(1);
  auto const payload = payload_of(0, 5000);
  a.send(1, head_of(1), payload, 1);
  Log log;
  b.poll(log);
  CHECK(log.events == Events{"b0:1"});

  SUBCASE("the sender") {
    net.kill(0);
    poll_all(b, log);
    CHECK(log.events == Events{"b0:1", "lost 0: was killed"});
  }

  SUBCASE("the receiver") {
    net.kill(1);
    Log sender;
    poll_all(a, sender);
    CHECK(sender.sents == std::map<std::uint64_t, int>{{1, 1}});
  }

  SUBCASE("the receiver, by its own begin") {
    struct Ends : Log {
      std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes) {
        network->kill(1);
        return Log::begin(from, head, bytes);
      }

      hs::LoopbackNetwork* network = nullptr;
    } ends;

    ends.network = &net;
    a.send(1, head_of(2), payload, 2);
    CHECK(code_of([&] { b.poll(ends); }) == hs::ErrorCode::rank_failed);
    Log sender;
    poll_all(a, sender);
    CHECK(sender.sents == std::map<std::uint64_t, int>{{1, 1}, {2, 1}});
  }
}

TEST_CASE("LoopbackTransport: all others lose a rank that aborts, with its line") {
  hs::LoopbackNetwork net(3, {.quiet = true});
  net.transport(1).abort("rank 1: no space left in checkpoint");
  for (int const rank : {0, 2}) {
    auto transport = net.transport(rank);
    Log log;
    poll_all(transport, log);
    CHECK(log.events == Events{"lost 1: rank 1: no space left in checkpoint"});
  }
  Log log;
  CHECK(code_of([&] { net.transport(1).poll(log); }) == hs::ErrorCode::rank_failed);
}

TEST_CASE("LoopbackNetwork: counts messages and bytes of each pair of ranks") {
  hs::LoopbackNetwork net(3);
  auto a = net.transport(0);
  a.send(1, head_of(1), payload_of(1, 10), 1);
  a.send(1, head_of(2), {}, 2);
  net.transport(2).send(1, head_of(3), payload_of(3, 5), 3);

  CHECK(net.traffic(0, 1) == hs::LoopbackTraffic{.messages = 2, .payloads = 1, .bytes = 10});
  CHECK(net.traffic(2, 1) == hs::LoopbackTraffic{.messages = 1, .payloads = 1, .bytes = 5});
  CHECK(net.traffic(1, 0) == hs::LoopbackTraffic{});
}

TEST_CASE("LoopbackTransport: refuses what the contract does not allow") {
  hs::LoopbackNetwork net(2);
  auto a = net.transport(0);
  std::vector<std::byte> const head(257);
  CHECK_THROWS_WITH_AS(a.send(1, head, {}, 0),
                       "hetsched: rank 0: sends a head of 257 bytes, and 256 are allowed",
                       hs::Error);
  CHECK_THROWS_WITH_AS(a.send(0, {}, {}, 0),
                       "hetsched: rank 0: sends to rank 0, and the other ranks are those below 2",
                       hs::Error);
  CHECK(code_of([&] { a.send(2, {}, {}, 0); }) == hs::ErrorCode::bad_call);
  CHECK(code_of([] { hs::LoopbackNetwork(0); }) == hs::ErrorCode::bad_config);
  CHECK(code_of([] { hs::LoopbackNetwork(2, {.deaths = {{.rank = 2}}}); }) ==
        hs::ErrorCode::bad_config);
}

/// A rank with a lock and two threads. Each thread sends to all others; whoever polls counts.
class BusyRank {
public:
  BusyRank(hs::LoopbackNetwork& net, int rank) : transport_(net, rank) {}

  /// Until the messages of all ranks that are not lost have come.
  void run(int messages) {
    try {
      for (int i = 0; i < messages || !is_over(messages); ++i) {
        std::lock_guard const guard(lock_);
        if (i < messages) {
          send_to_all();
        }
        transport_.poll(log_);
      }
    } catch (hs::Error const&) {
      died.store(true);
    }
  }

  std::atomic<bool> died{false};

private:
  bool is_over(int messages) {
    std::this_thread::yield();
    std::lock_guard const guard(lock_);
    std::vector<int> open(static_cast<std::size_t>(transport_.ranks()), 2 * messages);
    open[static_cast<std::size_t>(transport_.rank())] = 0;
    for (auto const& arrival : log_.arrivals) {
      --open[static_cast<std::size_t>(arrival.from)];
    }
    for (auto const& event : log_.events) {
      if (event.starts_with("lost ")) {
        open[static_cast<std::size_t>(std::stoi(event.substr(5)))] = 0;
      }
    }
    return sends_ == log_.sents.size() && *std::max_element(open.begin(), open.end()) == 0;
  }

  void send_to_all() {
    for (int to = 0; to < transport_.ranks(); ++to) {
      if (to != transport_.rank()) {
        auto const number = sends_++;
        payloads_.push_back(payload_of(number, number % 3 * 1000));
        transport_.send(to, head_of(number), payloads_.back(), number);
      }
    }
  }

  std::mutex lock_; // of what follows
  hs::LoopbackTransport transport_;
  Log log_;
  std::uint64_t sends_ = 0;
  std::vector<std::vector<std::byte>> payloads_;
};

void all_to_all(int ranks, int messages, hs::LoopbackOptions const& options) {
  hs::LoopbackNetwork net(ranks, options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      BusyRank busy(net, rank);
      std::thread second([&] { busy.run(messages); });
      busy.run(messages);
      second.join();
      auto const dies = !options.deaths.empty() && options.deaths.front().rank == rank;
      CHECK(busy.died.load() == dies);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST_CASE("LoopbackTransport: several threads of several ranks" * doctest::timeout(60)) {
  all_to_all(4, 15, {.seed = 3, .head_delay = 3, .payload_delay = 6});
}

TEST_CASE("LoopbackTransport: several threads, and a rank that ends" * doctest::timeout(60)) {
  for (std::uint64_t operation = 1; operation < 60; operation += 7) {
    all_to_all(3,
               10,
               {.seed = operation,
                .head_delay = 3,
                .payload_delay = 6,
                .deaths = {{.rank = 1, .operation = operation}}});
  }
}

TEST_SUITE_END();

} // namespace loopback_test
