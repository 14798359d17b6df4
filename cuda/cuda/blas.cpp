// SPDX-License-Identifier: MIT
// CUDA's table: BLAS, by cuBLAS, with one handle a stream.

#include "../table/arguments.hpp"
#include "../table/blas_calls.hpp"
#include "calls.hpp"

#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <string>

namespace hetsched::cuda {
namespace {

using devices::for_type;

constexpr devices::Letters letters{CUBLAS_OP_N,
                                   CUBLAS_OP_T,
                                   CUBLAS_FILL_MODE_LOWER,
                                   CUBLAS_FILL_MODE_UPPER,
                                   CUBLAS_SIDE_LEFT,
                                   CUBLAS_SIDE_RIGHT,
                                   CUBLAS_DIAG_UNIT,
                                   CUBLAS_DIAG_NON_UNIT};

/// cuBLAS by element type.
template <class T>
struct Cublas {
  using In = devices::Matrix<T const>;
  using Out = devices::Matrix<T>;
  using Read = devices::Vector<T const>;
  using Write = devices::Vector<T>;

  cublasHandle_t handle;

  // clang-format would give each of up to 14 arguments a line of its own.
  // clang-format off

  cublasStatus_t gemm(char trans_a, char trans_b, T alpha, In a, In b, T beta, Out c) const {
    int const depth = trans_a == 'N' ? a.cols : a.rows;
    return for_type<T>(cublasSgemm, cublasDgemm)(handle, letters.trans(trans_a),
        letters.trans(trans_b), c.rows, c.cols, depth, &alpha, a.data, a.ld, b.data, b.ld, &beta,
        c.data, c.ld);
  }

  cublasStatus_t symm(char side, char uplo, T alpha, In a, In b, T beta, Out c) const {
    return for_type<T>(cublasSsymm, cublasDsymm)(handle, letters.side(side), letters.uplo(uplo),
        c.rows, c.cols, &alpha, a.data, a.ld, b.data, b.ld, &beta, c.data, c.ld);
  }

  cublasStatus_t syrk(char uplo, char trans, T alpha, In a, T beta, Out c) const {
    int const depth = trans == 'N' ? a.cols : a.rows;
    return for_type<T>(cublasSsyrk, cublasDsyrk)(handle, letters.uplo(uplo), letters.trans(trans),
        c.rows, depth, &alpha, a.data, a.ld, &beta, c.data, c.ld);
  }

  cublasStatus_t syr2k(char uplo, char trans, T alpha, In a, In b, T beta, Out c) const {
    int const depth = trans == 'N' ? a.cols : a.rows;
    return for_type<T>(cublasSsyr2k, cublasDsyr2k)(handle, letters.uplo(uplo),
        letters.trans(trans), c.rows, depth, &alpha, a.data, a.ld, b.data, b.ld, &beta, c.data,
        c.ld);
  }

  cublasStatus_t trmm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) const {
    return for_type<T>(cublasStrmm, cublasDtrmm)(handle, letters.side(side), letters.uplo(uplo),
        letters.trans(trans), letters.diag(diag), b.rows, b.cols, &alpha, a.data, a.ld, b.data,
        b.ld, b.data, b.ld);
  }

  cublasStatus_t trsm(char side, char uplo, char trans, char diag, T alpha, In a, Out b) const {
    return for_type<T>(cublasStrsm, cublasDtrsm)(handle, letters.side(side), letters.uplo(uplo),
        letters.trans(trans), letters.diag(diag), b.rows, b.cols, &alpha, a.data, a.ld, b.data,
        b.ld);
  }

  cublasStatus_t axpy(T alpha, Read x, Write y) const {
    return for_type<T>(cublasSaxpy, cublasDaxpy)(handle, x.n, &alpha, x.data, x.inc, y.data,
        y.inc);
  }

  cublasStatus_t scal(T alpha, Write x) const {
    return for_type<T>(cublasSscal, cublasDscal)(handle, x.n, &alpha, x.data, x.inc);
  }

  cublasStatus_t copy(Read x, Write y) const {
    return for_type<T>(cublasScopy, cublasDcopy)(handle, x.n, x.data, x.inc, y.data, y.inc);
  }

  cublasStatus_t swap(Write x, Write y) const {
    return for_type<T>(cublasSswap, cublasDswap)(handle, x.n, x.data, x.inc, y.data, y.inc);
  }

  cublasStatus_t dot(Read x, Read y, T* result) const {
    return to_memory(for_type<T>(cublasSdot, cublasDdot), x.n, x.data, x.inc, y.data, y.inc, result);
  }

  cublasStatus_t nrm2(Read x, T* result) const {
    return to_memory(for_type<T>(cublasSnrm2, cublasDnrm2), x.n, x.data, x.inc, result);
  }

  cublasStatus_t asum(Read x, T* result) const {
    return to_memory(for_type<T>(cublasSasum, cublasDasum), x.n, x.data, x.inc, result);
  }

  // clang-format on

private:
  /// Calls what leaves its result in device memory.
  template <class F, class... Args>
  cublasStatus_t to_memory(F* function, Args... arguments) const {
    auto status = cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = function(handle, arguments...);
      (void)cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    }
    return status;
  }
};

/// For devices::BlasCalls.
struct Backend {
  /// Letters are checked here, the rest by cuBLAS.
  struct Arguments : devices::Arguments {
    struct Size {
      char const* name;
      int value;
    };

    Arguments(hs_stream*, char const* call, hs_type type) : devices::Arguments(call, type) {}

    void sizes(std::initializer_list<Size>) {}

    template <class T>
    void matrix(char const*, devices::Matrix<T>) {}

    template <class T>
    void vector(char const*, devices::Vector<T>, bool) {}

    template <class T>
    void array(char const*, T const*, std::size_t) {}
  };

  template <class T, class F>
  static hs_status give(hs_stream* stream, Arguments const& arguments, F const& f) {
    return with_handles(as_stream(stream), arguments, [&](Stream& on) {
      auto const status = f(Cublas<T>{on.blas});
      return status == CUBLAS_STATUS_SUCCESS
                 ? hs_ok
                 : check(on.device, status, (std::string("cublas ") + arguments.call()).c_str());
    });
  }
};

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
  devices::set_blas_calls<Backend>(driver);
}

} // namespace hetsched::cuda
