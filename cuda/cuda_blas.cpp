// SPDX-License-Identifier: MIT
// CUDA's table: BLAS, by cuBLAS, with one handle a stream.

#include "cuda_calls.hpp"
#include "last_error.hpp"

#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

namespace hetsched::cuda {
namespace {

using devices::fail;

// clang-format would give each of up to 15 arguments a line of its own.
// clang-format off

/// cuBLAS by element type.
template <class T>
struct Blas;

template <>
struct Blas<float> {
  static constexpr auto gemm = cublasSgemm;
  static constexpr auto symm = cublasSsymm;
  static constexpr auto syrk = cublasSsyrk;
  static constexpr auto syr2k = cublasSsyr2k;
  static constexpr auto trmm = cublasStrmm;
  static constexpr auto trsm = cublasStrsm;
  static constexpr auto axpy = cublasSaxpy;
  static constexpr auto scal = cublasSscal;
  static constexpr auto copy = cublasScopy;
  static constexpr auto swap = cublasSswap;
  static constexpr auto dot = cublasSdot;
  static constexpr auto nrm2 = cublasSnrm2;
  static constexpr auto asum = cublasSasum;
};

template <>
struct Blas<double> {
  static constexpr auto gemm = cublasDgemm;
  static constexpr auto symm = cublasDsymm;
  static constexpr auto syrk = cublasDsyrk;
  static constexpr auto syr2k = cublasDsyr2k;
  static constexpr auto trmm = cublasDtrmm;
  static constexpr auto trsm = cublasDtrsm;
  static constexpr auto axpy = cublasDaxpy;
  static constexpr auto scal = cublasDscal;
  static constexpr auto copy = cublasDcopy;
  static constexpr auto swap = cublasDswap;
  static constexpr auto dot = cublasDdot;
  static constexpr auto nrm2 = cublasDnrm2;
  static constexpr auto asum = cublasDasum;
};

cublasOperation_t trans_of(char trans) {
  return trans == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T;
}

cublasFillMode_t uplo_of(char uplo) {
  return uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

cublasSideMode_t side_of(char side) {
  return side == 'L' ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}

cublasDiagType_t diag_of(char diag) {
  return diag == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

template <class T>
T* as(T, void* memory) {
  return static_cast<T*>(memory);
}

template <class T>
T const* as(T, void const* memory) {
  return static_cast<T const*>(memory);
}

struct Letter {
  char const* name;
  char value;
  std::string_view allowed;
};

/// cuBLAS checks everything else.
hs_status check_letters(char const* call, std::initializer_list<Letter> letters) {
  for (auto const& letter : letters) {
    if (letter.value == '\0' || letter.allowed.find(letter.value) == std::string_view::npos) {
      return fail(hs_failed, std::string(call) + ": '" + letter.name +
                                 "' is none of the letters " + std::string(letter.allowed));
    }
  }
  return hs_ok;
}

/// Calls f(handle, T()) of the stream's handle, T being the type of the elements.
template <class F>
hs_status give(hs_stream* stream, hs_type type, char const* call, F const& f) {
  if (type != hs_float && type != hs_double) {
    return fail(hs_failed, std::string(call) + ": 'type' is neither float nor double");
  }
  auto& on = as_stream(stream);
  Current const current(*on.device);
  if (current.status() != hs_ok) {
    return current.status();
  }
  std::lock_guard const lock(on.mutex);
  return check(on.device, type == hs_float ? f(on.blas, float()) : f(on.blas, double()), call);
}

/// The same for a result that goes to device memory.
template <class F>
hs_status give_to_memory(hs_stream* stream, hs_type type, char const* call, F const& f) {
  return give(stream, type, call, [&f]<class T>(cublasHandle_t handle, T t) {
    auto status = cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = f(handle, t);
      (void)cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    }
    return status;
  });
}

hs_status gemm(hs_stream* stream, hs_type type, char trans_a, char trans_b, int m, int n, int k,
               double alpha, void const* a, int lda, void const* b, int ldb, double beta, void* c,
               int ldc) {
  auto const letters = check_letters("gemm", {{"trans_a", trans_a, "NT"},
                                     {"trans_b", trans_b, "NT"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas gemm", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    T const beta_t = static_cast<T>(beta);
    return Blas<T>::gemm(handle, trans_of(trans_a), trans_of(trans_b), m, n, k, &alpha_t, as(t, a),
                         lda, as(t, b), ldb, &beta_t, as(t, c), ldc);
  });
}

hs_status symm(hs_stream* stream, hs_type type, char side, char uplo, int m, int n, double alpha,
               void const* a, int lda, void const* b, int ldb, double beta, void* c, int ldc) {
  auto const letters = check_letters("symm", {{"side", side, "LR"}, {"uplo", uplo, "LU"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas symm", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    T const beta_t = static_cast<T>(beta);
    return Blas<T>::symm(handle, side_of(side), uplo_of(uplo), m, n, &alpha_t, as(t, a), lda,
                         as(t, b), ldb, &beta_t, as(t, c), ldc);
  });
}

hs_status syrk(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k, double alpha,
               void const* a, int lda, double beta, void* c, int ldc) {
  auto const letters = check_letters("syrk", {{"uplo", uplo, "LU"}, {"trans", trans, "NT"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas syrk", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    T const beta_t = static_cast<T>(beta);
    return Blas<T>::syrk(handle, uplo_of(uplo), trans_of(trans), n, k, &alpha_t, as(t, a), lda,
                         &beta_t, as(t, c), ldc);
  });
}

hs_status syr2k(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k, double alpha,
                void const* a, int lda, void const* b, int ldb, double beta, void* c, int ldc) {
  auto const letters = check_letters("syr2k", {{"uplo", uplo, "LU"}, {"trans", trans, "NT"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas syr2k", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    T const beta_t = static_cast<T>(beta);
    return Blas<T>::syr2k(handle, uplo_of(uplo), trans_of(trans), n, k, &alpha_t, as(t, a), lda,
                          as(t, b), ldb, &beta_t, as(t, c), ldc);
  });
}

hs_status trmm(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag, int m,
               int n, double alpha, void const* a, int lda, void* b, int ldb) {
  auto const letters = check_letters("trmm", {{"side", side, "LR"}, {"uplo", uplo, "LU"},
                                     {"trans", trans, "NT"}, {"diag", diag, "NU"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas trmm", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    return Blas<T>::trmm(handle, side_of(side), uplo_of(uplo), trans_of(trans), diag_of(diag), m, n,
                         &alpha_t, as(t, a), lda, as(t, b), ldb, as(t, b), ldb);
  });
}

hs_status trsm(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag, int m,
               int n, double alpha, void const* a, int lda, void* b, int ldb) {
  auto const letters = check_letters("trsm", {{"side", side, "LR"}, {"uplo", uplo, "LU"},
                                     {"trans", trans, "NT"}, {"diag", diag, "NU"}});
  if (letters != hs_ok) {
    return letters;
  }
  return give(stream, type, "cublas trsm", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    return Blas<T>::trsm(handle, side_of(side), uplo_of(uplo), trans_of(trans), diag_of(diag), m, n,
                         &alpha_t, as(t, a), lda, as(t, b), ldb);
  });
}

hs_status axpy(hs_stream* stream, hs_type type, int n, double alpha, void const* x, int incx,
               void* y, int incy) {
  return give(stream, type, "cublas axpy", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    return Blas<T>::axpy(handle, n, &alpha_t, as(t, x), incx, as(t, y), incy);
  });
}

hs_status scal(hs_stream* stream, hs_type type, int n, double alpha, void* x, int incx) {
  return give(stream, type, "cublas scal", [=]<class T>(cublasHandle_t handle, T t) {
    T const alpha_t = static_cast<T>(alpha);
    return Blas<T>::scal(handle, n, &alpha_t, as(t, x), incx);
  });
}

hs_status blas_copy(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* y,
                    int incy) {
  return give(stream, type, "cublas copy", [=]<class T>(cublasHandle_t handle, T t) {
    return Blas<T>::copy(handle, n, as(t, x), incx, as(t, y), incy);
  });
}

hs_status swap(hs_stream* stream, hs_type type, int n, void* x, int incx, void* y, int incy) {
  return give(stream, type, "cublas swap", [=]<class T>(cublasHandle_t handle, T t) {
    return Blas<T>::swap(handle, n, as(t, x), incx, as(t, y), incy);
  });
}

hs_status dot(hs_stream* stream, hs_type type, int n, void const* x, int incx, void const* y,
              int incy, void* result) {
  return give_to_memory(stream, type, "cublas dot", [=]<class T>(cublasHandle_t handle, T t) {
    return Blas<T>::dot(handle, n, as(t, x), incx, as(t, y), incy, as(t, result));
  });
}

hs_status nrm2(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result) {
  return give_to_memory(stream, type, "cublas nrm2", [=]<class T>(cublasHandle_t handle, T t) {
    return Blas<T>::nrm2(handle, n, as(t, x), incx, as(t, result));
  });
}

hs_status asum(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result) {
  return give_to_memory(stream, type, "cublas asum", [=]<class T>(cublasHandle_t handle, T t) {
    return Blas<T>::asum(handle, n, as(t, x), incx, as(t, result));
  });
}

// clang-format on

/// What NVIDIA advises; cuBLAS would allocate as much for each handle and stream, while it works.
std::size_t workspace_bytes(int ordinal) {
  int major = 0;
  (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal);
  return (major >= 9 ? std::size_t{32} : std::size_t{4}) << 20;
}

} // namespace

hs_status check(Device* device, cublasStatus_t status, char const* call) {
  if (status == CUBLAS_STATUS_SUCCESS) {
    return hs_ok;
  }
  auto const meaning = status == CUBLAS_STATUS_ALLOC_FAILED    ? hs_no_memory
                       : status == CUBLAS_STATUS_NOT_SUPPORTED ? hs_not_supported
                                                               : hs_failed;
  return library_failure(device, meaning, call, cublasGetStatusString(status));
}

hs_status create_blas(Stream& stream) {
  auto* const device = stream.device;
  auto status = check(device, cublasCreate(&stream.blas), "cublasCreate");
  if (status == hs_ok) {
    status = check(device, cublasSetStream(stream.blas, stream.native), "cublasSetStream");
  }
  auto const bytes = workspace_bytes(device->ordinal);
  if (status == hs_ok) {
    status = check(device, cudaMalloc(&stream.workspace, bytes), "cudaMalloc");
  }
  if (status == hs_ok) {
    status = check(
        device, cublasSetWorkspace(stream.blas, stream.workspace, bytes), "cublasSetWorkspace");
  }
  return status;
}

void destroy_blas(Stream& stream) {
  if (stream.blas != nullptr) {
    (void)cublasDestroy(stream.blas);
  }
  if (stream.workspace != nullptr) {
    (void)check(stream.device, cudaFree(stream.workspace), "cudaFree");
  }
}

void set_blas_calls(hs_driver& driver) {
  driver.gemm = gemm;
  driver.symm = symm;
  driver.syrk = syrk;
  driver.syr2k = syr2k;
  driver.trmm = trmm;
  driver.trsm = trsm;
  driver.axpy = axpy;
  driver.scal = scal;
  driver.blas_copy = blas_copy;
  driver.swap = swap;
  driver.dot = dot;
  driver.nrm2 = nrm2;
  driver.asum = asum;
}

} // namespace hetsched::cuda
