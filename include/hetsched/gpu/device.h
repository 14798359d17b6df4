/* SPDX-License-Identifier: MIT */
#ifndef HETSCHED_DEVICE_H
#define HETSCHED_DEVICE_H
/* The interface between hetsched and a kind of device, in plain C: a table of functions, so that
 * several kinds can be present in one process and nobody links what they do not use. The tables
 * are in the folder cuda/: `hetsched_cuda_driver()` and `hetsched_emulated_driver()`.
 *
 * Every function that can fail returns an hs_status; when it is neither hs_ok nor hs_not_ready,
 * `last_error()` gives one line on the calling thread's last failure: the call that failed and the
 * device's own words. All functions may be called from any thread; operations given to one stream
 * by several threads at the same time are ordered somehow. No function but event_synchronize,
 * stream_synchronize, open and close waits for work on the device.
 *
 * Sizes are in bytes unless they say otherwise. Matrices are column-major and their sizes are in
 * elements. Pointers named after operands are device memory of the stream's device. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HETSCHED_DEVICE_INTERFACE 3 /* changes with the layout of what follows */

typedef struct hs_device hs_device;
typedef struct hs_stream hs_stream; /* operations in it run in the order they were given */
typedef struct hs_event hs_event;   /* a point in a stream; may be recorded again and again */

typedef enum hs_status {
  hs_ok = 0,
  hs_not_ready = 1,    /* event_query: not reached yet */
  hs_no_memory = 2,    /* on the device, or no more memory can be pinned */
  hs_failed = 3,       /* this operation failed, the device goes on */
  hs_lost = 4,         /* the device does not work any more; so does every later call answer */
  hs_no_driver = 5,    /* no device of this kind in this machine, or no driver for it */
  hs_not_supported = 6 /* this driver has no such operation */
} hs_status;

typedef enum hs_type { hs_float = 0, hs_double = 1 } hs_type;

/* `height` rows of `width` bytes; a pitch is the distance between the beginnings of two rows. A
 * device is null on the side that is host memory. At least one side is a device: the stream's. */
typedef struct hs_copy {
  void* to;
  size_t to_pitch;
  hs_device* to_device;
  void const* from;
  size_t from_pitch;
  hs_device* from_device;
  size_t width;
  size_t height;
} hs_copy;

typedef struct hs_driver {
  uint32_t version; /* HETSCHED_DEVICE_INTERFACE */
  char const* name; /* "cuda", "emu" */
  char const* (*last_error)(void);

  /* ---- devices ---- */

  /* How many there are; hs_no_driver if there can be none. The emulation makes as many as asked. */
  hs_status (*count)(int* devices);
  /* `options`: what stands behind the '?' of this device's entry in HETSCHED_DEVICES; "" if
   * nothing. `capacity`: how much memory the device is to have, for a driver that can choose; 0: by
   * default. */
  hs_status (*open)(int ordinal, size_t capacity, char const* options, hs_device** device);
  void (*close)(hs_device* device); /* its streams, events and memory were given back */
  char const* (*describe)(hs_device* device); /* "NVIDIA H100 80GB HBM3"; lives as it does */
  hs_status (*memory)(hs_device* device, size_t* unused, size_t* total);
  /* Whether copies between the two need not pass through host memory. */
  int (*reaches)(hs_device* from, hs_device* to);

  /* ---- memory ---- */

  hs_status (*allocate)(hs_device* device, size_t bytes, void** memory);
  void (*release)(hs_device* device, void* memory);
  /* Memory on the device that the program has, and that will be used until `disown`; hs_failed if it
   * is not on this device. The emulation takes any host memory. */
  hs_status (*adopt)(hs_device* device, void* memory, size_t bytes);
  void (*disown)(hs_device* device, void* memory);
  /* Host memory that copies need not pass through a buffer for. */
  hs_status (*allocate_pinned)(hs_device* device, size_t bytes, void** memory);
  void (*release_pinned)(hs_device* device, void* memory);
  /* The same for memory that exists; hs_failed if some of it is pinned already. */
  hs_status (*pin)(hs_device* device, void* memory, size_t bytes);
  void (*unpin)(hs_device* device, void* memory);
  /* A block of device memory that nothing uses is handed out anew: a driver that looks for mistakes
   * spoils its contents (the emulation: with signalling NaNs, in debug builds). */
  void (*renew)(hs_device* device, void* memory, size_t bytes);

  /* ---- streams and events ---- */

  hs_status (*stream_create)(hs_device* device, hs_stream** stream);
  void (*stream_destroy)(hs_stream* stream); /* waits for what it was given */
  hs_status (*stream_synchronize)(hs_stream* stream);
  /* The stream's later operations begin after the event, of this driver, is reached. */
  hs_status (*stream_wait)(hs_stream* stream, hs_event* event);
  hs_device* (*stream_device)(hs_stream* stream);
  void* (*stream_native)(hs_stream* stream); /* cudaStream_t; null if there is none */
  void* (*stream_blas)(hs_stream* stream);   /* cublasHandle_t bound to it; null if none */
  hs_status (*event_create)(hs_device* device, hs_event** event);
  void (*event_destroy)(hs_event* event);
  hs_status (*event_record)(hs_event* event, hs_stream* stream);
  /* The same in a stream of the program's own: a cudaStream_t; for the emulation an hs_stream of any
   * of its devices. */
  hs_status (*event_record_native)(hs_event* event, void* stream);
  /* hs_ok: reached; hs_not_ready; else why an operation before it failed. An event never recorded
   * counts as reached. */
  hs_status (*event_query)(hs_event* event);
  hs_status (*event_synchronize)(hs_event* event);
  /* From one reached event of a device to another, in nanoseconds. */
  hs_status (*event_elapsed)(hs_event* from, hs_event* to, int64_t* ns);

  /* ---- what streams do ---- */

  hs_status (*copy)(hs_stream* stream, hs_copy const* copy);
  hs_status (*fill)(hs_stream* stream, void* memory, int byte, size_t bytes);
  /* Calls `function(argument)` on a host thread that may address the device's memory, in the
   * stream's order: a kernel for the emulation. `argument` must live until then; `drop(argument)`
   * is called once, whether or not the function was. hs_not_supported where device memory is not
   * for the host to touch. */
  hs_status (*run)(hs_stream* stream,
                   void (*function)(void* argument),
                   void (*drop)(void* argument),
                   void* argument);

  /* ---- BLAS; letters as in BLAS: side 'L' 'R', uplo 'L' 'U', trans 'N' 'T', diag 'N' 'U' ---- */

  hs_status (*gemm)(hs_stream* stream, hs_type type, char trans_a, char trans_b, int m, int n,
                    int k, double alpha, void const* a, int lda, void const* b, int ldb,
                    double beta, void* c, int ldc);
  hs_status (*symm)(hs_stream* stream, hs_type type, char side, char uplo, int m, int n,
                    double alpha, void const* a, int lda, void const* b, int ldb, double beta,
                    void* c, int ldc);
  hs_status (*syrk)(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k,
                    double alpha, void const* a, int lda, double beta, void* c, int ldc);
  hs_status (*syr2k)(hs_stream* stream, hs_type type, char uplo, char trans, int n, int k,
                     double alpha, void const* a, int lda, void const* b, int ldb, double beta,
                     void* c, int ldc);
  /* B := alpha op(A) B or alpha B op(A), A triangular. */
  hs_status (*trmm)(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag,
                    int m, int n, double alpha, void const* a, int lda, void* b, int ldb);
  hs_status (*trsm)(hs_stream* stream, hs_type type, char side, char uplo, char trans, char diag,
                    int m, int n, double alpha, void const* a, int lda, void* b, int ldb);
  hs_status (*axpy)(hs_stream* stream, hs_type type, int n, double alpha, void const* x, int incx,
                    void* y, int incy);
  hs_status (*scal)(hs_stream* stream, hs_type type, int n, double alpha, void* x, int incx);
  hs_status (*blas_copy)(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* y,
                         int incy);
  hs_status (*swap)(hs_stream* stream, hs_type type, int n, void* x, int incx, void* y, int incy);
  /* The result, one element, goes to device memory. */
  hs_status (*dot)(hs_stream* stream, hs_type type, int n, void const* x, int incx, void const* y,
                   int incy, void* result);
  hs_status (*nrm2)(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result);
  hs_status (*asum)(hs_stream* stream, hs_type type, int n, void const* x, int incx, void* result);

  /* ---- LAPACK; null where the driver has none ---- */

  /* Elements that `work` of the next two needs at least. */
  hs_status (*potrf_work)(hs_stream* stream, hs_type type, char uplo, int n, int lda,
                          size_t* elements);
  /* *info, on the device, as LAPACK's. Null `work`, then of no elements, or null `info`: the driver
     sees to memory of its own. A pivot that is not positive stays in place or is NaN. */
  hs_status (*potrf)(hs_stream* stream, hs_type type, char uplo, int n, void* a, int lda,
                     void* work, size_t work_elements, int* info);
  hs_status (*getrf_work)(hs_stream* stream, hs_type type, int m, int n, int lda,
                          size_t* elements);
  /* `pivots`: min(m, n) row numbers from 1, on the device. */
  hs_status (*getrf)(hs_stream* stream, hs_type type, int m, int n, void* a, int lda, void* work,
                     size_t work_elements, int* pivots, int* info);

  /* ---- names ---- */

  /* What the calling thread gives to devices from here to range_end is this task's, for tools that
     look at the program (CUDA: NVTX, which Nsight shows). Ranges nest. Null: no tool does. */
  void (*range_begin)(char const* name);
  void (*range_end)(void);
} hs_driver;

/* CUDA and cuBLAS. Always there: where it was built without, its count() answers hs_no_driver. */
hs_driver const* hetsched_cuda_driver(void);

/* Emulated devices: host memory of their own, streams on threads, BLAS on the CPU. */
hs_driver const* hetsched_emulated_driver(void);

#ifdef __cplusplus
}
#endif
#endif
