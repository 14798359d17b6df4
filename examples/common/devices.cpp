// SPDX-License-Identifier: MIT
// A program that has this source has devices. Programs without it do not load CUDA's libraries,
// which takes seconds under valgrind.

#include <hetsched/gpu.hpp>
