// SPDX-License-Identifier: MIT
#pragma once
// MPI's C interface: its errors as ours, and requests that are tested together.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/text.hpp>

#if !__has_include(<mpi.h>)
#error                                                                                             \
    "hetsched: the headers cluster/mpi_*.hpp need MPI: compile with its mpicxx, or `pkg-config --cflags --libs ompi-c` or `mpich`"
#include <mpi_is_missing> // compilers end here, not 300 errors later
#endif

// Without the C++ interface of old.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1 // NOLINT: MPI's name
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1 // NOLINT: MPI's name
#endif
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What MPI says of one of its error codes, as one line.
[[nodiscard, gnu::cold]] inline std::string mpi_error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> message{};
  int length = 0;
  if (MPI_Error_string(code, message.data(), &length) != MPI_SUCCESS) {
    return text("error %d", code);
  }
  std::string line(message.data(), static_cast<std::size_t>(length));
  return line.substr(0, line.find_first_of("\n\r")); // MPICH's call stack follows
}

/// Throws Error(rank_failed) with the call's name and MPI's words.
inline void check_mpi(int code, char const* call) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    throw Error(ErrorCode::rank_failed, call, mpi_error_text(code));
  }
}

/// Ends the job with exit status 2. Before that the launcher gets time to pass on what was printed:
/// MPICH's drops what it has not read.
[[noreturn, gnu::cold]] inline void abort_mpi() noexcept {
  std::fflush(nullptr);
  pause_for(200'000'000);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::_Exit(2); // some MPIs return
}

/// The same, after a line that says why.
[[noreturn, gnu::cold]] inline void abort_mpi(std::string_view line) noexcept {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  abort_mpi();
}

/// Requests that are under way, each with what is known of it. O(requests) per `collect`.
template <class Info>
class MpiRequests {
public:
  struct Done {
    Info info;
    MPI_Status status{};
    int error = MPI_SUCCESS;
  };

  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }

  [[nodiscard]] std::vector<Info> const& infos() const noexcept { return infos_; }

  /// Starts one more: `start(&request)` answers MPI's code, which is returned.
  template <class Start>
  int add(Info info, Start&& start) {
    requests_.reserve(requests_.size() + 1);
    infos_.push_back(std::move(info));
    MPI_Request request = MPI_REQUEST_NULL;
    auto const code = start(&request);
    if (code == MPI_SUCCESS) {
      requests_.push_back(request);
    } else {
      infos_.pop_back();
    }
    return code;
  }

  /// Moves those that are complete to the end of `done`.
  void collect(std::vector<Done>& done) {
    if (requests_.empty()) {
      return;
    }
    auto const count = static_cast<int>(requests_.size());
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int completed = 0;
    auto const code =
        MPI_Testsome(count, requests_.data(), &completed, indices_.data(), statuses_.data());
    if (code != MPI_ERR_IN_STATUS) {
      check_mpi(code, "MPI_Testsome");
    }
    completed = completed == MPI_UNDEFINED ? 0 : completed;
    for (int k = 0; k < completed; ++k) {
      auto const& status = statuses_[static_cast<std::size_t>(k)];
      auto const at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)]);
      done.push_back({std::move(infos_[at]),
                      status,
                      code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS});
    }
    remove(completed);
  }

  /// Cancels receives of which `which(info)` is true. False: one could not be cancelled, so that
  /// MPI may still write to its place.
  template <class Which>
  [[nodiscard]] bool cancel_receives(Which&& which) {
    indices_.clear();
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      if (which(infos_[i])) {
        if (!cancel_receive(requests_[i])) {
          return false;
        }
        indices_.push_back(static_cast<int>(i));
      }
    }
    remove(static_cast<int>(indices_.size()));
    return true;
  }

  static bool cancel_receive(MPI_Request& request) {
    constexpr int patience = 1000; // a message that is half there is not waited for
    MPI_Cancel(&request);
    int flag = 0;
    for (int k = 0; k < patience && flag == 0; ++k) {
      if (MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return true;
      }
    }
    return flag != 0;
  }

private:
  /// The first `count` of indices_.
  void remove(int count) {
    std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
    for (int k = 0; k < count; ++k) {
      auto const at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(k)]);
      if (at + 1 != requests_.size()) {
        requests_[at] = requests_.back();
        infos_[at] = std::move(infos_.back());
      }
      requests_.pop_back();
      infos_.pop_back();
    }
  }

  std::vector<MPI_Request> requests_;
  std::vector<Info> infos_; // of the request at the same place
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

} // namespace hetsched::detail
