// SPDX-License-Identifier: MIT
#pragma once
// Task collections over global arrays. Without the transports, of which a program includes one:
// cluster/loopback_rma.hpp, cluster/rma_over_messages.hpp, cluster/mpi_rma_transport.hpp or
// cluster/ga_transport.hpp; without optimal_distribution.hpp, which needs Cbc; and without virtual
// time, which is collections/simulated_collection.hpp.

#include <hetsched/collections/global_array.hpp>
#include <hetsched/collections/steal.hpp>
#include <hetsched/collections/task_collection.hpp>
#include <hetsched/core/version.hpp>
