// SPDX-License-Identifier: MIT
#include <hetsched/policies/perf_models/bandwidth.hpp>
#include <hetsched/policies/perf_models/history.hpp>

#include "../../support/support.hpp"
#include "measured_platform.hpp"
#include "model_folder.hpp"
#include "sized_task.hpp"

#include <doctest/doctest.h>

namespace hs = hetsched;

using hs::ArchHost;
using hs::NodeId;
using hs::policies::Bandwidth;
using hs::policies::History;
using support::Folder;
using support::site;

namespace bandwidth_test {

struct Links : Bandwidth<History> {
  Links() : Bandwidth<History>(hs::parse_platform(measured_platform, "links")) {}
};

static_assert(hs::perf_model<Links>);

template <class Model>
void learns(Model& model) {
  Sized const task("gemm");
  for (int k = 0; k < 3; ++k) {
    model.record(task.view, ArchHost, {70});
  }
  auto const known = model.predict(task.view, ArchHost);
  REQUIRE(known);
  CHECK(known->mean.ns == 70);
}

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("Bandwidth: equation 1, with as many devices as the runtime has") {
  Folder const folder;
  for (int const devices : {1, 2}) {
    Links model;
    model.begin(site(folder, devices));
    CHECK(model.transfer(1000, hs::host_node, NodeId{1}).ns == 10 + devices * 1000);
    CHECK(model.transfer(1000, NodeId{1}, hs::host_node).ns == 20 + devices * 500);
    CHECK(model.transfer(1000, NodeId{1}, NodeId{2}).ns == 30 + devices * 250);
    CHECK(model.transfer(0, NodeId{2}, NodeId{1}).ns == 30);
    CHECK(model.transfer(1000, NodeId{1}, NodeId{1}).ns == 0);
    learns(model);
  }
  CHECK_THROWS_WITH_AS(
      Links{}.begin(site(folder, 3)), doctest::Contains("platform 'measured'"), hs::Error);
}

TEST_CASE("Bandwidth: the file of hetsched-calibrate for this hardware") {
  Folder const folder;
  auto const two = site(folder, 2);
  auto const file = folder.path() / "models" / "node7" / calibrated_file(two);
  {
    Bandwidth<> model;
    model.begin(two);
    CHECK(model.transfer(1000, hs::host_node, NodeId{1}).ns == 0); // nobody knows
    learns(model);
  }
  support::write(file, measured_platform);
  {
    Bandwidth<> model;
    model.begin(two);
    CHECK(model.transfer(1000, hs::host_node, NodeId{1}).ns == 2010);
    CHECK(model.predict(Sized("gemm").view, ArchHost).has_value()); // times are kept, too
  }
  {
    Bandwidth<> model;
    auto other = two;
    other.classes.back().hardware = "another GPU";
    model.begin(other);
    CHECK(model.transfer(1000, hs::host_node, NodeId{1}).ns == 0);
  }
  auto const child = support::run_in_child([&] {
    Bandwidth<> model; // more devices than were measured
    model.begin(site(folder, 3));
    return static_cast<int>(model.transfer(1000, hs::host_node, NodeId{1}).ns);
  });
  CHECK(child.exit_code == 0);
  CHECK(support::contains(child.errors, "has 2 GPUs, and the runtime 3 devices"));
  CHECK(std::filesystem::exists(file)); // good for runs with fewer

  support::write(file, "{}");
  {
    Bandwidth<> model;
    model.begin(two);
    CHECK(model.transfer(1000, hs::host_node, NodeId{1}).ns == 0);
  }
  CHECK(!std::filesystem::exists(file));
  CHECK(support::contents(file.string() + ".bad") == "{}");
}

TEST_SUITE_END();

} // namespace bandwidth_test
