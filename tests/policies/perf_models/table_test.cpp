// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/perf_models/table.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>

#include "../../support/support.hpp"
#include "measured_platform.hpp"
#include "model_folder.hpp"
#include "sized_task.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::policies::Table;

namespace table_test {

struct Described : Table {
  Described() : Table(hs::parse_platform(measured_platform, "described")) {}
};

static_assert(hs::perf_model<Described>);

void knows_gemm(Table const& model) {
  Sized const gemm("gemm", 3 * 8 * 16 * 16);
  auto const on_core = model.predict(gemm.view, ArchHost);
  REQUIRE(on_core);
  CHECK(on_core->mean.ns == 5000);
  CHECK(on_core->spread.ns == 100);
  CHECK(on_core->samples == 12);
  auto const on_gpu = model.predict(gemm.view, ArchCUDA);
  REQUIRE(on_gpu);
  CHECK(on_gpu->mean.ns == 2000); // the first of two with as many bytes
  CHECK(on_gpu->spread.ns == 0);
  CHECK(on_gpu->samples == 0);
  CHECK(model.predict(Sized("gemm", 8).view, ArchHost) == std::nullopt); // a size it does not have
  CHECK(model.predict(Sized("trsm", 3 * 8 * 16 * 16).view, ArchHost) == std::nullopt);
  CHECK(model.predict(Sized("potrf", 8 * 16 * 16).view, ArchCUDA) == std::nullopt); // not there
}

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("Table: what a platform says, by name and bytes") {
  Described model;
  knows_gemm(model);
  model.record(Sized("potrf", 8).view, ArchHost, {1}); // learns nothing
  CHECK(model.predict(Sized("potrf", 8).view, ArchHost) == std::nullopt);
  CHECK(model.transfer(1000, hs::host_node, {1}).ns == 10 + 1000);
}

TEST_CASE("Table: of the file of hetsched-calibrate, if there is one") {
  support::Folder const folder;
  auto const site = support::site(folder, 2);
  {
    Table model;
    model.begin(site);
    CHECK(model.predict(Sized("gemm", 3 * 8 * 16 * 16).view, ArchHost) == std::nullopt);
    CHECK(model.transfer(1000, hs::host_node, {1}).ns == 0);
  }
  support::write(folder.path() / "models" / "node7" / calibrated_file(site), measured_platform);
  Table model;
  model.begin(site);
  knows_gemm(model);
  CHECK(model.transfer(1000, hs::host_node, {1}).ns == 10 + 2 * 1000); // two devices share
}

TEST_CASE("Table: a platform with fewer GPUs than the runtime has devices") {
  support::Folder const folder;
  Described model;
  CHECK_THROWS_WITH_AS(model.begin(support::site(folder, 3)),
                       doctest::Contains("platform 'measured': has 2 GPUs, and the runtime 3"),
                       hs::Error);
}

TEST_CASE("Table: in a runtime") {
  hs::Runtime<hs::policies::XkaapiHeft<>, hs::policies::Lru, Described> rt(support::on_cpus(2));
  int sum = 0;
  auto const x = rt.data(sum);
  for (int k = 0; k < 10; ++k) {
    rt.spawn()([](int& s) { ++s; }, hs::read_write(x));
  }
  rt.sync();
  CHECK(sum == 10);
}

TEST_SUITE_END();

} // namespace table_test
