// SPDX-License-Identifier: MIT
// Results of tasks that other tasks take before they exist. The program waits for the last only.
//
//   count "a"   count "e"   count "o"
//          \        |        /
//              most frequent
//
// Expected output:
//   the vowel e occurs 9 times

#include <hetsched/futures.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

namespace hs = hetsched;

struct Count {
  char letter;
  long times;
};

int main() {
  std::string const text = "these tasks are the nodes of a graph and their data the edges";
  hs::Runtime<> rt;
  auto const count = [&text](char letter) {
    return Count{letter, std::count(text.begin(), text.end(), letter)};
  };
  auto const a = rt.async(count, 'a'); // returns at once: the result is a datum
  auto const e = rt.async(count, 'e');
  auto const o = rt.async(count, 'o');
  auto const most = rt.async( // runs after the three
      [](auto const&... all) {
        return std::max({all...}, [](Count x, Count y) { return x.times < y.times; });
      },
      a,
      e,
      o);
  std::printf("the vowel %c occurs %ld times\n", most.get().letter, most.get().times);
}
