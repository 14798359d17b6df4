// SPDX-License-Identifier: MIT
#include "heap_meter.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HETSCHED_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HETSCHED_TEST_SANITIZED
#endif

#ifdef HETSCHED_TEST_SANITIZED
// As in <sanitizer/allocator_interface.h>, which g++ does not have.
extern "C" {
std::size_t __sanitizer_get_allocated_size(void const volatile* memory); // NOLINT
int __sanitizer_install_malloc_and_free_hooks(                           // NOLINT
    void (*after_malloc)(void const volatile* memory, std::size_t bytes),
    void (*before_free)(void const volatile* memory));
}
#endif

namespace {

struct Counts {
  bool on = false;
  std::ptrdiff_t now = 0;
  std::ptrdiff_t most = 0;
};

thread_local constinit Counts counts;

void count_taken(std::size_t bytes) noexcept {
  if (counts.on) {
    counts.now += static_cast<std::ptrdiff_t>(bytes);
    counts.most = std::max(counts.most, counts.now);
  }
}

void count_given(std::size_t bytes) noexcept {
  if (counts.on) {
    counts.now -= static_cast<std::ptrdiff_t>(bytes);
  }
}

} // namespace

#ifdef HETSCHED_TEST_SANITIZED

namespace {

void after_malloc(void const volatile* /*memory*/, std::size_t bytes) {
  count_taken(bytes);
}

void before_free(void const volatile* memory) {
  if (memory != nullptr) {
    count_given(__sanitizer_get_allocated_size(memory));
  }
}

int const hooks = __sanitizer_install_malloc_and_free_hooks(after_malloc, before_free);

} // namespace

#else

// These stand before those of the C library, and call them.
extern "C" {

void* __libc_malloc(std::size_t bytes);                    // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes); // NOLINT
void* __libc_realloc(void* memory, std::size_t bytes);     // NOLINT
void __libc_free(void* memory);                            // NOLINT

void* malloc(std::size_t bytes) noexcept {
  void* const memory = __libc_malloc(bytes);
  count_taken(malloc_usable_size(memory));
  return memory;
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  void* const memory = __libc_calloc(count, bytes);
  count_taken(malloc_usable_size(memory));
  return memory;
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  auto const before = malloc_usable_size(memory);
  void* const moved = __libc_realloc(memory, bytes);
  if (moved != nullptr) {
    count_taken(malloc_usable_size(moved)); // for a moment there may be both
    count_given(before);
  }
  return moved;
}

void free(void* memory) noexcept {
  count_given(malloc_usable_size(memory));
  __libc_free(memory);
}

} // extern "C"

#endif

namespace support {

HeapMeter::HeapMeter() noexcept {
  counts = {.on = true};
}

HeapMeter::~HeapMeter() {
  counts.on = false;
}

std::size_t HeapMeter::most() const noexcept {
  return static_cast<std::size_t>(counts.most);
}

} // namespace support
