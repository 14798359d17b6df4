// SPDX-License-Identifier: MIT
#pragma once
// A stack of its own for each thread of a controlled run.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/controlled/controlled_atomic.hpp>

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define HETSCHED_FIBERS_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HETSCHED_FIBERS_UNDER_ASAN 1
#endif
#endif
#ifdef HETSCHED_FIBERS_UNDER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace hetsched::detail::controlled {

/// The values that a fiber's own variables have while another runs.
class OwnVariables {
public:
  /// Those of the calling fiber.
  void take() noexcept {
    auto* to = bytes_;
    for (auto const* own = PerFiber::first; own != nullptr; to += own->bytes, own = own->next) {
      std::memcpy(to, own->at, own->bytes);
    }
  }

  void put() const noexcept {
    auto const* from = bytes_;
    for (auto const* own = PerFiber::first; own != nullptr; from += own->bytes, own = own->next) {
      std::memcpy(own->at, from, own->bytes);
    }
  }

private:
  std::byte bytes_[PerFiber::most_bytes] = {};
};

/// A stack, and where on it its thread goes on. The page below the stack may not be touched.
class Fiber {
public:
  /// The stack of the calling thread.
  Fiber() {
#ifdef HETSCHED_FIBERS_UNDER_ASAN
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack_, &bytes_);
    pthread_attr_destroy(&attributes);
#endif
  }

  /// A new stack.
  explicit Fiber(std::size_t bytes) : bytes_(bytes), owned_(true) {
    stack_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack_ == MAP_FAILED || mprotect(stack_, 4096, PROT_NONE) != 0) {
      throw Error(ErrorCode::bad_config, "interleavings", "no memory for another stack");
    }
  }

  Fiber(Fiber const&) = delete;
  Fiber& operator=(Fiber const&) = delete;

  ~Fiber() {
    if (owned_) {
      munmap(stack_, bytes_);
    }
  }

  /// The next switch to it calls `entry`, which never returns and calls `arrive` first.
  void prepare(void (*entry)(), OwnVariables const& own) noexcept {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = bytes_;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
    own_ = own;
    std::memset(exceptions_, 0, sizeof exceptions_);
    fake_stack_ = nullptr;
  }

  /// The calling fiber, which is this, stops. The other goes on. Returns when this one goes on.
  void give_way_to(Fiber& other) noexcept {
    own_.take();
    other.own_.put();
    auto* const exceptions = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
    std::memcpy(exceptions_, exceptions, sizeof exceptions_);
    std::memcpy(exceptions, other.exceptions_, sizeof exceptions_);
#ifdef HETSCHED_FIBERS_UNDER_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, other.stack_, other.bytes_);
#endif
    swapcontext(&context_, &other.context_);
    arrive();
  }

  void arrive() noexcept {
#ifdef HETSCHED_FIBERS_UNDER_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  }

private:
  void* stack_ = nullptr;
  std::size_t bytes_ = 0;
  bool owned_ = false;
  ucontext_t context_{};
  void* fake_stack_ = nullptr;
  OwnVariables own_;
  std::byte exceptions_[16] = {}; // those that are caught, and how many are under way
};

} // namespace hetsched::detail::controlled
