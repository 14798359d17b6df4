// SPDX-License-Identifier: MIT
#include "snapshot_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace {

constexpr std::size_t size = std::size_t{1} << 20U;
alignas(64) std::byte memory[size]; // NOLINT: raw bytes
bool in_use = false;

/// Of the memory. It lies there, so it is saved with it.
struct State {
  std::size_t used;
  std::size_t blocks;
};

State& state = *new (memory) State{sizeof(State), 0};

void* take(std::size_t bytes, std::size_t alignment) {
  if (!in_use) {
    // Multiples of the alignment, as aligned_alloc demands.
    void* const outside =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (outside == nullptr) {
      throw std::bad_alloc();
    }
    return outside;
  }
  auto const at = (state.used + alignment - 1) / alignment * alignment;
  if (at > size || bytes > size - at) {
    std::fputs("snapshot_memory: it is too small\n", stderr);
    std::abort();
  }
  state.used = at + bytes;
  ++state.blocks;
  return memory + at;
}

/// Who looks at it afterwards will not find what was there, if its size is known.
void give_back(void* place, std::size_t bytes = 0) noexcept {
  std::less<void const*> const before;
  if (before(place, memory) || !before(place, memory + size)) {
    std::free(place);
  } else {
    std::memset(place, 0xdd, bytes);
    --state.blocks;
  }
}

} // namespace

SnapshotMemory::SnapshotMemory() noexcept {
  in_use = true;
}

SnapshotMemory::~SnapshotMemory() {
  in_use = false;
}

void SnapshotMemory::clear() noexcept {
  state = {sizeof(State), 0};
}

std::size_t SnapshotMemory::blocks() noexcept {
  return state.blocks;
}

void SnapshotMemory::save(std::vector<std::byte>& to) {
  to.assign(memory, memory + state.used);
}

void SnapshotMemory::restore(std::vector<std::byte> const& from) noexcept {
  std::memcpy(memory, from.data(), from.size());
}

void* operator new(std::size_t bytes) {
  return take(bytes == 0 ? 1 : bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes == 0 ? 1 : bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* place) noexcept {
  give_back(place);
}

void operator delete(void* place, std::size_t bytes) noexcept {
  give_back(place, bytes);
}

void operator delete(void* place, std::align_val_t) noexcept {
  give_back(place);
}

void operator delete(void* place, std::size_t bytes, std::align_val_t) noexcept {
  give_back(place, bytes);
}
