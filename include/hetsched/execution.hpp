// SPDX-License-Identifier: MIT
#pragma once
// Runtimes and futures for std::execution: P2300, senders and receivers.
//
// The library of senders is std::execution where the compiler has it, else stdexec if that is on
// the include path. Another one, included before, is named by HETSCHED_SENDERS, its namespace. The
// names of concepts' tags end in _tag, as in C++26; for older libraries, where they end in _t,
// define HETSCHED_SENDER_TAG(name) as name##_t.

#include <hetsched/core/version.hpp>

#include <version>

#ifndef HETSCHED_SENDERS
#if defined(__cpp_lib_senders)
#include <execution>
#define HETSCHED_SENDERS std::execution
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define HETSCHED_SENDERS stdexec
#else
#error "hetsched: execution.hpp needs a library of senders: C++26, stdexec, or HETSCHED_SENDERS"
#endif
#endif

#include <hetsched/runtime/sender_waits.hpp>
#include <hetsched/runtime/senders.hpp>
