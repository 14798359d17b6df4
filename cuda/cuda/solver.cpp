// SPDX-License-Identifier: MIT
// CUDA's table: LAPACK, by cuSOLVER.

#include "../table/operands.hpp"
#include "calls.hpp"

#include <cusolverDn.h>

#include <cstddef>
#include <limits>
#include <string>

namespace hetsched::cuda {
namespace {

using devices::for_type;

hs_status check_solver(Device* device, cusolverStatus_t status, char const* call) {
  if (status == CUSOLVER_STATUS_SUCCESS) {
    return hs_ok;
  }
  auto const meaning = status == CUSOLVER_STATUS_ALLOC_FAILED ? hs_no_memory : hs_failed;
  auto const text = "cuSOLVER status " + std::to_string(static_cast<int>(status));
  return library_failure(device, meaning, call, text.c_str());
}

cublasFillMode_t uplo_of(char uplo) {
  return uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

/// The stream's handle, its mutex being held.
hs_status handle_of(Stream& on, cusolverDnHandle_t& handle) {
  handle = static_cast<cusolverDnHandle_t>(on.solver);
  if (handle != nullptr) {
    return hs_ok;
  }
  auto status = check_solver(on.device, cusolverDnCreate(&handle), "cusolverDnCreate");
  if (status == hs_ok) {
    on.solver = handle;
    status = check_solver(on.device, cusolverDnSetStream(handle, on.native), "cusolverDnSetStream");
  }
  return status;
}

/// Calls f(handle, T()), T being the type of the elements, if the arguments are right.
template <class F>
hs_status
give(hs_stream* stream, devices::Arguments const& arguments, char const* call, F const& f) {
  return with_handles(as_stream(stream), arguments, [&](Stream& on) {
    cusolverDnHandle_t handle = nullptr;
    if (auto const status = handle_of(on, handle); status != hs_ok) {
      return status;
    }
    auto const status = arguments.is_float() ? f(handle, float()) : f(handle, double());
    return check_solver(on.device, status, call);
  });
}

/// cuSOLVER counts in int.
int as_int(std::size_t elements) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(elements < most ? elements : most);
}

hs_status
potrf_work(hs_stream* stream, hs_type type, char uplo, int n, int lda, std::size_t* elements) {
  *elements = 0;
  devices::Arguments arguments("potrf_work", type);
  arguments.letters({{"uplo", uplo, "LU"}});
  return give(stream, arguments, "cusolverDn potrf_bufferSize", [=]<class T>(auto* handle, T) {
    int count = 0;
    auto* const call = for_type<T>(cusolverDnSpotrf_bufferSize, cusolverDnDpotrf_bufferSize);
    auto const status = call(handle, uplo_of(uplo), n, static_cast<T*>(nullptr), lda, &count);
    *elements = static_cast<std::size_t>(count);
    return status;
  });
}

/// What a call needs besides the caller's data, for as long as the stream has not come to its end.
class Scratch {
public:
  Scratch(Stream& on, std::size_t bytes) : on_(on) {
    if (bytes != 0) {
      Current const current(*on.device);
      status_ =
          current.status() != hs_ok
              ? current.status()
              : check(on.device, cudaMallocAsync(&memory_, bytes, on.native), "cudaMallocAsync");
    }
  }

  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;

  ~Scratch() {
    if (memory_ != nullptr) {
      Current const current(*on_.device);
      (void)cudaFreeAsync(memory_, on_.native);
    }
  }

  [[nodiscard]] hs_status status() const noexcept { return status_; }

  [[nodiscard]] std::byte* memory() const noexcept { return static_cast<std::byte*>(memory_); }

private:
  Stream& on_;
  void* memory_ = nullptr;
  hs_status status_ = hs_ok;
};

hs_status potrf(hs_stream* stream,
                hs_type type,
                char uplo,
                int n,
                void* a,
                int lda,
                void* work,
                std::size_t work_elements,
                int* info) {
  devices::Arguments arguments("potrf", type);
  arguments.letters({{"uplo", uplo, "LU"}});
  if (auto const status = arguments.status(); status != hs_ok) {
    return status;
  }
  if (work == nullptr) {
    if (auto const status = potrf_work(stream, type, uplo, n, lda, &work_elements);
        status != hs_ok) {
      return status;
    }
  }
  constexpr std::size_t info_bytes = 256;
  Scratch const scratch(as_stream(stream),
                        (info == nullptr ? info_bytes : 0) +
                            (work == nullptr ? work_elements * arguments.bytes() : 0));
  if (scratch.status() != hs_ok) {
    return scratch.status();
  }
  work = work == nullptr ? scratch.memory() + (info == nullptr ? info_bytes : 0) : work;
  info = info == nullptr ? reinterpret_cast<int*>(scratch.memory()) : info;
  return give(stream, arguments, "cusolverDn potrf", [=]<class T>(auto* handle, T) {
    auto* const buffer = static_cast<T*>(work);
    auto* const call = for_type<T>(cusolverDnSpotrf, cusolverDnDpotrf);
    return call(
        handle, uplo_of(uplo), n, static_cast<T*>(a), lda, buffer, as_int(work_elements), info);
  });
}

hs_status
getrf_work(hs_stream* stream, hs_type type, int m, int n, int lda, std::size_t* elements) {
  *elements = 0;
  devices::Arguments const arguments("getrf_work", type);
  return give(stream, arguments, "cusolverDn getrf_bufferSize", [=]<class T>(auto* handle, T) {
    int count = 0;
    auto* const call = for_type<T>(cusolverDnSgetrf_bufferSize, cusolverDnDgetrf_bufferSize);
    auto const status = call(handle, m, n, static_cast<T*>(nullptr), lda, &count);
    *elements = static_cast<std::size_t>(count);
    return status;
  });
}

/// cuSOLVER is not told how large `work` is: it has to be as large as getrf_work says.
hs_status getrf(hs_stream* stream,
                hs_type type,
                int m,
                int n,
                void* a,
                int lda,
                void* work,
                std::size_t,
                int* pivots,
                int* info) {
  devices::Arguments const arguments("getrf", type);
  return give(stream, arguments, "cusolverDn getrf", [=]<class T>(auto* handle, T) {
    auto* const call = for_type<T>(cusolverDnSgetrf, cusolverDnDgetrf);
    return call(handle, m, n, static_cast<T*>(a), lda, static_cast<T*>(work), pivots, info);
  });
}

} // namespace

void destroy_solver(Stream& stream) {
  if (stream.solver != nullptr) {
    (void)cusolverDnDestroy(static_cast<cusolverDnHandle_t>(stream.solver));
  }
}

void set_solver_calls(hs_driver& driver) {
  driver.potrf_work = potrf_work;
  driver.potrf = potrf;
  driver.getrf_work = getrf_work;
  driver.getrf = getrf;
}

} // namespace hetsched::cuda
