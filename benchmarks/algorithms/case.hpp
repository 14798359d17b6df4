// SPDX-License-Identifier: MIT
#pragma once
// What an algorithm is compared on.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace algorithms_benchmark {

using Vector = std::vector<double>;

struct Data {
  Vector x, y, source;
  double sum = 0;
  std::uint64_t in_order = 0; // of numbers, changed by their order
};

struct Peer {
  char const* library;
  std::function<void(Data&)> run;
};

struct Case {
  char const* name;
  std::vector<Peer> peers; // the first is one thread, the second hetsched
  std::function<void(Data&)> prepare;
  std::function<bool(Data const&)> is_right;
  std::size_t weight = 1; // of an element, in the time of an addition or so
};

} // namespace algorithms_benchmark
