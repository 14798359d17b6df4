// SPDX-License-Identifier: MIT
#pragma once
// The scenarios of the kit for one-sided transports with patches. All ranks call each, with the
// same arguments.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/testing/rma_driver.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::testing::detail {

inline constexpr std::array all_elements{
    WindowElement::byte, WindowElement::word, WindowElement::f32, WindowElement::f64};

/// A window in one scenario. Nothing is freed after a finding, because that would wait.
class TestWindow {
public:
  TestWindow(RmaDriver& rank, WindowElement element, std::size_t elements) : rank_(rank) {
    rank.guarded("allocate", [&] { window_ = rank.subject().allocate(element, elements); });
  }

  TestWindow(TestWindow const&) = delete;
  TestWindow& operator=(TestWindow const&) = delete;

  ~TestWindow() {
    rank_.guarded("free", [&] { rank_.subject().free(window_); });
  }

  operator Window() const noexcept { return window_; } // NOLINT: it is one

  /// This rank's element.
  [[nodiscard]] std::byte* at(WindowElement element, std::size_t k) const {
    return static_cast<std::byte*>(rank_.subject().memory(window_)) + k * size_of(element);
  }

private:
  RmaDriver& rank_;
  Window window_;
};

/// Parts of different sizes, also none, twice.
inline void sizes(RmaDriver& rank) {
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  for (int round = 0; round < 2; ++round) {
    for (auto const element : all_elements) {
      auto const size = [&](int of) { return static_cast<std::size_t>(of * (7 + round)); };
      TestWindow const window(rank, element, size(rank.rank()));
      for (int of = 0; of < rank.ranks() && !rank.spoiled(); ++of) {
        rank.check(rank.subject().elements(window, of) == size(of),
                   RmaRule::window,
                   hetsched::detail::text("the part of rank %d has another size", of));
      }
      for (std::size_t k = 0; k < size(rank.rank()) && !rank.spoiled(); ++k) {
        rank.check(load(element, window.at(element, k)) == 0,
                   RmaRule::window,
                   hetsched::detail::text("element %zu of a new part is not 0", k));
        store(element, window.at(element, k), 77);
      }
      rank.meet(meeting);
    }
  }
}

inline constexpr std::size_t side = 8; // of the square that a rank has in each part

/// A patch within rank `writer`'s square of a part.
struct DrawnPatch {
  WindowPatch patch;
  std::size_t stride; // in memory
  std::int64_t value; // of the patch's first element; the others follow

  static DrawnPatch draw(Dice& dice, int ranks, std::size_t square) {
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(dice.below(n)); };
    auto const row = below(side);
    auto const column = below(side);
    WindowPatch const patch{.rank = static_cast<int>(below(static_cast<std::size_t>(ranks))),
                            .first = square * side * side + row * side + column,
                            .columns = below(side - column + 1), // now and then none
                            .rows = 1 + below(side - row),
                            .stride = side};
    auto const stride = patch.columns + below(3);
    return {patch, std::max<std::size_t>(stride, 1), static_cast<std::int64_t>(below(1000))};
  }

  /// What is given to put or accumulate.
  [[nodiscard]] std::vector<std::byte> elements(WindowElement element) const {
    std::vector<std::byte> here(patch.rows * stride * size_of(element) + 8);
    each([&](std::size_t, std::size_t in_memory, std::int64_t it) {
      store(element, here.data() + in_memory * size_of(element), it);
    });
    return here;
  }

  /// f(index in the part, index in memory, value).
  template <class F>
  void each(F&& f) const {
    auto it = value;
    for (std::size_t r = 0; r < patch.rows; ++r) {
      for (std::size_t c = 0; c < patch.columns; ++c) {
        f(patch.first + r * patch.stride + c, r * stride + c, it++);
      }
    }
  }
};

/// What all parts of a window should hold: values of elements, by rank.
using Mirror = std::vector<std::vector<std::int64_t>>;

inline Mirror mirror(int ranks, std::size_t elements) {
  return Mirror(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(elements));
}

inline std::int64_t seen(WindowElement element, std::int64_t value) {
  return element == WindowElement::byte ? value & 255 : value;
}

/// What an element is that was read too late.
inline std::int64_t used_as(WindowElement element) {
  std::array<std::byte, sizeof(std::int64_t)> bytes{};
  bytes.fill(used);
  return load(element, bytes.data());
}

/// Gets a square of each part, and this rank's own part from memory.
inline void compare(RmaDriver& rank,
                    WindowElement element,
                    TestWindow const& window,
                    Mirror const& expected,
                    std::size_t square,
                    RmaRule rule) {
  constexpr std::size_t stride = side + 3; // what is between the rows must stay
  constexpr std::int64_t mark = 99;
  auto const size = size_of(element);
  std::vector<std::vector<std::byte>> all;
  for (int of = 0; of < rank.ranks(); ++of) {
    auto& here = all.emplace_back(side * stride * size);
    for (std::size_t k = 0; k < side * stride; ++k) {
      store(element, here.data() + k * size, mark);
    }
    rank.get(
        window,
        {.rank = of, .first = square * side * side, .columns = side, .rows = side, .stride = side},
        here.data(),
        stride);
  }
  rank.finish();
  for (int of = 0; of < rank.ranks() && !rank.spoiled(); ++of) {
    for (std::size_t k = 0; k < side * stride; ++k) {
      auto const r = k / stride;
      auto const c = k % stride;
      auto const got = load(element, all[static_cast<std::size_t>(of)].data() + k * size);
      auto const should =
          c >= side ? mark
                    : seen(element,
                           expected[static_cast<std::size_t>(of)][(square * side + r) * side + c]);
      rank.check(got == should,
                 got == used_as(element) ? RmaRule::reused
                 : c >= side             ? RmaRule::copied
                                         : rule,
                 hetsched::detail::text("get of %s gave %lld instead of %lld",
                                        name_of(element),
                                        static_cast<long long>(got),
                                        static_cast<long long>(should)));
    }
  }
  auto const& own = expected[static_cast<std::size_t>(rank.rank())];
  for (std::size_t k = 0; k < own.size() && !rank.spoiled(); ++k) {
    auto const got = load(element, window.at(element, k));
    rank.check(got == seen(element, own[k]),
               got == used_as(element) ? RmaRule::reused : rule,
               hetsched::detail::text("element %zu of the rank's %s is %lld instead of %lld",
                                      k,
                                      name_of(element),
                                      static_cast<long long>(got),
                                      static_cast<long long>(own[k])));
  }
}

/// What rank `writer` puts in one round: one patch on each rank, so that none meet.
inline std::vector<DrawnPatch> draw_puts(Dice& dice, int ranks, int writer) {
  std::vector<DrawnPatch> puts;
  for (int to = 0; to < ranks; ++to) {
    auto& put = puts.emplace_back(DrawnPatch::draw(dice, ranks, static_cast<std::size_t>(writer)));
    put.patch.rank = to;
  }
  return puts;
}

inline Dice dice_of(std::uint64_t seed, int rank) {
  return Dice(seed * 1000 + static_cast<std::uint64_t>(rank));
}

/// Each rank puts patches into a square of its own in each part.
inline void puts_and_gets(RmaDriver& rank, std::uint64_t seed, WindowElement element, int rounds) {
  auto const ranks = rank.ranks();
  auto const part = static_cast<std::size_t>(ranks) * side * side;
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const window(rank, element, part);
  auto expected = mirror(ranks, part);
  auto own = dice_of(seed, rank.rank());
  for (int round = 0; round < rounds && !rank.spoiled(); ++round) {
    for (auto const& put : draw_puts(own, ranks, rank.rank())) {
      rank.give(false, window, put.patch, put.elements(element), put.stride);
    }
    rank.finish();
  }
  for (int writer = 0; writer < ranks; ++writer) {
    auto dice = dice_of(seed, writer);
    for (int round = 0; round < rounds; ++round) {
      for (auto const& put : draw_puts(dice, ranks, writer)) {
        put.each([&](std::size_t k, std::size_t, std::int64_t value) {
          expected[static_cast<std::size_t>(put.patch.rank)][k] = value;
        });
      }
    }
  }
  rank.meet(meeting);
  auto const next = static_cast<std::size_t>((rank.rank() + 1) % ranks);
  compare(rank, element, window, expected, next, RmaRule::copied);
  rank.meet(meeting);
}

/// All ranks add to the same squares, many at a time.
inline void sums(RmaDriver& rank, std::uint64_t seed, WindowElement element, int operations) {
  auto const ranks = rank.ranks();
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const window(rank, element, side * side);
  auto expected = mirror(ranks, side * side);
  for (int writer = 0; writer < ranks; ++writer) {
    auto dice = dice_of(seed, writer);
    for (int k = 0; k < operations && !rank.spoiled(); ++k) {
      auto const term = DrawnPatch::draw(dice, ranks, 0);
      term.each([&](std::size_t at, std::size_t, std::int64_t value) {
        expected[static_cast<std::size_t>(term.patch.rank)][at] += value;
      });
      if (writer == rank.rank()) {
        rank.give(true, window, term.patch, term.elements(element), term.stride);
        if (dice_of(seed, k).chance(30)) {
          rank.poll();
        }
      }
    }
  }
  rank.meet(meeting);
  compare(rank, element, window, expected, 0, RmaRule::sum);
  rank.meet(meeting);
}

/// A megabyte, to the next rank and back.
inline void large(RmaDriver& rank) {
  constexpr std::size_t elements = 131072;
  TestWindow const meeting(rank, WindowElement::word, rank.rank() == 0 ? 1 : 0);
  TestWindow const window(rank, WindowElement::f64, elements);
  auto const next = (rank.rank() + 1) % rank.ranks();
  DrawnPatch const whole{
      {.rank = next, .columns = elements}, elements, 1000 * std::int64_t{rank.rank()}};
  rank.give(false, window, whole.patch, whole.elements(WindowElement::f64), elements);
  rank.finish();
  rank.give(true, window, whole.patch, whole.elements(WindowElement::f64), elements);
  rank.finish();
  std::vector<std::byte> back(elements * sizeof(double));
  rank.get(window, whole.patch, back.data(), elements);
  rank.finish();
  whole.each([&](std::size_t k, std::size_t, std::int64_t value) {
    if (!rank.spoiled()) {
      rank.check(load(WindowElement::f64, back.data() + k * sizeof(double)) == 2 * value,
                 RmaRule::copied,
                 hetsched::detail::text("element %zu of a megabyte is another", k));
    }
  });
  rank.meet(meeting);
}

} // namespace hetsched::testing::detail
