// SPDX-License-Identifier: MIT
#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/testing/rma_conformance.hpp>

#include "on_ranks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace rma_test {

using hs::WindowElement;

using Rma = hs::RmaOverMessages<hs::LoopbackTransport>;

/// Windows over messages on loopback.
class MessageNetwork {
public:
  MessageNetwork(int ranks, hs::LoopbackOptions options) : net_(ranks, std::move(options)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ends_.push_back(net_.transport(rank));
    }
  }

  Rma transport(int rank) { return Rma(ends_[static_cast<std::size_t>(rank)]); }

  void kill(int rank) { net_.kill(rank); }

  hs::LoopbackNetwork& messages() { return net_; }

private:
  hs::LoopbackNetwork net_;
  std::deque<hs::LoopbackTransport> ends_;
};

/// Remembers what it is told.
struct Log {
  void done(std::uint64_t cookie, std::int64_t value) { values[cookie] = value; }

  void lost(int rank, std::string_view why) { gone[rank] = why; }

  std::map<std::uint64_t, std::int64_t> values;
  std::map<int, std::string> gone;
};

/// Polls until the operation is done.
template <class T>
std::int64_t await(T& transport, Log& log, std::uint64_t cookie) {
  while (log.values.count(cookie) == 0) {
    transport.poll(log);
    std::this_thread::yield();
  }
  return log.values[cookie];
}

/// `f(network)` with both kinds of networks.
template <class F>
void on_each_kind(int ranks, F const& f) {
  SUBCASE("one-sided") {
    hs::LoopbackRmaNetwork net(ranks, {.delay = 4, .quiet = true});
    f(net);
  }
  SUBCASE("messages") {
    MessageNetwork net(ranks, {.head_delay = 3, .payload_delay = 7, .quiet = true});
    f(net);
  }
}

TEST_SUITE_BEGIN("cluster");

TEST_CASE("LoopbackRmaTransport: keeps the contract") {
  for (int const delay : {0, 6}) {
    auto const report = hs::testing::check_rma_transport(
        [delay](int ranks, std::uint64_t seed) {
          return hs::LoopbackRmaNetwork(ranks, {.seed = seed, .delay = delay});
        },
        {.ranks = delay == 0 ? 2 : 4});
    CHECK_MESSAGE(report.ok(), report.text());
  }
}

TEST_CASE("RmaOverMessages: keeps the contract") {
  for (int const delay : {0, 9}) {
    auto const report = hs::testing::check_rma_transport(
        [delay](int ranks, std::uint64_t seed) {
          return MessageNetwork(ranks,
                                {.seed = seed,
                                 .head_delay = delay / 2,
                                 .payload_delay = delay,
                                 .eager_bytes = delay == 0 ? std::size_t{1024} : 0});
        },
        {.ranks = delay == 0 ? 2 : 4});
    CHECK_MESSAGE(report.ok(), report.text());
  }
}

TEST_CASE("RmaOverMessages: two messages for an operation, and no more bytes than elements") {
  MessageNetwork net(2, {});
  on_ranks::each(2, [&](int rank) {
    auto transport = net.transport(rank);
    auto const window = transport.allocate(WindowElement::f64, 100);
    if (rank == 0) {
      std::array<double, 100> here{};
      Log log;
      transport.put(window, {.rank = 1, .columns = 100}, here.data(), 100, 1);
      await(transport, log, 1);
      transport.get(window, {.rank = 1, .columns = 5, .rows = 4, .stride = 25}, here.data(), 5, 2);
      await(transport, log, 2);
      transport.put(window, {.rank = 0, .columns = 100}, here.data(), 100, 3); // its own part
      await(transport, log, 3);
      transport.put(window, {.rank = 1, .columns = 0}, here.data(), 0, 4);
      await(transport, log, 4);
    }
  });
  constexpr int calls = 2; // allocate and the end
  CHECK(net.messages().traffic(0, 1) ==
        hs::LoopbackTraffic{.messages = 2 + calls, .payloads = 1, .bytes = 800});
  CHECK(net.messages().traffic(1, 0) ==
        hs::LoopbackTraffic{.messages = 2 + calls, .payloads = 1, .bytes = 160});
}

TEST_CASE("RmaTransport: ranks that do not call the same are told so, all of them") {
  on_each_kind(3, [](auto& net) {
    auto const thrown = on_ranks::each(3, [&](int rank) {
      auto transport = net.transport(rank);
      (void)transport.allocate(rank == 1 ? WindowElement::f32 : WindowElement::f64, 8);
    });
    for (auto const& line : thrown) {
      CHECK(line == "hetsched: rank 1: allocates floats where rank 0 allocates doubles");
    }
  });
}

TEST_CASE("RmaTransport: a part for which a rank has no memory is an error on all") {
  on_each_kind(2, [](auto& net) {
    auto const thrown = on_ranks::each(2, [&](int rank) {
      auto transport = net.transport(rank);
      auto const size = rank == 0 ? 8 : std::numeric_limits<std::size_t>::max() / 8;
      (void)transport.allocate(WindowElement::f64, size);
    });
    for (auto const& line : thrown) {
      CHECK(line == "hetsched: rank 1: has no memory for its part of a window");
    }
  });
}

TEST_CASE("RmaTransport: nobody waits in allocate for a rank that is gone") {
  on_each_kind(3, [](auto& net) {
    auto const thrown = on_ranks::each(3, [&](int rank) {
      auto transport = net.transport(rank);
      auto const window = transport.allocate(WindowElement::word, 1);
      if (rank == 2) {
        transport.abort("rank 2 has had enough");
      }
      (void)transport.allocate(WindowElement::word, 1);
      (void)window;
    });
    for (auto const& line : thrown) {
      CHECK(line == "hetsched: rank 2: rank 2 has had enough");
    }
  });
}

TEST_CASE("RmaOverMessages: several of them after each other, and a runtime between them") {
  hs::LoopbackNetwork net(3, {.head_delay = 5, .payload_delay = 9});
  auto const thrown = on_ranks::each(3, [&](int rank) {
    auto transport = net.transport(rank);
    for (int round = 0; round < 6; ++round) {
      if (round % 3 == 2) {
        hs::DistributedRuntime rt(transport, on_ranks::one_core());
        double x = rank;
        auto const y = rt.data(round % 3, x);
        rt.spawn()([](double& it) { it += 1; }, hs::read_write(y));
        CHECK(rt.value(y) == round % 3 + 1);
        rt.sync();
      } else {
        Rma rma(transport);
        auto const window = rma.allocate(WindowElement::word, 1);
        Log log;
        rma.fetch_add(window, (rank + 1) % 3, 0, 5, 1);
        CHECK(await(rma, log, 1) == 0);
      }
    }
  });
  CHECK(thrown == std::vector<std::string>(3));
}

TEST_CASE("RmaOverMessages: a message of somebody else ends it") {
  hs::LoopbackNetwork net(2);
  auto const thrown = on_ranks::each(2, [&](int rank) {
    auto transport = net.transport(rank);
    if (rank == 1) {
      std::array<std::byte, 12> const head{};
      transport.send(0, head, {}, 1);
      return;
    }
    Rma rma(transport);
    (void)rma.allocate(WindowElement::byte, 1);
  });
  CHECK(thrown[0] == "hetsched: rank 1: sent what is no message of this version of hetsched");
}

TEST_SUITE_END();

} // namespace rma_test
