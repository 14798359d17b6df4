// SPDX-License-Identifier: MIT
#pragma once
// All ranks let one of them say where their tasks begin.

#include <hetsched/collections/task_distribution.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/collections/array_space.hpp>
#include <hetsched/detail/collections/rma_operations.hpp>
#include <hetsched/detail/collections/steps.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The window for `count` elements of rank 0, and what others do to it. Collective, as its calls.
template <class T>
class OnRankZero {
public:
  OnRankZero(ArraySpace& space, std::size_t count)
      : space_(space), window_(space.port().allocate(WindowElement::byte,
                                                     space.rank() == 0 ? count * sizeof(T) : 0)) {}

  /// Copies between the elements from `first` on and `here`; when it returns, all ranks have.
  void put(std::size_t first, std::span<T const> here) {
    transfer(first, here.size(), [&](auto const& patch, RmaResult& result) {
      space_.rma.put(window_, patch, here.data(), here.size_bytes(), result);
    });
  }

  void get(std::size_t first, std::span<T> here) {
    transfer(first, here.size(), [&](auto const& patch, RmaResult& result) {
      space_.rma.get(window_, patch, here.data(), here.size_bytes(), result);
    });
  }

  void free() { space_.port().free(window_); }

private:
  template <class F>
  void transfer(std::size_t first, std::size_t count, F const& begin) {
    if (count != 0) {
      space_.drive(
          step(begin, {.rank = 0, .first = first * sizeof(T), .columns = count * sizeof(T)}));
    }
    space_.sync();
  }

  template <class F>
  static Step<> step(F const& begin, WindowPatch patch) {
    RmaResult result;
    begin(patch, result);
    co_await result;
    (void)result.value();
  }

  ArraySpace& space_;
  Window window_;
};

/// Says in `own`, what this rank has to place, where each task begins. Collective.
inline void place_tasks(ArraySpace& space,
                        std::span<TaskToPlace> own,
                        void (*place)(std::span<TaskToPlace>, int)) {
  auto const ranks = static_cast<std::size_t>(space.ranks());
  auto const rank = static_cast<std::size_t>(space.rank());
  std::vector<std::uint64_t> counts(ranks);
  OnRankZero<std::uint64_t> all_counts(space, ranks);
  std::uint64_t const count = own.size();
  all_counts.put(rank, std::span(&count, 1));
  all_counts.get(0, counts);
  all_counts.free();
  std::size_t total = 0;
  std::size_t first = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    first = r == rank ? total : first;
    total += counts[r];
  }
  if (total == 0) {
    return;
  }
  OnRankZero<TaskToPlace> tasks(space, total);
  tasks.put(first, own);
  std::vector<TaskToPlace> all(rank == 0 ? total : 0);
  tasks.get(0, all);
  if (rank == 0) {
    place(all, space.ranks());
  }
  tasks.put(0, all);
  tasks.get(first, own);
  tasks.free();
  for (auto const& task : own) {
    if (task.rank < 0 || task.rank >= space.ranks()) {
      throw Error(ErrorCode::bad_call,
                  "process",
                  text("the distribution names rank %d of %d", int{task.rank}, space.ranks()));
    }
  }
}

} // namespace hetsched::detail
