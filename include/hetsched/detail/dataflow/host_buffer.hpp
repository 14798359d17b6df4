// SPDX-License-Identifier: MIT
#pragma once
// Host memory of the library's own for the elements of data.

#include <hetsched/core/build_config.hpp>

#include <cstddef>
#include <utility>

namespace hetsched::detail {

/// An alignment that elements of so many bytes cannot exceed, and at least a cache line: the size
/// of a type is a multiple of its alignment.
[[nodiscard]] constexpr std::size_t alignment_of(std::size_t element_bytes) noexcept {
  auto const largest = element_bytes & (~element_bytes + 1);
  return largest > 64 ? largest : 64;
}

/// Host memory that the library takes for elements, and gives back. Much of it at once comes as
/// pages of its own: they take memory when they are first touched, and none once they are given
/// back, whatever else the program has on its heap. Throws bad_alloc.
[[nodiscard]] void* take_host_memory(std::size_t bytes, std::size_t alignment);
void give_host_memory_back(void* memory, std::size_t bytes, std::size_t alignment) noexcept;

/// Owns such memory; by default none. `destroy`, if given, is called with it before it goes.
class HostBuffer {
public:
  using Destroy = void (*)(void* memory) noexcept;

  HostBuffer() = default;

  HostBuffer(std::size_t bytes, std::size_t element_bytes, Destroy destroy = nullptr)
      : bytes_(bytes), alignment_(alignment_of(element_bytes)),
        memory_(take_host_memory(bytes, alignment_)), destroy_(destroy) {}

  HostBuffer(HostBuffer&& other) noexcept { swap(other); }

  HostBuffer& operator=(HostBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  ~HostBuffer() {
    if (memory_ != nullptr) {
      if (destroy_ != nullptr) {
        destroy_(memory_);
      }
      give_host_memory_back(memory_, bytes_, alignment_);
    }
  }

  [[nodiscard]] void* get() const noexcept { return memory_; }

private:
  void swap(HostBuffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(alignment_, other.alignment_);
    std::swap(memory_, other.memory_);
    std::swap(destroy_, other.destroy_);
  }

  std::size_t bytes_ = 0;
  std::size_t alignment_ = alignment_of(1);
  void* memory_ = nullptr;
  Destroy destroy_ = nullptr;
};

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/dataflow/host_buffer_inl.hpp>
#endif
