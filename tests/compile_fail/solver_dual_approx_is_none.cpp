// SPDX-License-Identifier: MIT
// expected-error: hetsched: DualApprox<Solver> needs a solver, see independent_tasks.hpp
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/dual_approx.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::DualApprox<int>> rt;
}
