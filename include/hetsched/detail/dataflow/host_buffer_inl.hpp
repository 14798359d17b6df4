// SPDX-License-Identifier: MIT
#pragma once
// Definitions of host_buffer.hpp.

#include <hetsched/detail/dataflow/host_buffer.hpp>

#include <sys/mman.h>

#include <new>

namespace hetsched::detail {

/// Whether so much memory comes as pages of its own.
[[nodiscard, gnu::cold]] inline bool is_mapped(std::size_t bytes, std::size_t alignment) noexcept {
  constexpr std::size_t least_mapped = 65536; // clearing them takes longer than the two calls
  constexpr std::size_t page = 4096;
  return bytes >= least_mapped && alignment <= page;
}

[[gnu::cold]] HETSCHED_INLINE void* take_host_memory(std::size_t bytes, std::size_t alignment) {
  if (!is_mapped(bytes, alignment)) {
    return ::operator new(bytes, std::align_val_t{alignment});
  }
  auto* const pages = ::mmap(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return pages;
}

[[gnu::cold]] HETSCHED_INLINE void
give_host_memory_back(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (is_mapped(bytes, alignment)) {
    (void)::munmap(memory, bytes);
  } else {
    ::operator delete(memory, std::align_val_t{alignment});
  }
}

} // namespace hetsched::detail
