// SPDX-License-Identifier: MIT
// The emulation's table: BLAS and LAPACK. Arguments are checked at once, work is done by the
// stream.

#include "../last_error.hpp"
#include "../table/blas_calls.hpp"
#include "arguments.hpp"
#include "calls.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace hetsched::emulated {
namespace {

/// Gives `work` to the stream if the arguments are right.
template <class Work>
hs_status give(hs_stream* stream, Arguments const& arguments, Work work) {
  auto& on = as_stream(stream);
  auto& device = on.device();
  if (!has_blas()) {
    return devices::fail(hs_not_supported,
                         std::string(arguments.call()) + ": built without OpenBLAS and Eigen");
  }
  if (auto const status = device.check_lost(arguments.call()); status != hs_ok) {
    return status;
  }
  if (auto const status = arguments.status(); status != hs_ok) {
    return status;
  }
  return on.give({.work =
                      [work = std::move(work)] {
                        work();
                        return std::string();
                      },
                  .name = arguments.call(),
                  .effect = device.count(Kind::kernel),
                  .least = device.options().kernel});
}

/// For devices::BlasCalls.
struct Backend {
  using Arguments = emulated::Arguments;

  template <class T, class F>
  static hs_status give(hs_stream* stream, Arguments const& arguments, F const& f) {
    return emulated::give(stream, arguments, [f] { f(Kernels<T>()); });
  }
};

/// Elements of `work`. LAPACKE needs none. But other devices need some, so a caller that gives none
/// has an error, which shows here.
std::size_t work_of(int n) {
  return static_cast<std::size_t>(std::max(1, n));
}

hs_status
potrf_work(hs_stream* stream, hs_type type, char uplo, int n, int lda, std::size_t* elements) {
  *elements = work_of(n);
  Arguments arguments(stream, "potrf_work", type);
  arguments.letters({{"uplo", uplo, "LU"}});
  arguments.sizes({{"n", n}});
  arguments.matrix("a", nullptr, n, 0, lda);
  return arguments.status();
}

hs_status potrf(hs_stream* stream,
                hs_type type,
                char uplo,
                int n,
                void* a,
                int lda,
                void* work,
                std::size_t work_elements,
                int* info) {
  Arguments arguments(stream, "potrf", type);
  arguments.letters({{"uplo", uplo, "LU"}});
  arguments.sizes({{"n", n}});
  arguments.matrix("a", a, n, n, lda);
  if (info != nullptr) {
    arguments.array("info", info, 1);
  }
  if (work != nullptr) {
    arguments.memory_of("work", work, std::max(work_elements, work_of(n)) * arguments.bytes());
  }
  return give(stream, arguments, [=, is_float = arguments.is_float()] {
    auto const result = is_float ? Lapack<float>::potrf(uplo, n, static_cast<float*>(a), lda)
                                 : Lapack<double>::potrf(uplo, n, static_cast<double*>(a), lda);
    if (info != nullptr) {
      *info = result;
    }
  });
}

hs_status
getrf_work(hs_stream* stream, hs_type type, int m, int n, int lda, std::size_t* elements) {
  *elements = work_of(std::min(m, n));
  Arguments arguments(stream, "getrf_work", type);
  arguments.sizes({{"m", m}, {"n", n}});
  arguments.matrix("a", nullptr, m, 0, lda);
  return arguments.status();
}

hs_status getrf(hs_stream* stream,
                hs_type type,
                int m,
                int n,
                void* a,
                int lda,
                void* work,
                std::size_t work_elements,
                int* pivots,
                int* info) {
  int const steps = std::min(m, n);
  Arguments arguments(stream, "getrf", type);
  arguments.sizes({{"m", m}, {"n", n}});
  arguments.matrix("a", a, m, n, lda);
  arguments.array("info", info, 1);
  arguments.array("pivots", pivots, static_cast<std::size_t>(std::max(0, steps)));
  arguments.memory_of("work", work, std::max(work_elements, work_of(steps)) * arguments.bytes());
  return give(stream, arguments, [=, is_float = arguments.is_float()] {
    *info = is_float ? Lapack<float>::getrf(m, n, static_cast<float*>(a), lda, pivots)
                     : Lapack<double>::getrf(m, n, static_cast<double*>(a), lda, pivots);
  });
}

} // namespace

void set_blas_calls(hs_driver& driver) {
  devices::set_blas_calls<Backend>(driver);
  if (has_lapack()) {
    driver.potrf_work = potrf_work;
    driver.potrf = potrf;
    driver.getrf_work = getrf_work;
    driver.getrf = getrf;
  }
}

} // namespace hetsched::emulated
