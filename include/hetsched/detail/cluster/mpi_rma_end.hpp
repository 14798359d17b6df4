// SPDX-License-Identifier: MIT
#pragma once
// What one-sided transports of MPI jobs have in common.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/rma_calls.hpp>
#include <hetsched/detail/cluster/windows.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched::detail {

/// A process's end of windows that `State` keeps.
template <class State>
class MpiRmaEnd : public RmaCalls<MpiRmaEnd<State>> {
public:
  [[nodiscard]] int rank() const noexcept { return state_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return state_.ranks(); }

  Window allocate(WindowElement element, std::size_t elements) {
    return state_.allocate(element, elements);
  }

  void free(Window window) { state_.free(window); }

  [[nodiscard]] std::size_t elements(Window window, int rank) const {
    return state_.windows().elements(window, rank);
  }

  [[nodiscard]] void* memory(Window window) { return state_.part(window); }

  /// Throws Error(rank_failed) with MPI's words if MPI refuses an operation.
  template <RmaInbox I>
  bool poll(I& inbox) {
    return state_.poll(inbox);
  }

  /// Ends the job by MPI_Abort, with exit status 2.
  [[noreturn]] void abort(std::string_view line) { abort_mpi(line); }

protected:
  explicit MpiRmaEnd(MPI_Comm communicator) : state_(communicator) {}

  ~MpiRmaEnd() = default;

  [[nodiscard]] State& state() noexcept { return state_; }

private:
  friend class RmaCalls<MpiRmaEnd>;

  void begin_operation(Window window, RmaOperation const& operation, std::uint64_t cookie) {
    state_.begin(window, operation, cookie);
  }

  State state_;
};

} // namespace hetsched::detail
