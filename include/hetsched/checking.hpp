// SPDX-License-Identifier: MIT
#pragma once
// HETSCHED_CHECK=access for a program: included in one of its files at least. The compiled library
// has it. Where the check cannot work, a runtime that is asked for it throws Error(bad_config).

#include <hetsched/core/version.hpp>
#include <hetsched/detail/engine/access_check.hpp>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HETSCHED_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define HETSCHED_SANITIZED 1
#endif
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) &&                         \
    !defined(HETSCHED_SANITIZED)
#include <hetsched/detail/checking/checked_bodies.hpp>
#else
namespace hetsched::detail {

inline constexpr AccessCheck access_checker{[]() noexcept -> char const* {
  return "access needs Linux on x86-64 or ARM, and a program without sanitizers";
}};

} // namespace hetsched::detail
#endif

namespace hetsched::detail {

inline bool const access_checker_is_there = [] {
  access_check = &access_checker;
  return true;
}();

} // namespace hetsched::detail
