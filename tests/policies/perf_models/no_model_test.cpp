// SPDX-License-Identifier: MIT
#include <hetsched/policies/perf_models/no_model.hpp>

#include <doctest/doctest.h>

namespace hs = hetsched;

using hs::policies::NoModel;

namespace no_model_test {

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("NoModel: asks for no clock and predicts nothing, whatever it is told") {
  static_assert(!NoModel::measures);
  NoModel model;
  hs::TaskView const task;

  CHECK(!model.predict(task, hs::ArchHost));
  model.record(task, hs::ArchHost, hs::Duration{100});
  CHECK(!model.predict(task, hs::ArchHost));
}

TEST_CASE("NoModel: only NoModel itself is never asked, not a model derived from it") {
  struct Derived : NoModel {};

  struct Independent {};

  static_assert(!hs::predicts_anything<NoModel>);
  static_assert(hs::predicts_anything<Derived>);
  static_assert(hs::predicts_anything<Independent>);
}

TEST_CASE("NoModel: takes transfers as free") {
  CHECK(NoModel().transfer(1 << 30, hs::host_node, hs::NodeId{1}) == hs::Duration{});
}

TEST_SUITE_END();

} // namespace no_model_test
