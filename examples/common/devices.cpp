// SPDX-License-Identifier: MIT
// Part of a program, it gives that program devices. A source of its own: programs without it do not
// load CUDA's libraries, which takes seconds under valgrind.

#include <hetsched/gpu.hpp>
