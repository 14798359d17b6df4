// SPDX-License-Identifier: MIT
#pragma once
// What the ranks of an MPI job tell each other first.

#include <hetsched/core/error.hpp>
#include <hetsched/core/version.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hetsched::detail {

/// Of the messages between transports.
inline constexpr std::uint32_t mpi_protocol = 1;

/// What must be the same on all ranks.
struct MpiGreeting {
  std::uint64_t magic = 0x6865747363686564U; // also the order of bytes
  std::uint32_t protocol = mpi_protocol;
  std::uint32_t version = HETSCHED_VERSION_NUMBER;
  std::uint32_t word_bytes = sizeof(void*);
  std::uint32_t unused = 0;

  bool operator==(MpiGreeting const&) const = default;
};

/// Calls `progress()`, which answers Waited, until that says `over`. Sleeps between calls, and
/// calls `refuse()` when nothing has moved for `patience_ns`.
enum class Waited : std::uint8_t { nothing, moved, over };

template <class Progress, class Refuse>
void wait_for_mpi(std::int64_t patience_ns, Progress const& progress, Refuse const& refuse) {
  constexpr std::int64_t pause_ns = 50000;
  auto since = monotonic_ns();
  for (;;) {
    switch (progress()) {
    case Waited::over:
      return;
    case Waited::moved:
      since = monotonic_ns();
      break;
    case Waited::nothing:
      if (monotonic_ns() - since > patience_ns) {
        refuse();
      }
      pause_for(pause_ns);
      break;
    }
  }
}

/// A communicator for the same ranks. Throws Error(bad_config) if not all of them ask for it.
inline MPI_Comm duplicate(MPI_Comm parent, std::int64_t patience_ns) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(parent, &communicator, &request), "MPI_Comm_idup");
  wait_for_mpi(
      patience_ns,
      [&] {
        int flag = 0;
        check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
        return flag != 0 ? Waited::over : Waited::nothing;
      },
      [&] {
        throw Error(ErrorCode::bad_config,
                    "MPI's self-test",
                    text("within %g s not all ranks made a transport, or the network does not "
                         "connect them",
                         static_cast<double>(patience_ns) * 1e-9));
      });
  return communicator;
}

/// A round of messages with every rank, and a large one to the next rank: a network that carries
/// small messages only is known. Nothing waits longer than `patience_ns`.
class MpiSelfTest {
public:
  MpiSelfTest(MPI_Comm communicator, int rank, int ranks, MpiGreeting const& own = {})
      : communicator_(communicator), rank_(rank), ranks_(ranks), own_(own),
        greetings_(static_cast<std::size_t>(ranks)) {}

  /// Throws Error(bad_config) in one line: from which ranks nothing came, or which one differs.
  void run(std::int64_t patience_ns) {
    if (ranks_ == 1) {
      return;
    }
    auto const next = (rank_ + 1) % ranks_;
    auto const previous = (rank_ + ranks_ - 1) % ranks_;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_) {
        receive(rank, &greetings_[static_cast<std::size_t>(rank)], sizeof(MpiGreeting), small_tag);
        send(rank, &own_, sizeof own_, small_tag);
      }
    }
    std::vector<std::byte> const large(large_bytes, pattern(rank_));
    std::vector<std::byte> other(large_bytes);
    receive(previous, other.data(), other.size(), large_tag);
    send(next, large.data(), large.size(), large_tag);
    wait(patience_ns);
    judge(other, previous);
  }

private:
  static constexpr std::size_t large_bytes = std::size_t{1} << 18U; // above what MPIs send eagerly
  static constexpr int small_tag = 3;
  static constexpr int large_tag = 4;

  struct Message {
    int rank = 0;
    bool received = false;
    bool large = false;
  };

  static std::byte pattern(int rank) { return static_cast<std::byte>(rank % 251 + 1); }

  void receive(int rank, void* place, std::size_t bytes, int tag) {
    auto const code = messages_.add({rank, true, tag == large_tag}, [&](MPI_Request* request) {
      return MPI_Irecv(place, static_cast<int>(bytes), MPI_BYTE, rank, tag, communicator_, request);
    });
    check_mpi(code, "MPI_Irecv");
  }

  void send(int rank, void const* data, std::size_t bytes, int tag) {
    auto const code = messages_.add({rank, false, tag == large_tag}, [&](MPI_Request* request) {
      return MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, rank, tag, communicator_, request);
    });
    check_mpi(code, "MPI_Isend");
  }

  void wait(std::int64_t patience_ns) {
    std::vector<MpiRequests<Message>::Done> done;
    auto const progress = [&] {
      done.clear();
      messages_.collect(done);
      for (auto const& it : done) {
        if (it.error != MPI_SUCCESS) {
          refuse(text("%s rank %d: ",
                      it.info.received ? "receiving from" : "sending to",
                      it.info.rank) +
                 mpi_error_text(it.error));
        }
      }
      return messages_.size() == 0 ? Waited::over : done.empty() ? Waited::nothing : Waited::moved;
    };
    wait_for_mpi(patience_ns, progress, [&] { refuse(missing(patience_ns)); });
  }

  /// Names a message that is missing, a small one if there is one.
  std::string missing(std::int64_t patience_ns) const {
    auto const& open = messages_.infos();
    auto const found =
        std::find_if(open.begin(), open.end(), [](Message const& one) { return !one.large; });
    auto const& it = found == open.end() ? open.front() : *found;
    return text("within %g s %s rank %d: %s",
                static_cast<double>(patience_ns) * 1e-9,
                it.received ? "nothing came from" : "it could send no message to",
                it.rank,
                it.large ? "large messages do not pass, small ones do (Open MPI in a container: "
                           "try `--mca btl_vader_single_copy_mechanism none`)"
                         : "it did not begin, or the network does not connect it");
  }

  void judge(std::vector<std::byte> const& other, int previous) const {
    for (int rank = 0; rank < ranks_; ++rank) {
      auto const& it = greetings_[static_cast<std::size_t>(rank)];
      if (rank != rank_ && it != own_) {
        refuse(
            it.magic != own_.magic || it.word_bytes != own_.word_bytes
                ? text("rank %d is another kind of machine", rank)
                : text("rank %d has version %u of the headers and protocol %u, this one %u and %u",
                       rank,
                       it.version,
                       it.protocol,
                       own_.version,
                       own_.protocol));
      }
    }
    if (other != std::vector<std::byte>(large_bytes, pattern(previous))) {
      refuse(text("a large message of rank %d came with other bytes", previous));
    }
  }

  [[noreturn]] void refuse(std::string const& what) const {
    throw Error(ErrorCode::bad_config, text("rank %d: MPI's self-test", rank_), what);
  }

  MPI_Comm communicator_;
  int rank_;
  int ranks_;
  MpiGreeting own_;
  std::vector<MpiGreeting> greetings_;
  MpiRequests<Message> messages_;
};

} // namespace hetsched::detail
