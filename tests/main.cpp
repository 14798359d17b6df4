// SPDX-License-Identifier: MIT
// The doctest main, compiled once and linked into every unit test.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_THREAD__
/// Boost.Lockfree's queue reads links of nodes that another thread may just have recycled for a new
/// value; a tagged compare-and-swap then discards what was read. Formally data races, and not ours.
extern "C" char const* __tsan_default_suppressions(); // NOLINT: the sanitizer's name

extern "C" char const* __tsan_default_suppressions() { // NOLINT
  return "race:boost::lockfree::queue\n";
}
#endif
