// SPDX-License-Identifier: MIT
#pragma once
// A receive of a message's head over MPI, and where it puts it.

#include <hetsched/detail/cluster/check_send.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/mpi_messages.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>

namespace hetsched::detail {

/// A receive that is started again and again. The message lies in a page of its own, and the page
/// behind it may not be touched: Open MPI 4.1 reads the whole of a message that is too long from
/// its sender's memory (btl_vader's process_vm_readv) before it reports the error. What is in the
/// way there would be overwritten; the kernel refuses to write into such a page.
class MpiSlot {
public:
  static constexpr std::size_t message_bytes =
      sizeof(MpiEnvelope) + max_head_bytes + mpi_small_bytes;

  MpiSlot() = default;
  MpiSlot(MpiSlot const&) = delete;
  MpiSlot& operator=(MpiSlot const&) = delete;

  /// The page stays where a receive may still write.
  ~MpiSlot() {
    if (page_ != nullptr && request_ == MPI_REQUEST_NULL) {
      (void)::munmap(page_, 2 * page_bytes);
    }
  }

  /// Waits for the next message from any rank.
  void start(MPI_Comm communicator) {
    if (page_ == nullptr) {
      take_page();
    }
    if (request_ == MPI_REQUEST_NULL) {
      check_mpi(MPI_Recv_init(page_,
                              static_cast<int>(message_bytes),
                              MPI_BYTE,
                              MPI_ANY_SOURCE,
                              mpi_head_tag,
                              communicator,
                              &request_),
                "MPI_Recv_init");
    }
    check_mpi(MPI_Start(&request_), "MPI_Start");
  }

  /// Whether there is a message, or an error, of which the code is then `code`.
  [[nodiscard]] bool test(MPI_Status& status, int& code) {
    int flag = 0;
    code = MPI_Test(&request_, &flag, &status);
    if (code != MPI_SUCCESS) {
      request_ = MPI_REQUEST_NULL; // Open MPI frees it, MPICH does not
      return true;
    }
    return flag != 0;
  }

  /// The message's first bytes, after test().
  [[nodiscard]] std::span<std::byte const> bytes(std::size_t count) const noexcept {
    return {static_cast<std::byte const*>(page_), count};
  }

  /// Waits no more.
  void stop() {
    if (request_ != MPI_REQUEST_NULL) {
      MpiRequests<int>::cancel_receive(request_);
      MPI_Request_free(&request_);
    }
  }

private:
  static constexpr std::size_t page_bytes = 4096;
  static_assert(message_bytes <= page_bytes);

  void take_page() {
    auto* const pages =
        ::mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
      throw std::bad_alloc();
    }
    page_ = pages;
    (void)::mprotect(static_cast<std::byte*>(pages) + page_bytes, page_bytes, PROT_NONE);
  }

  void* page_ = nullptr;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

} // namespace hetsched::detail
