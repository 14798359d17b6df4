// SPDX-License-Identifier: MIT
#pragma once
// A line on the terminal that says how far a sweep is.

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>

namespace benchmarks {

/// On stderr, if that is a terminal and there is more than one run. Runs may differ in weight.
class Progress {
public:
  Progress(std::size_t runs, double weight)
      : runs_(runs), weight_(weight), shown_(runs > 1 && isatty(STDERR_FILENO) == 1) {}

  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  ~Progress() { clear(); }

  /// Before anything else is printed.
  void clear() const {
    if (shown_) {
      std::fputs("\r\033[K", stderr);
    }
  }

  void done(double weight) {
    ++done_;
    weight_done_ += weight;
    if (shown_) {
      auto const now = std::chrono::steady_clock::now();
      auto const spent = std::chrono::duration<double>(now - begin_).count();
      std::fprintf(stderr,
                   "\r\033[K%zu of %zu runs, about %.0f s left",
                   done_,
                   runs_,
                   spent * (weight_ / weight_done_ - 1));
      std::fflush(stderr);
    }
  }

private:
  std::size_t const runs_;
  double const weight_;
  bool const shown_;
  std::size_t done_ = 0;
  double weight_done_ = 0;
  std::chrono::steady_clock::time_point const begin_ = std::chrono::steady_clock::now();
};

} // namespace benchmarks
