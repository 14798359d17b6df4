// SPDX-License-Identifier: MIT
#include "own_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace own_memory {

namespace {

constexpr std::size_t capacity = std::size_t{1} << 28;
constexpr unsigned char filling = 0xdd; // an address of such bytes cannot be used
constexpr std::size_t live = 0x6c697665, freed = 0x66726565;

/// In front of each block.
struct Header {
  std::size_t bytes; // of the block
  std::size_t state;
  Header* before;
  std::size_t unused;
};

std::byte* const memory = [] {
  auto* const wanted = reinterpret_cast<void*>(std::uintptr_t{0x200000000000});
  void* const at = mmap(wanted,
                        capacity,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                        -1,
                        0);
  if (at != wanted) {
    std::fputs("interleavings: no memory at a fixed address\n", stderr);
    std::_Exit(1);
  }
  return static_cast<std::byte*>(at);
}();

bool used = false; // the memory of the run is
std::size_t taken = 0;
Header* last = nullptr;
bool freed_twice = false;

} // namespace

void begin() noexcept {
  taken = 0;
  last = nullptr;
  freed_twice = false;
  used = true;
}

void end() noexcept {
  used = false;
}

char const* fault() noexcept {
  if (freed_twice) {
    return "a block is freed twice";
  }
  for (auto* header = last; header != nullptr; header = header->before) {
    auto const* const block = reinterpret_cast<unsigned char const*>(header + 1);
    if (header->state == live) {
      return "a block is not freed";
    }
    if (header->state != freed ||
        std::any_of(block, block + header->bytes, [](auto byte) { return byte != filling; })) {
      return "a freed block is written to";
    }
  }
  return nullptr;
}

/// Null if there is no memory.
void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (!used) {
    auto const whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, whole);
  }
  auto const block = (taken + sizeof(Header) + alignment - 1) / alignment * alignment;
  if (block + bytes > capacity) {
    return nullptr;
  }
  taken = block + bytes;
  auto* const header = reinterpret_cast<Header*>(memory + block) - 1;
  *header = {bytes, live, last, 0};
  last = header;
  return memory + block;
}

void free(void* block) noexcept {
  auto const at = static_cast<std::byte*>(block);
  if (at < memory || at >= memory + capacity) {
    std::free(block);
    return;
  }
  auto* const header = static_cast<Header*>(block) - 1;
  freed_twice = freed_twice || header->state != live;
  header->state = freed;
  std::memset(block, filling, header->bytes);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (auto* const block = take(bytes, std::max<std::size_t>(alignment, 16))) {
    return block;
  }
  throw std::bad_alloc();
}

} // namespace own_memory

void* operator new(std::size_t bytes) {
  return own_memory::take_or_throw(bytes, 16);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return own_memory::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return own_memory::take(bytes, 16);
}

void operator delete(void* memory) noexcept {
  own_memory::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  own_memory::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  own_memory::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  own_memory::free(memory);
}
