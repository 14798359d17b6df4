// SPDX-License-Identifier: MIT
// Data of one's own types: a struct as elements of a vector, a map as one datum, and a reduction by
// an operator of one's own.
//
// Expected output:
//   box (-3, 0) to (8, 5), of 6 points
//   apples 3, pears 2

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace hs = hetsched;

struct Point {
  int x, y;
};

struct Box {
  Point low{1000, 1000};
  Point high{-1000, -1000};
  int points = 0;
};

/// What a reduction needs: an element that changes nothing, and how to combine two.
struct Around {
  static Box neutral() { return {}; }

  static Box combine(Box a, Box b) {
    return {{std::min(a.low.x, b.low.x), std::min(a.low.y, b.low.y)},
            {std::max(a.high.x, b.high.x), std::max(a.high.y, b.high.y)},
            a.points + b.points};
  }
};

struct Enclose : hs::Task<2>::Signature<hs::R<hs::VectorView<Point>>, hs::CW<Box, Around>> {
  static void cpu(hs::VectorView<Point const> points, Box& box) {
    for (auto const& point : points) {
      box = Around::combine(box, {point, point, 1});
    }
  }
};

int main() {
  std::vector<Point> points{{1, 2}, {-3, 4}, {8, 0}, {2, 2}, {0, 5}, {7, 1}};
  Box box;
  std::map<std::string, int> stock; // one datum, whatever it points to
  hs::Runtime<> rt;
  auto const all = rt.data(points);
  auto const around = rt.data(box);
  auto const shelf = rt.data(stock);
  {
    auto const halves = rt.partition(all, hs::block_rows(3));
    rt.spawn<Enclose>()(halves[0], around);
    rt.spawn<Enclose>()(halves[1], around);
  }
  for (auto const* const fruit : {"apples", "pears", "apples", "pears", "apples"}) {
    // In any order, one at a time. The name is copied into the task.
    rt.spawn()([](std::map<std::string, int>& its, std::string const& name) { ++its[name]; },
               hs::commute(shelf),
               std::string(fruit));
  }
  rt.sync();
  std::printf("box (%d, %d) to (%d, %d), of %d points\n",
              box.low.x,
              box.low.y,
              box.high.x,
              box.high.y,
              box.points);
  std::printf("apples %d, pears %d\n", stock["apples"], stock["pears"]);
}
