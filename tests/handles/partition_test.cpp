// SPDX-License-Identifier: MIT
// Regions in parts.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::message_of;
using support::on_cpus;

namespace partition_test {

using Vector = hs::VectorView<int>;
using Tile = hs::TileView<int>;

/// Not commutative, so that it shows in which order tasks ran.
struct DoubleAndAdd {
  void operator()(Vector v, int amount) const {
    for (auto& element : v) {
      element = 2 * element + amount;
    }
  }
};

struct Fill {
  void operator()(Vector v, int value) const { std::fill(v.begin(), v.end(), value); }
};

struct Sum {
  void operator()(hs::VectorView<int const> v, int& sum) const {
    sum = std::accumulate(v.begin(), v.end(), 0);
  }
};

[[noreturn]] void fail(Vector /*v*/) {
  throw std::runtime_error("part");
}

TEST_SUITE_BEGIN("partition");

TEST_CASE("partition: block rows of a vector, the last one ragged") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v(10);
  auto const hv = rt.data(v);
  auto const parts = rt.partition(hv, hs::block_rows(4));

  REQUIRE(parts.size() == 3);
  CHECK(parts.rows() == 3);
  CHECK(parts.cols() == 1);
  CHECK(parts[0].rows() == 4);
  CHECK(parts[2].rows() == 2);
  CHECK(parts(1, 0) == parts[1]);
  for (std::size_t k = 0; k < 3; ++k) {
    rt.spawn()(Fill{}, hs::write(parts[k]), static_cast<int>(k) + 1);
  }
  rt.sync();
  CHECK(v == std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3});
}

TEST_CASE("partition: tiles of a tile, numbered down the columns, with its leading dimension") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> memory(4 * 5, -1); // 3 x 5, leading dimension 4
  auto const whole = rt.data(memory.data(), 3, 5, 4);
  auto const parts = rt.partition(whole, hs::tiles(2, 3));

  REQUIRE(parts.size() == 4);
  CHECK(parts.rows() == 2);
  CHECK(parts.cols() == 2);
  CHECK(parts(1, 1).rows() == 1);
  CHECK(parts(1, 1).cols() == 2);
  CHECK(parts(1, 0) == parts[1]);
  CHECK(parts(0, 1) == parts[2]);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    rt.spawn()(
        [](Tile t, int value) {
          for (std::size_t j = 0; j < t.cols(); ++j) {
            for (std::size_t i = 0; i < t.rows(); ++i) {
              t(i, j) = value;
            }
          }
        },
        hs::write(parts[k]),
        static_cast<int>(k));
  }
  rt.sync();
  CHECK(memory ==
        std::vector<int>{0, 0, 1, -1, 0, 0, 1, -1, 0, 0, 1, -1, 2, 2, 3, -1, 2, 2, 3, -1});
}

TEST_CASE("partition: blocks larger than the region, and a region of nothing") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v(3), none;
  auto const hv = rt.data(v), hnone = rt.data(none);

  auto const one = rt.partition(hv, hs::block_rows(100));
  CHECK(one.size() == 1);
  CHECK(one[0].rows() == 3);
  auto const empty = rt.partition(hnone, hs::block_rows(4));
  CHECK(empty.size() == 1);
  CHECK(empty[0].rows() == 0);
  CHECK(code_of([&] { (void)rt.partition(hv, hs::block_rows(0)); }) == hs::ErrorCode::bad_data);
  CHECK(code_of([&] { (void)rt.partition(hv, hs::tiles(1, 0)); }) == hs::ErrorCode::bad_data);
}

TEST_CASE("partition: cuts of a vector") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(10);
  auto const hv = rt.data(v);
  {
    auto const parts = rt.partition(hv, hs::cuts({1, 7, 9}));
    REQUIRE(parts.size() == 4);
    CHECK(parts.rows() == 4);
    CHECK(parts.cols() == 1);
    for (std::size_t k = 0; k < 4; ++k) {
      rt.spawn()(Fill{}, hs::write(parts[k]), static_cast<int>(k) + 1);
    }
  }
  int sum = 0;
  auto const hsum = rt.data(sum);
  rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));
  rt.sync();
  CHECK(v == std::vector<int>{1, 2, 2, 2, 2, 2, 2, 3, 3, 4});
  CHECK(sum == 23);
}

TEST_CASE("partition: cuts of a tile, numbered down the columns, and of a part") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> memory(4 * 5, -1); // 3 x 5, leading dimension 4
  auto const whole = rt.data(memory.data(), 3, 5, 4);
  auto const fill = [](Tile t, int value) {
    for (std::size_t j = 0; j < t.cols(); ++j) {
      for (std::size_t i = 0; i < t.rows(); ++i) {
        t(i, j) = value;
      }
    }
  };
  auto parts = rt.partition(whole, hs::cuts({1}, {1, 4}));
  REQUIRE(parts.size() == 6);
  CHECK(parts.rows() == 2);
  CHECK(parts.cols() == 3);
  CHECK(parts(1, 0) == parts[1]);
  CHECK(parts(0, 1) == parts[2]);
  CHECK(parts(1, 1).rows() == 2);
  CHECK(parts(1, 1).cols() == 3);
  CHECK(parts(0, 2).rows() == 1);
  CHECK(parts(0, 2).cols() == 1);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    rt.spawn()(fill, hs::write(parts[k]), static_cast<int>(k));
  }
  auto const inner = rt.partition(parts(1, 1), hs::cuts({}, {2})); // rows are left whole
  REQUIRE(inner.size() == 2);
  CHECK(inner.rows() == 1);
  rt.spawn()(fill, hs::write(inner(0, 1)), 9);
  rt.join(parts); // and the inner one
  rt.spawn()([](Tile t) { t(0, 0) += 7; }, hs::read_write(whole));
  rt.sync();
  CHECK(memory ==
        std::vector<int>{7, 1, 1, -1, 2, 3, 3, -1, 2, 3, 3, -1, 2, 9, 9, -1, 4, 5, 5, -1});
}

TEST_CASE("partition: no cuts, and cuts that name the datum when they are wrong") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v(10), none;
  auto const hv = rt.data(v), hnone = rt.data(none);
  CHECK(rt.partition(hv, hs::cuts({})).size() == 1);
  CHECK(rt.partition(hnone, hs::cuts({})).size() == 1);

  auto const refused = [&](auto const& handle, hs::Cuts const& cuts, std::string const& end) {
    auto const error = error_of([&] { (void)rt.partition(handle, cuts); });
    REQUIRE(error.has_value());
    CHECK(error->code() == hs::ErrorCode::bad_data);
    std::string const message = error->what();
    INFO(message);
    CHECK(message.find("10 x 1") != std::string::npos);
    CHECK(message.find(end) == message.size() - end.size());
  };
  std::string const inside = ": it has 10, and cuts lie between 0 and that number";
  refused(hv, hs::cuts({0}), "partition with a cut at row 0" + inside);
  refused(hv, hs::cuts({3, 10}), "partition with a cut at row 10" + inside);
  refused(hv, hs::cuts({3, 11}), "partition with a cut at row 11" + inside);
  refused(hv, hs::cuts({5, 4}), "partition with a cut at row 4 after one at 5: cuts must ascend");
  refused(hv, hs::cuts({5, 5}), "partition with a cut at row 5 after one at 5: cuts must ascend");
  refused(hv,
          hs::cuts({5}, {1}),
          "partition with a cut at column 1: it has 1, and cuts lie between 0 and that number");
  CHECK(code_of([&] { (void)rt.partition(hnone, hs::cuts({1})); }) == hs::ErrorCode::bad_data);
  rt.spawn()(Fill{}, hs::write(hv), 1); // it is whole still
  rt.sync();
  CHECK(v == std::vector<int>(10, 1));
}

//   fill whole --> parts, twice each --> whole --> parts again --> sum of the whole
TEST_CASE_TEMPLATE("partition: whole and parts keep program order, with no wait between",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  for (int round = 0; round < 20; ++round) {
    std::vector<int> v(7, 0);
    int sum = 0;
    auto const hv = rt.data(v);
    auto const hsum = rt.data(sum);
    rt.spawn()(Fill{}, hs::write(hv), 1);
    for (int pass = 0; pass < 2; ++pass) {
      auto parts = rt.partition(hv, hs::block_rows(2 + static_cast<std::size_t>(pass)));
      for (int twice = 0; twice < 2; ++twice) {
        for (std::size_t k = 0; k < parts.size(); ++k) {
          rt.spawn()(DoubleAndAdd{}, hs::read_write(parts[k]), twice);
        }
      }
      rt.join(parts);
      rt.join(parts); // the second time without effect
      rt.spawn()(DoubleAndAdd{}, hs::read_write(hv), 3);
    }
    rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));
    rt.sync();
    // 1 -> 2 -> 5 -> 13 -> 26 -> 53 -> 109
    REQUIRE(v == std::vector<int>(7, 109));
    REQUIRE(sum == 7 * 109);
  }
}

TEST_CASE_TEMPLATE("partition: tasks on different parts run at the same time",
                   Scheduler,
                   HETSCHED_BALANCING_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  std::vector<int> v(2);
  auto const hv = rt.data(v);
  auto const parts = rt.partition(hv, hs::block_rows(1));
  support::Meeting meeting(2);
  for (std::size_t k = 0; k < 2; ++k) {
    rt.spawn()([&](Vector mine) { mine[0] = meeting.meet() ? 1 : 0; }, hs::write(parts[k]));
  }
  rt.sync();
  CHECK(v == std::vector<int>{1, 1});
}

TEST_CASE("partition: parts can be partitioned again, and joined inside out") {
  hs::Runtime<> rt(on_cpus(3));
  std::vector<int> v(8, 1);
  int sum = 0;
  auto const hv = rt.data(v);
  auto const hsum = rt.data(sum);

  auto halves = rt.partition(hv, hs::block_rows(4));
  {
    auto quarters = rt.partition(halves[0], hs::block_rows(2));
    rt.spawn()(DoubleAndAdd{}, hs::read_write(quarters[0]), 1);
    rt.spawn()(DoubleAndAdd{}, hs::read_write(quarters[1]), 2);
    CHECK(code_of([&] { rt.spawn()(Fill{}, hs::write(halves[0]), 0); }) ==
          hs::ErrorCode::bad_access);
  } // the destructor joins
  rt.spawn()(DoubleAndAdd{}, hs::read_write(halves[0]), 3);
  rt.spawn()(DoubleAndAdd{}, hs::read_write(halves[1]), 4);
  rt.join(halves);
  rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));
  rt.sync();

  CHECK(v == std::vector<int>{9, 9, 11, 11, 6, 6, 6, 6});
  CHECK(sum == 64);
}

TEST_CASE("partition: the join of a whole joins what its parts were cut into") {
  for (bool const joins : {false, true}) {
    hs::Runtime<> rt(on_cpus(2));
    std::vector<int> v(8, 1);
    auto const hv = rt.data(v);
    {
      std::vector<hs::Partition<Vector>> all; // a vector destroys the first element first
      all.push_back(rt.partition(hv, hs::block_rows(4)));
      all.push_back(rt.partition(all[0][0], hs::block_rows(2)));
      all.push_back(rt.partition(all[1][1], hs::block_rows(1)));
      rt.spawn()(DoubleAndAdd{}, hs::read_write(all[2][0]), 5);
      if (joins) {
        rt.join(all[0]);
        CHECK(code_of([&] { rt.spawn()(Fill{}, hs::write(all[2][0]), 0); }) ==
              hs::ErrorCode::bad_access);
        rt.spawn()(DoubleAndAdd{}, hs::read_write(hv), 0);
        rt.sync();
        CHECK(v == std::vector<int>{2, 2, 14, 2, 2, 2, 2, 2});
        rt.join(all[2]); // without effect
      }
    }
    rt.spawn()(DoubleAndAdd{}, hs::read_write(hv), 1);
    rt.sync();
    CHECK(v[2] == (joins ? 29 : 15));
    CHECK(v[3] == (joins ? 5 : 3));
  }
}

TEST_CASE("partition: as many in a row as the program likes, without a task between them") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v(4);
  auto const hv = rt.data(v);
  rt.spawn()(Fill{}, hs::write(hv), 1); // while it waits, all others do
  for (int k = 0; k < 20000; ++k) {
    auto parts = rt.partition(hv, hs::block_rows(2));
    rt.join(parts);
  }
  rt.spawn()(DoubleAndAdd{}, hs::read_write(hv), 1);
  rt.sync();
  CHECK(v == std::vector<int>(4, 3));
}

TEST_CASE("partition: of parts of parts as deep as the program likes") {
  hs::Runtime<> rt(on_cpus(1));
  std::vector<int> v(4);
  std::vector<hs::Partition<Vector>> all;
  {
    auto const hv = rt.data(v);
    rt.spawn()(Fill{}, hs::write(hv), 1);
    all.push_back(rt.partition(hv, hs::block_rows(4)));
  }
#ifdef __SANITIZE_THREAD__ // the outermost goes first and looks for the innermost each time
  int const levels = 2000;
#else
  int const levels = 20000;
#endif
  for (int k = 0; k < levels; ++k) {
    all.push_back(rt.partition(all.back()[0], hs::block_rows(4)));
  }
  rt.spawn()(DoubleAndAdd{}, hs::read_write(all.back()[0]), 1);
  rt.sync();
  CHECK(v == std::vector<int>(4, 3));
}

TEST_CASE("partition: naming the whole meanwhile, or a part afterwards, is an error that says so") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4);
  auto hv = rt.data(v);
  hv.named("pressure");
  auto parts = rt.partition(hv, hs::block_rows(2));
  auto const part = parts[0];

  for (auto const& error : {error_of([&] { rt.spawn()(Fill{}, hs::write(hv), 0); }),
                            error_of([&] { rt.sync(hv); }),
                            error_of([&] { (void)rt.partition(hv, hs::block_rows(1)); })}) {
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_access);
    CHECK(error->culprit() == "data 'pressure'");
    CHECK(std::string(error->what()).find("is partitioned") != std::string::npos);
  }

  rt.join(parts);
  auto const error = error_of([&] { rt.spawn()(Fill{}, hs::write(part), 0); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_access);
  CHECK(std::string(error->what()).find("joined") != std::string::npos);
  CHECK(code_of([&] { (void)rt.partition(part, hs::block_rows(1)); }) == hs::ErrorCode::bad_access);

  rt.spawn()(Fill{}, hs::write(hv), 5); // all is well with the whole
  rt.sync();
  CHECK(v == std::vector<int>(4, 5));
}

TEST_CASE("partition: contributions to parts arrive before the join") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4, 1);
  int sum = 0;
  auto const hv = rt.data(v);
  auto const hsum = rt.data(sum);
  auto parts = rt.partition(hv, hs::block_rows(2));
  for (int k = 0; k < 10; ++k) {
    rt.spawn()([](Vector mine) { mine[1] += 1; }, hs::reduce<hs::Sum<int>>(parts[k % 2]));
  }
  rt.join(parts);
  rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));
  rt.sync();
  CHECK(v == std::vector<int>{1, 6, 1, 6});
  CHECK(sum == 14);
}

TEST_CASE("partition: parts with contributions may go while the body that made them ends") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(4));
  std::vector<int> v(8);
  auto const hv = rt.data(v);
  constexpr int rounds = 500;
  for (int k = 0; k < rounds; ++k) {
    rt.spawn()(
        [](Rt& inner, hs::Handle<Vector> const& whole) {
          auto parts = inner.partition(whole, hs::block_rows(4));
          for (std::size_t p = 0; p < parts.size(); ++p) {
            inner.spawn()([](Vector part) { ++part[0]; }, hs::reduce<hs::Sum<int>>(parts[p]));
          }
          inner.join(parts);
        },
        hs::read_write(hv));
  }
  rt.sync();
  CHECK(v[0] == rounds);
  CHECK(v[4] == rounds);
}

TEST_CASE("partition: sync on a part waits for that one") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4);
  auto const hv = rt.data(v);
  auto const parts = rt.partition(hv, hs::block_rows(2));

  rt.spawn()(Fill{}, hs::write(parts[1]), 8);
  rt.sync(parts[1]);
  CHECK(v[3] == 8);
}

TEST_CASE("partition: a failure on a part makes the whole unusable, on the whole every part") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4, 1);
  int sum = -1;
  auto const hv = rt.data(v);
  auto const hsum = rt.data(sum);
  {
    auto parts = rt.partition(hv, hs::block_rows(2));
    rt.spawn()(fail, hs::read_write(parts[0]));
    rt.spawn()(Fill{}, hs::write(parts[1]), 2); // runs
  }
  rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));
  CHECK(message_of([&] { rt.sync(); }) == "part");
  CHECK(sum == -1);
  CHECK(v == std::vector<int>{1, 1, 2, 2});

  rt.spawn()(fail, hs::read_write(hv));
  auto parts = rt.partition(hv, hs::block_rows(2));
  rt.spawn()(Sum{}, hs::read(parts[1]), hs::write(hsum));
  CHECK(message_of([&] { rt.sync(); }) == "part");
  CHECK(sum == -1);
}

TEST_CASE("partition: overwriting every part makes the whole good again") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4, 1);
  int sum = -1;
  auto const hv = rt.data(v);
  auto const hsum = rt.data(sum);

  rt.spawn()(fail, hs::read_write(hv));
  {
    auto parts = rt.partition(hv, hs::block_rows(2));
    rt.spawn()(Fill{}, hs::write(parts[0]), 2);
    rt.spawn()(Fill{}, hs::write(parts[1]), 3);
  }
  rt.spawn()(Sum{}, hs::read(hv), hs::write(hsum));

  CHECK(message_of([&] { rt.sync(); }) == "part");
  CHECK(sum == 10);
}

TEST_CASE("partition: a part that is not there is an error that says so") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(10);
  auto const parts = rt.partition(rt.data(v), hs::block_rows(1));
  CHECK(message_of([&] { rt.spawn()(Fill{}, hs::write(parts[10]), 1); }) ==
        "hetsched: partition: has no part [10]: it has 10 x 1");
  for (auto const& part : {std::pair<std::size_t, std::size_t>{10, 0}, {0, 1}}) {
    CHECK(message_of([&] { (void)parts(part.first, part.second); }) ==
          "hetsched: partition: has no part (" + std::to_string(part.first) + ", " +
              std::to_string(part.second) + "): it has 10 x 1");
  }
  CHECK(error_of([] { (void)hs::Partition<Vector>()[0]; })->code() == hs::ErrorCode::bad_call);
}

TEST_CASE("partition: a partition may be moved") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4);
  auto const hv = rt.data(v);
  hs::Partition<Vector> parts;
  CHECK(parts.size() == 0);
  CHECK(parts.cols() == 0);
  {
    auto made = rt.partition(hv, hs::block_rows(2));
    parts = std::move(made);
  }
  rt.spawn()(Fill{}, hs::write(parts[0]), 1); // not joined by the end of `made`
  hs::Partition<Vector> const last(std::move(parts));
  rt.spawn()(Fill{}, hs::write(last[1]), 2);
  rt.sync();
  CHECK(v == std::vector<int>{1, 1, 2, 2});
}

TEST_SUITE_END();

} // namespace partition_test
