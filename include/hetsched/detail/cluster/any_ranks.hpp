// SPDX-License-Identifier: MIT
#pragma once
// Algorithms that run on one rank and on several.

#include <hetsched/cluster/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// A DistributedRuntime, not a Runtime.
template <class Rt>
concept several_ranks = requires(Rt& rt) { rt.ranks(); };

/// Where a datum is at home, which rank this is, and how many there are. A Runtime is rank 0 of 1.
template <class Tile>
[[nodiscard]] std::int32_t home_of(Tile const& tile) noexcept {
  if constexpr (requires { tile.home(); }) {
    return tile.home();
  } else {
    return 0;
  }
}

template <class Rt>
[[nodiscard]] std::int32_t rank_of(Rt const& rt) noexcept {
  if constexpr (several_ranks<Rt>) {
    return rt.rank();
  } else {
    return 0;
  }
}

template <class Rt>
[[nodiscard]] std::int32_t ranks_of(Rt const& rt) noexcept {
  if constexpr (several_ranks<Rt>) {
    return rt.ranks();
  } else {
    return 1;
  }
}

/// Registers a datum that is at home on that rank; `arguments` as for Runtime::data.
template <class Rt, class... Args>
[[nodiscard]] auto data_on(Rt& rt, std::int32_t home, Args... arguments) {
  if constexpr (several_ranks<Rt>) {
    return rt.data(home, arguments...);
  } else {
    return rt.data(arguments...);
  }
}

/// What that returns for a tile: a Handle or DistributedHandle of TileView<T>.
template <class Rt, class T>
using TileOn = decltype(data_on(std::declval<Rt&>(),
                                0,
                                static_cast<T*>(nullptr),
                                std::size_t{1},
                                std::size_t{1},
                                std::size_t{1}));

/// `rt.spawn<Type>(attributes...)` for that rank, whatever the placement policy says.
template <class Type, class Rt, class... A>
[[nodiscard]] auto spawn_on(Rt& rt, [[maybe_unused]] std::int32_t rank, A const&... attributes) {
  if constexpr (several_ranks<Rt>) {
    return rt.template spawn<Type>(on_rank(rank), attributes...);
  } else {
    return rt.template spawn<Type>(attributes...);
  }
}

template <class H, class D>
struct OfSameKind;

template <template <class> class H, class Other, class D>
struct OfSameKind<H<Other>, D> {
  using Type = H<D>;
};

/// Memory on the rank where it is at home, with its handle, of the kind of the handle `Like`:
/// `count` elements as VectorView, or rows x cols as TileView. Made by all ranks.
template <class Like, class D>
class HomeMemory {
public:
  using Handle = typename OfSameKind<Like, D>::Type;
  using Element = std::remove_reference_t<decltype(*std::declval<D const&>().data())>;

  template <class Rt, class... Rest>
  HomeMemory(Rt& rt, std::int32_t home, std::size_t rows, Rest... cols)
      : memory_(home == rank_of(rt) ? std::make_unique<Element[]>((rows * ... * cols)) : nullptr),
        handle_(registered(rt, home, rows, cols...)) {}

  [[nodiscard]] Handle const& handle() const noexcept { return handle_; }

  /// Null where it is not at home.
  [[nodiscard]] Element const* memory() const noexcept { return memory_.get(); }

private:
  template <class Rt, class... Rest>
  Handle registered(Rt& rt, std::int32_t home, std::size_t rows, Rest... cols) {
    if constexpr (sizeof...(cols) == 0) {
      return data_on(rt, home, memory_.get(), rows);
    } else {
      return data_on(rt, home, memory_.get(), rows, cols..., rows);
    }
  }

  std::unique_ptr<Element[]> memory_;
  Handle handle_; // goes before its memory
};

} // namespace hetsched::detail
