// SPDX-License-Identifier: MIT
// Programs on several ranks: the result is that of one rank, bit for bit; mistakes and lost ranks
// are named.

#include "cluster/distributed_program.hpp"
#include "cluster/on_ranks.hpp"
#include "support/env_or.hpp"
#include "support/launch.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace distributed_test {

using namespace distributed_program;

using Runtime = RuntimeOn<hs::LoopbackTransport>;

template <class F>
std::vector<std::string> on_ranks(hs::LoopbackNetwork& net, F const& f) {
  return ::on_ranks::run<Runtime>(net, f);
}

bool holds(std::string const& text, char const* words) {
  return text.find(words) != std::string::npos;
}

struct Touch : hs::Task<2>::Signature<hs::R<int>, hs::RW<int>> {
  static constexpr std::string_view name = "touch";

  static void cpu(int x, int& y) { // may overflow
    y = static_cast<int>(3 * static_cast<unsigned>(y) + static_cast<unsigned>(x));
  }
};

struct Fails : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "fails";

  static void cpu(int& /*x*/) { throw std::runtime_error("did not converge"); }
};

TEST_CASE("distributed: random programs give what one rank gives") {
  auto const programs = static_cast<int>(support::env_or("HETSCHED_TEST_GRAPHS", 60));
  auto const first = static_cast<int>(support::env_or("HETSCHED_TEST_SEED", 1));
  for (int k = 0; k < programs; ++k) {
    auto const seed = static_cast<std::uint64_t>(first + k);
    CAPTURE(seed);
    Program const program(seed);
    auto const expected = program.run_alone();
    Dice dice(seed + 77);
    int const ranks = k % 20 == 19 ? dice.pick(8, 64) : dice.pick(2, 6);
    CAPTURE(ranks);
    int const delay = dice.pick(0, 3);
    hs::LoopbackNetwork net(
        ranks, {.seed = seed, .head_delay = delay, .payload_delay = 3 * delay, .eager_bytes = 64});
    std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
    (void)::on_ranks::each(ranks, [&](int rank) {
      auto transport = net.transport(rank);
      wrong[static_cast<std::size_t>(rank)] = program.run(transport, expected);
    });
    for (auto const& what : wrong) {
      REQUIRE(what == "");
    }
  }
}

TEST_CASE("distributed: a value goes once to each rank that reads it") {
  hs::LoopbackNetwork net(3);
  std::vector<hs::Traffic> sent(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    int x = 5;
    std::vector<int> y(3, 0);
    auto const hx = rt.data(0, x);
    std::vector<hs::DistributedHandle<int>> hy;
    for (int r = 0; r < 3; ++r) {
      hy.push_back(rt.data(r, y[static_cast<std::size_t>(r)]));
    }
    for (int k = 0; k < 10; ++k) { // rank 1 reads x ten times, in two versions
      if (k == 5) {
        rt.spawn<Touch>()(hx, hx);
      }
      rt.spawn<Touch>()(hx, hy[1]);
    }
    rt.spawn<Touch>(hs::on_rank(2))(hx, hy[2]);
    rt.sync();
    if (rt.rank() == 0) {
      sent = {rt.sent_to(0), rt.sent_to(1), rt.sent_to(2)};
    }
    CHECK(x == (rt.rank() == 0 ? 20 : 5));
  });
  CHECK(thrown == std::vector<std::string>(3));
  CHECK(sent[1].messages == 2);
  CHECK(sent[1].bytes == 2 * sizeof(int));
  CHECK(sent[2].messages == 1);
}

TEST_CASE("distributed: a large value for many ranks is passed on from rank to rank") {
  constexpr int ranks = 8;

  struct Sums {
    std::uint64_t from_home = 0; // messages with a payload, through the network
    std::uint64_t all = 0;
    std::uint64_t passed_on = 0;
  };

  auto const sums_of = [](std::size_t latency_bytes) {
    hs::LoopbackNetwork net(ranks, {.head_delay = 3, .latency_bytes = latency_bytes});
    std::atomic<std::uint64_t> passed_on = 0;
    auto const thrown = on_ranks(net, [&](Runtime& rt) {
      std::vector<int> x(1000, 1);
      std::vector<int> y(ranks, 0);
      auto const hx = rt.data(0, x.data(), x.size());
      std::atomic<bool> all_spawned = false;
      rt.spawn()(
          [&all_spawned](hs::VectorView<int> to) {
            while (!all_spawned) { // so that all its sends begin together
              std::this_thread::yield();
            }
            to[999] = 5;
          },
          hs::read_write(hx));
      std::vector<hs::DistributedHandle<int>> hy; // whose ends wait for the tasks
      for (int r = 0; r < ranks; ++r) {
        hy.push_back(rt.data(r, y[static_cast<std::size_t>(r)]));
        rt.spawn()([](hs::VectorView<int const> from, int& to) { to = from[999]; },
                   hs::read(hx),
                   hs::read_write(hy.back()));
      }
      all_spawned = true;
      rt.sync();
      CHECK(y[static_cast<std::size_t>(rt.rank())] == 5);
      for (int r = 1; r < ranks; ++r) {
        CHECK(rt.sent_to(r).messages == (rt.rank() == 0 ? 1 : 0));
      }
      passed_on += rt.passed_on().messages;
      CHECK(rt.passed_on().bytes == rt.passed_on().messages * 4000);
    });
    CHECK(thrown == std::vector<std::string>(ranks));
    Sums sums{.passed_on = passed_on};
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        auto const sent = net.traffic(from, to).payloads;
        sums.all += sent;
        sums.from_home += from == 0 ? sent : 0;
      }
    }
    return sums;
  };
  auto const tree = sums_of(0);
  CHECK(tree.all == 7);
  CHECK(tree.from_home == 3);
  CHECK(tree.passed_on == 4);
  auto const pays = sums_of(5332); // 4 messages of 4,000 bytes fewer against 3 steps of 5,332
  CHECK(pays.from_home == 3);
  auto const star = sums_of(5334);
  CHECK(star.all == 7);
  CHECK(star.from_home == 7);
  CHECK(star.passed_on == 0);
}

TEST_CASE("distributed: copies that are not used for long are given up, and sent again") {
  constexpr std::size_t bytes = 256 * 1024;
  constexpr std::size_t tiles = 12;
  for (bool const keeps : {true, false}) {
    CAPTURE(keeps);
    hs::LoopbackNetwork net(2);
    std::vector<char> copies(tiles); // how many pages are in memory
    auto const thrown = on_ranks(net, [&](Runtime& rt) {
      if (!keeps) {
        rt.keep_copies(20);
      }
      std::vector<std::vector<char>> x(tiles, std::vector<char>(rt.rank() == 0 ? bytes : 0, 'a'));
      std::vector<hs::DistributedHandle<hs::VectorView<char>>> hx;
      for (auto& tile : x) {
        hx.push_back(rt.data(0, tile.data(), bytes));
      }
      std::size_t sum = 0;
      auto const h_sum = rt.data(1, sum);
      std::vector<char const*> at(tiles);
      auto const read = [&](std::size_t t) {
        rt.spawn()(
            [to = &at[t]](hs::VectorView<char const> from, std::size_t& all) {
              *to = from.data();
              all += static_cast<std::size_t>(from[from.size() - 1] - 'a' + 1);
            },
            hs::read(hx[t]),
            hs::read_write(h_sum));
      };
      for (std::size_t t = 0; t < tiles; ++t) {
        for (int k = 0; k < 5; ++k) { // the copy before the last four is given up
          read(t);
          read(0); // always in use
        }
      }
      CHECK(rt.value(h_sum) == 10 * tiles);
      if (rt.rank() == 1) {
        auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        for (std::size_t t = 0; t < tiles; ++t) {
          auto const first = (reinterpret_cast<std::uintptr_t>(at[t]) + page - 1) / page * page;
          std::vector<unsigned char> present(bytes / page - 1);
          REQUIRE(mincore(reinterpret_cast<void*>(first), present.size() * page, present.data()) ==
                  0);
          copies[t] = static_cast<char>(std::count_if(
              present.begin(), present.end(), [](unsigned char one) { return (one & 1U) != 0; }));
        }
      }
      read(1);
      read(tiles - 1);
      CHECK(rt.value(h_sum) == 10 * tiles + 2);
      if (rt.rank() == 0) {
        CHECK(rt.sent_to(1).messages == tiles + (keeps ? 0 : 1));
      }
    });
    CHECK(thrown == std::vector<std::string>(2));
    for (std::size_t t = 0; t < tiles; ++t) {
      CAPTURE(t);
      bool const given_up = !keeps && t > 0 && t < tiles - 4;
      CHECK((copies[t] == 0) == given_up);
    }
  }
}

/// Only devices can run it.
struct AddLast : hs::Task<2>::Signature<hs::R<hs::VectorView<int>>, hs::RW<int>> {
  static constexpr std::string_view name = "add last";

  static void gpu(hs::GpuStream& stream, hs::VectorView<int const> x, int& sum) {
    support::launch(stream, [x, to = &sum] { *to += x[x.size() - 1]; });
  }
};

TEST_CASE("distributed: a copy that a device uses is pinned, unless it is given up") {
  constexpr std::size_t count = 65536;
  auto const* const driver = hetsched_emulated_driver();
  hs_device* device = nullptr;
  REQUIRE(driver->open(0, 0, "", &device) == hs_ok);
  auto const is_pinned = [&](void const* memory) {
    bool const free = driver->pin(device, const_cast<void*>(memory), count * sizeof(int)) == hs_ok;
    if (free) {
      driver->unpin(device, const_cast<void*>(memory));
    }
    return !free;
  };
  hs::LoopbackNetwork net(2);
  std::vector<int const*> at(2);
  auto const thrown = ::on_ranks::each(2, [&](int rank) {
    auto transport = net.transport(rank);
    Runtime rt(transport, {.cpus = 1, .devices = "emu@1MB"});
    rt.keep_copies(6);
    std::vector<int> x(count, rank + 1);
    std::vector<int> sums(2);
    int idle = 0;
    std::vector<hs::DistributedHandle<hs::VectorView<int>>> hx;
    std::vector<hs::DistributedHandle<int>> h_sums;
    for (int home : {0, 1}) {
      hx.push_back(rt.data(home, x.data(), count));
      h_sums.push_back(rt.data(home, sums[static_cast<std::size_t>(home)]));
    }
    auto const h_idle = rt.data(0, idle);
    auto const each_adds = [&] { // what is at home on the other rank
      rt.spawn<AddLast>()(hx[1], h_sums[0]);
      rt.spawn<AddLast>()(hx[0], h_sums[1]);
    };
    for (std::size_t reader : {0U, 1U}) {
      rt.spawn(hs::on_rank(static_cast<int>(reader)))(
          [to = &at[reader]](hs::VectorView<int const> copy) { *to = copy.data(); },
          hs::read(hx[1 - reader]));
    }
    auto const& own = at[static_cast<std::size_t>(rank)];
    rt.wait();
    CHECK(!is_pinned(own));
    each_adds();
    rt.wait();
    CHECK(is_pinned(own));
    for (int k = 0; k < 10; ++k) {
      rt.spawn(hs::on_rank(k % 2))([](int& /*x*/) {}, hs::read_write(h_idle));
    }
    rt.wait();
    CHECK(!is_pinned(own));
    each_adds();
    rt.wait();
    CHECK(is_pinned(own));
    CHECK(rt.value(h_sums[0]) == 4);
    CHECK(rt.value(h_sums[1]) == 2);
    CHECK(rt.sent_to(1 - rank).bytes >= 2 * count * sizeof(int));
  });
  CHECK(thrown == std::vector<std::string>(2));
  for (auto const* memory : at) {
    CHECK(!is_pinned(memory));
  }
  driver->close(device);
}

TEST_CASE("distributed: contributions of a rank travel together") {
  hs::LoopbackNetwork net(3);
  std::vector<std::uint64_t> messages(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    std::uint64_t sum = 7;
    std::uint64_t one = 1;
    auto const hs_sum = rt.data(0, sum);
    auto const h_one = rt.data(0, one);
    for (int k = 0; k < 30; ++k) {
      rt.spawn<Contribute>(hs::on_rank(k % 3))(h_one, hs_sum, 1);
    }
    CHECK(rt.value(hs_sum) == 37);
    messages[static_cast<std::size_t>(rt.rank())] = rt.sent_to(rt.rank() == 0 ? 1 : 0).messages;
  });
  CHECK(thrown == std::vector<std::string>(3));
  CHECK(messages == std::vector<std::uint64_t>{2, 1, 1}); // one and the sum; a partial sum each
}

TEST_CASE("distributed: a long list in which data are twice") {
  hs::LoopbackNetwork net(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    std::vector<int> x(40, 1);
    std::vector<hs::DistributedHandle<int>> data;
    for (std::size_t k = 0; k < x.size(); ++k) {
      data.push_back(rt.data(static_cast<int>(k) % 3, x[k]));
    }
    auto all = data;
    all.insert(all.end(), data.begin(), data.begin() + 20);
    rt.spawn(hs::on_rank(1))(
        [](hs::Each<int> const& list) {
          for (std::size_t k = 0; k < list.size(); ++k) {
            ++list[k];
          }
        },
        hs::read_write(all));
    rt.sync();
    for (std::size_t k = 0; k < x.size(); ++k) {
      bool const here = static_cast<int>(k) % 3 == rt.rank();
      CHECK(x[k] == (!here ? 1 : k < 20 ? 3 : 2));
    }
    for (int r = 0; r < 3; ++r) { // each value went there once, and came back once
      auto const own = static_cast<std::uint64_t>(rt.rank() == 0 ? 14 : 13);
      auto const peers = static_cast<std::uint64_t>(r == 0 ? 14 : 13);
      CHECK(rt.sent_to(r).messages == (r == rt.rank()   ? 0
                                       : rt.rank() == 1 ? peers
                                       : r == 1         ? own
                                                        : 0));
    }
  });
  CHECK(thrown == std::vector<std::string>(3));
}

TEST_CASE("distributed: parts of a region travel alone, and after the join the whole does") {
  hs::LoopbackNetwork net(3);
  std::vector<hs::Traffic> before(3);
  std::vector<hs::Traffic> after(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    std::vector<std::uint64_t> x(100, 1);
    std::uint64_t seen = 0;
    auto const hx = rt.data(0, x.data(), x.size());
    auto const h_seen = rt.data(2, seen);
    auto const add_up = [&] {
      rt.spawn()(
          [](hs::VectorView<std::uint64_t const> all, std::uint64_t& sum) {
            for (std::size_t i = 0; i < all.size(); ++i) {
              sum += all[i];
            }
          },
          hs::read(hx),
          hs::read_write(h_seen));
    };
    add_up(); // rank 2 has a copy, which the partition ends
    auto parts = rt.partition(hx, hs::block_rows(40));
    REQUIRE(parts.size() == 3);
    CHECK(parts.rows() == 3);
    CHECK(parts.cols() == 1);
    CHECK(parts[2].rows() == 20);
    CHECK(parts[1].home() == 0);
    CHECK(parts(1, 0).number() == hx.number() + 3);
    rt.spawn(hs::on_rank(1))(
        [](hs::VectorView<std::uint64_t const> from, hs::VectorView<std::uint64_t> to) {
          for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] += 2 * from[i];
          }
        },
        hs::read(parts[0]),
        hs::read_write(parts[2]));
    rt.wait();
    before[static_cast<std::size_t>(rt.rank())] = rt.sent_to(rt.rank() == 0 ? 1 : 0);
    parts.join();
    add_up();
    rt.sync();
    after[static_cast<std::size_t>(rt.rank())] = rt.sent_to(rt.rank() == 0 ? 2 : 0);
    CHECK(x[90] == (rt.rank() == 0 ? 3 : 1));
    CHECK(seen == (rt.rank() == 2 ? 240 : 0));
  });
  CHECK(thrown == std::vector<std::string>(3));
  CHECK(before[0].messages == 2);
  CHECK(before[0].bytes == 8 * (40 + 20));
  CHECK(before[1].bytes == 8 * 20);
  CHECK(after[0].bytes == 2 * 800);
}

TEST_CASE("distributed: what tasks and ranks must not do with partitions") {
  hs::LoopbackNetwork net(2);
  auto thrown = on_ranks(net, [&](Runtime& rt) {
    std::vector<int> x(8, 0);
    int y = 0;
    auto const hx = rt.data(0, x.data(), x.size());
    auto const hy = rt.data(1, y);
    auto const use = [&](auto const& handle) {
      try {
        rt.spawn()([](hs::VectorView<int const>, int&) {}, hs::read(handle), hs::read_write(hy));
      } catch (hs::Error const& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    CHECK_THROWS_WITH((void)rt.partition(hx, hs::block_rows(0)),
                      "hetsched: datum 0: partition into blocks of no elements");
    hs::DistributedHandle<hs::VectorView<int>> part;
    {
      auto parts = rt.partition(hx, hs::block_rows(4));
      part = parts[1];
      CHECK(use(hx) == "hetsched: spawn: datum 0 is partitioned: use its parts, or join them");
      CHECK_THROWS_WITH((void)rt.partition(hx, hs::block_rows(4)),
                        "hetsched: partition: datum 0 is partitioned: use its parts, or join them");
      CHECK_THROWS_WITH((void)parts[2], "hetsched: partition: has no part [2]: it has 2 x 1");
      auto const inner = rt.partition(part, hs::block_rows(1));
      CHECK(use(inner[3]).empty());
      rt.join(parts); // and `inner`
      CHECK(use(inner[3]) == "hetsched: spawn: datum 7 is a part of what has been joined");
    }
    CHECK(use(part) == "hetsched: spawn: datum 3 is a part of what has been joined");
    CHECK(use(hx).empty());
    rt.sync();
  });
  CHECK(thrown == std::vector<std::string>(2));
  thrown = on_ranks(net, [&](Runtime& rt) {
    std::vector<int> x(8, 0);
    auto const hx = rt.data(0, x.data(), x.size());
    auto const parts = rt.partition(hx, hs::block_rows(rt.rank() == 0 ? 4 : 2));
    rt.sync();
  });
  for (auto const& what : thrown) {
    CHECK_MESSAGE(holds(what,
                        "rank 0 called partition(0, 4, 4294967295) as call 2 where rank 1 called "
                        "partition(0, 2, 4294967295)"),
                  what);
  }
}

TEST_CASE("distributed: lambdas") {
  hs::LoopbackNetwork net(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    int x = 2;
    std::vector<int> y(4, 1);
    auto const hx = rt.data(0, x);
    auto const hy = rt.data(1, y.data(), y.size());
    long sum = 0;
    auto const h_sum = rt.data(2, sum);
    rt.spawn()([](int const& a, hs::VectorView<int> b, int c) { b[3] = a + c; },
               hs::read(hx),
               hs::read_write(hy),
               40);
    rt.spawn(hs::on_rank(2), hs::label("double"), hs::priority(1))(
        [](hs::VectorView<int> b) { b[0] *= 2; }, hs::read_write(hy));
    for (int r = 0; r < 3; ++r) {
      rt.spawn(hs::on_rank(r))(
          [](hs::VectorView<int const> b, long& all) {
            for (std::size_t k = 0; k < b.size(); ++k) {
              all += b[k];
            }
          },
          hs::read(hy),
          hs::reduce<hs::Sum<long>>(h_sum));
    }
    CHECK(rt.value(h_sum) == 3 * 46);
    rt.sync();
  });
  CHECK(thrown == std::vector<std::string>(3));
}

TEST_CASE("distributed: the first call in which ranks differ is named on all of them") {
  for (int place : {0, 1, 57, 5000}) {
    CAPTURE(place);
    hs::LoopbackNetwork net(3, {.seed = 3, .head_delay = 2, .payload_delay = 2});
    auto const thrown = on_ranks(net, [&](Runtime& rt) {
      int x = 0;
      int y = 0;
      auto const hx = rt.data(1, x);
      auto const hy = rt.data(2, y);
      for (int k = 0; k < 6000; ++k) {
        if (k == place && rt.rank() == 2) {
          rt.spawn<Touch>()(hy, hx);
        } else {
          rt.spawn<Touch>()(hx, hy);
        }
      }
      rt.sync();
    });
    for (auto const& what : thrown) {
      CHECK_MESSAGE(
          holds(what,
                ("rank 0 spawned touch(0, 1) on rank 2 as call " + std::to_string(place + 3) +
                 " where rank 2 spawned touch(1, 0) on rank 1")
                    .c_str()),
          what);
    }
  }
}

TEST_CASE("distributed: fewer spawns, other registrations and other waits are named") {
  auto const differ = [](auto const& f) {
    hs::LoopbackNetwork net(2);
    return on_ranks(net, f);
  };
  for (auto const& what : differ([](Runtime& rt) {
         int x = 0;
         auto const hx = rt.data(0, x);
         for (int k = 0; k < 5 - rt.rank(); ++k) {
           rt.spawn<Touch>()(hx, hx);
         }
         rt.sync();
       })) {
    CHECK_MESSAGE(
        holds(what, "rank 0 spawned touch(0, 0) on rank 0 as call 6 where rank 1 called sync"),
        what);
  }
  for (auto const& what : differ([](Runtime& rt) {
         std::vector<int> x(static_cast<std::size_t>(3 + rt.rank()));
         auto const hx = rt.data(0, x.data(), x.size());
         rt.sync();
       })) {
    CHECK_MESSAGE(
        holds(what, "called data(0, 3, 1, 4, ...) as call 1 where rank 1 called data(0, 4,"), what);
  }
  for (auto const& what : differ([](Runtime& rt) {
         int x = 0;
         auto const hx = rt.data(0, x);
         if (rt.rank() == 0) {
           rt.sync();
         } else {
           (void)rt.value(hx);
         }
       })) {
    CHECK_MESSAGE(holds(what, "called sync as call 2 where rank 1 called value(0)"), what);
  }
}

TEST_CASE("distributed: a task that fails is told to all ranks, and the runtime goes on") {
  hs::LoopbackNetwork net(3);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    int x = 1;
    int y = 1;
    auto const hx = rt.data(1, x);
    auto const hy = rt.data(2, y);
    rt.spawn<Fails>()(hx);
    rt.spawn<Touch>()(hx, hy); // needs what does not exist
    std::string what;
    try {
      rt.sync();
    } catch (std::exception const& error) {
      what = error.what();
    }
    CHECK_MESSAGE(holds(what, "did not converge"), what);
    CHECK_MESSAGE(holds(what, "rank 1: a task failed there") == (rt.rank() != 1), what);
    if (rt.rank() == 1) {
      x = 10;
    }
    if (rt.rank() == 2) {
      y = 2;
    }
    rt.spawn<Touch>()(hx, hy);
    CHECK(rt.value(hy) == 16);
    rt.sync();
  });
  CHECK(thrown == std::vector<std::string>(3));
}

TEST_CASE("distributed: a rank that is gone is named by the others, and nobody waits for it") {
  for (std::uint64_t operation :
       {1, 2, 3, 5, 7, 9, 12, 16, 20, 26, 33, 42, 50, 60, 75, 100, 140, 180, 240, 300}) {
    CAPTURE(operation);
    hs::LoopbackNetwork net(3, {.seed = operation, .deaths = {{2, operation}}});
    auto const thrown = on_ranks(net, [&](Runtime& rt) {
      std::vector<int> x(3, 1);
      std::vector<hs::DistributedHandle<int>> h;
      for (int r = 0; r < 3; ++r) {
        h.push_back(rt.data(r, x[static_cast<std::size_t>(r)]));
      }
      for (;;) { // until somebody notices
        for (std::size_t k = 0; k < 12; ++k) {
          rt.spawn<Touch>()(h[k % 3], h[(k + 1) % 3]);
        }
        rt.sync();
      }
    });
    CHECK_MESSAGE(holds(thrown[0], "hetsched: rank 2: "), thrown[0]);
    CHECK_MESSAGE(holds(thrown[1], "hetsched: rank 2: "), thrown[1]);
    CHECK(thrown[2] != "");
  }
}

/// A rank's end that neither hears nor speaks once `silent` is set, as that of a stopped process.
class StoppedTransport {
public:
  static constexpr std::size_t max_head = 256;

  StoppedTransport(hs::LoopbackTransport to, std::atomic<int> const& silent)
      : to_(to), silent_(silent) {}

  [[nodiscard]] int rank() const { return to_.rank(); }

  [[nodiscard]] int ranks() const { return to_.ranks(); }

  void send(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    if (silent_ != rank()) {
      to_.send(to, head, payload, cookie);
    }
  }

  template <class I>
  bool poll(I& inbox) {
    return silent_ != rank() && to_.poll(inbox);
  }

  [[nodiscard]] hs::KeptMessages& kept() { return to_.kept(); }

  void abort(std::string_view line) { to_.abort(line); }

private:
  hs::LoopbackTransport to_;
  std::atomic<int> const& silent_;
};

TEST_CASE("distributed: a silent rank is named, and one in a long body is not silent") {
  for (int silent : {0, 2}) {
    CAPTURE(silent);
    hs::LoopbackNetwork net(3);
    std::atomic<int> stopped = -1;
    auto const thrown = ::on_ranks::each(3, [&](int rank) {
      StoppedTransport transport(net.transport(rank), stopped);
      RuntimeOn<StoppedTransport> rt(transport, {.cpus = 1, .devices = "none"}, {500'000'000});
      int x = 0;
      auto const hx = rt.data(1, x);
      rt.node().spawn()([] {
        hs::detail::pause_for(900'000'000);
        hs::detail::pause_for(100'000'000);
      });
      rt.sync();
      stopped = silent;
      rt.spawn<Touch>(hs::on_rank(2))(hx, hx);
      rt.sync();
    });
    for (int r = 0; r < 3; ++r) {
      auto const& what = thrown[static_cast<std::size_t>(r)];
      auto const other = silent == r ? std::string("rank ") : "rank " + std::to_string(silent);
      CHECK_MESSAGE(holds(what, ("hetsched: " + other).c_str()), what);
      CHECK_MESSAGE(holds(what, "has said nothing for"), what);
    }
  }
}

TEST_CASE("distributed: wrong calls are refused") {
  hs::LoopbackNetwork net(2);
  auto const thrown = on_ranks(net, [&](Runtime& rt) {
    int x = 0;
    auto const hx = rt.data(0, x);
    CHECK_THROWS_WITH((void)rt.data(2, x), "hetsched: data: there is no rank 2, only 0 to 1");
    CHECK_THROWS_WITH(rt.spawn<Touch>(hs::on_rank(7))(hx, hx),
                      "hetsched: spawn: there is no rank 7, only 0 to 1");
    CHECK_THROWS_WITH(rt.spawn<Touch>()(hs::DistributedHandle<int>(), hx),
                      "hetsched: handle: is empty");
    rt.keep_copies(10);
    rt.keep_copies(9);
    CHECK_THROWS_WITH(
        rt.keep_copies(10),
        "hetsched: keep_copies: 10 calls, after 9: what was given up by that is gone");
    CHECK_THROWS_WITH((void)rt.sent_to(-1), "hetsched: sent_to: there is no rank -1, only 0 to 1");
    std::string what;
    rt.node().spawn()([&] {
      try {
        rt.spawn<Touch>()(hx, hx);
      } catch (hs::Error const& error) {
        what = error.what();
      }
    });
    rt.wait();
    CHECK_MESSAGE(holds(what, "not allowed inside a body"), what);
    rt.sync();
  });
  CHECK(thrown == std::vector<std::string>(2));
}

} // namespace distributed_test
