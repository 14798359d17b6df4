// SPDX-License-Identifier: MIT
// expected-error: hetsched: Batches<Solver> needs a solver, see independent_tasks.hpp
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/batches.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::Batches<int>> rt;
}
