// SPDX-License-Identifier: MIT
#pragma once
// What a job's windows must be able to do before a program relies on them.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/mpi_rma_state.hpp>
#include <hetsched/detail/cluster/windows.hpp>
#include <hetsched/detail/core/text.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// That this MPI has windows, and that they count right. Throws Error(bad_config) with one line.
class MpiRmaSelfTest {
public:
  explicit MpiRmaSelfTest(MpiRmaState& state) noexcept : state_(state) {}

  void run() {
    Window window;
    try {
      window = state_.allocate(WindowElement::word, 2);
    } catch (Error const& error) {
      auto const line = std::string(error.what());
      refuse(line.substr(line.find(": ") + 2) +
             "; Open MPI between hosts has windows with `--mca osc pt2pt` only, and "
             "RmaOverMessages<MpiTransport> needs none");
    }
    refuse_unsafe(window);
    for (int to = 0; to < state_.ranks(); ++to) {
      await(window, {.kind = RmaKind::fetch_add, .patch = {.rank = to}, .value = 1});
    }
    std::int64_t const own = state_.rank() + 1;
    auto const found = await(window,
                             {.kind = RmaKind::compare_swap,
                              .patch = {.rank = state_.rank(), .first = 1},
                              .desired = own});
    while (await(window, {.kind = RmaKind::fetch_add, .patch = {.rank = 0}}) < state_.ranks()) {
    }
    std::int64_t next = 0;
    auto const peer = (state_.rank() + 1) % state_.ranks();
    while (next == 0) { // until it has swapped
      next = await(window, {.kind = RmaKind::fetch_add, .patch = {.rank = peer, .first = 1}});
    }
    if (found != 0 || next != peer + 1) {
      refuse(text(
          "a word of rank %d is %lld instead of %d", peer, static_cast<long long>(next), peer + 1));
    }
    state_.free(window);
  }

private:
  struct Inbox {
    void done(std::uint64_t /*cookie*/, std::int64_t value) {
      over = true;
      found = value;
    }

    bool over = false;
    std::int64_t found = 0;
  };

  [[noreturn]] void refuse(std::string const& what) const {
    throw Error(
        ErrorCode::bad_config, text("rank %d: self-test of MPI's windows", state_.rank()), what);
  }

  /// Open MPI names windows by the component that does them. Before 5.0, `rdma` in shared memory
  /// ends the program in MPI_Compare_and_swap (issues 7027, 7967 and 11349 of open-mpi/ompi).
  void refuse_unsafe([[maybe_unused]] Window window) const {
#ifdef OMPI_MAJOR_VERSION
    if constexpr (OMPI_MAJOR_VERSION < 5) {
      std::array<char, MPI_MAX_OBJECT_NAME + 1> name{};
      int length = 0;
      MPI_Win_get_name(state_.windows().at(window).memory.window, name.data(), &length);
      if (std::string_view(name.data()).starts_with("rdma")) {
        refuse(
            "Open MPI's component rdma crashes in MPI_Compare_and_swap: start the job with `--mca "
            "osc sm` on one host, `--mca osc pt2pt` on several");
      }
    }
#endif
  }

  std::int64_t await(Window window, RmaOperation const& operation) {
    Inbox inbox;
    state_.begin(window, operation, 0);
    while (!inbox.over) {
      state_.poll(inbox);
    }
    return inbox.found;
  }

  MpiRmaState& state_;
};

} // namespace hetsched::detail
