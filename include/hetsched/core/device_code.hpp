// SPDX-License-Identifier: MIT
#pragma once
// Functions that are compiled for devices, too.

/// In front of a function: nvcc compiles it for the host and for CUDA devices. Empty for other
/// compilers.
#ifdef __CUDACC__
#define HETSCHED_DEVICE __host__ __device__
#else
#define HETSCHED_DEVICE
#endif
