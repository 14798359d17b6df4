// SPDX-License-Identifier: MIT
#pragma once
// Programs of several ranks. Without cluster/mpi_transport.hpp, which needs MPI.

#include <hetsched/cluster/distributed_matrix.hpp>
#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/core/version.hpp>
