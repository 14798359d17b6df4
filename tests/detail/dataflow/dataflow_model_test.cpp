// SPDX-License-Identifier: MIT
// Sequences of events that explore_dataflow has found, each the shortest that breaks something if a
// rule is taken out.

#include "attempts_model.hpp"
#include "dataflow_settings.hpp"

#include <doctest/doctest.h>

namespace dataflow_model_test {

TEST_SUITE_BEGIN("detail");

using namespace dataflow_model;

TEST_CASE("Dataflow: contributions of a failed series are dropped with it") {
  CHECK(violation_of(parts(),
                     {
                         {Step::spawn, 2, 0, 0, 0},     // a task adds to a
                         {Step::spawn, 1, 0, 0, 0},     // a task writes a
                         {Step::spawn, 2, 0, 0, 0},     // a task adds to a
                         {Step::run_badly, 0, 0, 0, 0}, // task 0 runs and fails
                     })
            .empty());
}

TEST_CASE("Dataflow: the parts of what was lost are bad, and a sync says so") {
  CHECK(violation_of(losses(),
                     {
                         {Step::lose, 0, 0, 0, 0},      // a is lost with a device
                         {Step::partition, 0, 0, 0, 0}, // a is partitioned
                     })
            .empty());
}

TEST_CASE("Dataflow: a whole with a lost part is bad, and a sync says so") {
  CHECK(violation_of(losses(),
                     {
                         {Step::partition, 0, 0, 0, 0}, // a is partitioned
                         {Step::lose, 2, 0, 0, 0},      // c is lost with a device
                     })
            .empty());
}

TEST_CASE("Dataflow: a partition of a part may end after the whole's") {
  CHECK(violation_of(parts_of_parts(),
                     {
                         {Step::partition, 0, 0, 0, 0}, // a is partitioned
                         {Step::partition, 1, 0, 0, 0}, // b is partitioned
                         {Step::spawn, 1, 3, 0, 0},     // a task writes d
                         {Step::join, 0, 0, 0, 0},      // a is joined
                         {Step::run, 0, 0, 0, 0},       // task 0 runs, or is skipped
                         {Step::leave, 0, 0, 0, 0},     // a partition of what was joined ends
                     })
            .empty());
}

TEST_CASE("Dataflow: what a skipped task was to overwrite stays bad") {
  CHECK(violation_of(group(),
                     {
                         {Step::spawn, 1, 0, 128, 0}, // a task of the group writes a
                         {Step::spawn, 1, 0, 128, 0}, // a task of the group writes a
                         {Step::begin, 0, 0, 0, 0},   // task 0 begins, or is skipped
                         {Step::cancel, 0, 0, 0, 0},  // the group is cancelled
                         {Step::fail, 0, 0, 0, 0},    // task 0 fails
                         {Step::begin, 1, 0, 0, 0},   // task 1 begins, or is skipped
                     })
            .empty());
}

} // namespace dataflow_model_test

namespace attempts_model_test {

using namespace attempts_model;

TEST_CASE("Attempts: who comes after the result looks at the task no more") {
  CHECK(violation_of(core_and_devices(),
                     {
                         {Step::take, 1, 0},
                         {Step::reserve, 2, 0},
                         {Step::visit, 2, 0},
                         {Step::enter, 2, 0},
                     })
            .empty());
}

TEST_CASE("Attempts: a task is not over while a losing attempt on a core reads its data") {
  CHECK(violation_of(three_cores(),
                     {
                         {Step::take, 0, 0},
                         {Step::look, 0, 0},
                         {Step::reserve, 1, 0},
                         {Step::visit, 1, 0},
                         {Step::enter, 1, 0},
                     })
            .empty());
}

TEST_SUITE_END();

} // namespace attempts_model_test
