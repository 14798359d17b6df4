// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/perf_models/regression.hpp>
#include <hetsched/policies/perf_models/stored.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>

#include "../../support/mutations.hpp"
#include "../../support/support.hpp"
#include "model_folder.hpp"
#include "sized_task.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::policies::History;
using hs::policies::Regression;
using hs::policies::Stored;
using support::Folder;
using support::site;

namespace stored_test {

void record(auto& model, Sized const& task, hs::Arch arch, std::vector<std::int64_t> const& times) {
  for (auto const ns : times) {
    model.record(task.view, arch, {ns});
  }
}

/// All files of times in a folder, by their names.
std::map<std::string, hs::detail::TimesFile> files(Folder const& folder) {
  std::map<std::string, hs::detail::TimesFile> all;
  for (auto const& entry : fs::recursive_directory_iterator(folder.path())) {
    auto const name = entry.path().filename().string();
    if (name.ends_with(".times.json")) {
      all[name] = hs::detail::parse_times(support::contents(entry.path()), entry.path());
    }
  }
  return all;
}

fs::path the_file(Folder const& folder, std::string_view what = "C_1") {
  for (auto const& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with(what)) {
      return entry.path();
    }
  }
  return {};
}

std::size_t count_files(Folder const& folder, std::string_view ending) {
  std::size_t count = 0;
  for (auto const& entry : fs::recursive_directory_iterator(folder.path())) {
    count += entry.path().filename().string().ends_with(ending) ? 1U : 0U;
  }
  return count;
}

/// What a model that begins now predicts, in nanoseconds.
template <class Model = Stored<>>
std::optional<std::int64_t>
after(Folder const& folder, std::string_view type, hs::Arch arch = ArchHost) {
  Model model;
  model.begin(site(folder));
  auto const known = model.predict(Sized(type).view, arch);
  return known ? std::optional(known->mean.ns) : std::nullopt;
}

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("Stored: the next run begins with what this one recorded") {
  Folder const folder;
  Sized const gemm("gemm");
  for (std::int64_t const base : {100, 200}) {
    Stored<> model;
    model.begin(site(folder));
    record(model, gemm, ArchHost, {base, base + 1, base + 2});
    record(model, gemm, ArchCUDA, {base / 10, base / 10, base / 10});
  }
  auto const all = files(folder);
  REQUIRE(all.size() == 2); // one for each class of workers
  for (auto const& [name, file] : all) {
    CHECK(file.machine == "node7");
    REQUIRE(file.kinds.size() == 1);
    auto const& kind = file.kinds[0];
    CHECK(kind.type == "gemm");
    CHECK(kind.footprint == gemm.view.footprint());
    CHECK(kind.bytes == 8);
    CHECK(kind.count == 6);
    CHECK(kind.newest.size() == 6);
    CHECK(kind.newest.back().ns == (kind.arch == ArchHost ? 202 : 20)); // the newest comes last
    CHECK(kind.mean_ns == doctest::Approx(kind.arch == ArchHost ? 151 : 15));
  }
  CHECK(after(folder, "gemm") == 102); // the lower one in the middle of six
  CHECK(after(folder, "gemm", ArchCUDA) == 10);
  CHECK(after(folder, "trsm") == std::nullopt);
  CHECK(after<Stored<Regression>>(folder, "gemm") == 102);
  CHECK(count_files(folder, ".part") == 0);
}

TEST_CASE("Stored: a task's work is kept, too, and may be missing in a file") {
  Folder const folder;
  Sized task("subtree");
  for (double const work : {1e6, 4e6}) {
    task.view.flops = hs::flops(work).value;
    Stored<Regression> model;
    model.begin(site(folder));
    auto const ns = static_cast<std::int64_t>(work / 1000);
    record(model, task, ArchHost, {ns, ns, ns});
  }
  task.view.flops = 2e6F;
  Stored<Regression> model;
  model.begin(site(folder));
  auto const known = model.predict(task.view, ArchHost);
  REQUIRE(known);
  CHECK(std::abs(known->mean.ns - 2000) <= 1);
  auto const text = support::contents(the_file(folder));
  CHECK(support::contains(text, "\"flops\": 1000000.0"));
  auto const refused = [&](std::string const& number) {
    auto bad = text;
    bad.replace(bad.find("1000000.0"), 9, number);
    return support::message_of([&] { (void)hs::detail::parse_times(bad, "f"); });
  };
  CHECK(refused("5.5").empty());
  CHECK(support::contains(refused("-1"), "flops"));
  CHECK(support::contains(refused("1e39"), "flops"));
  CHECK(support::contains(refused("\"x\""), "flops"));
}

TEST_CASE("Stored: 32 times of each kind are kept, and their number") {
  Folder const folder;
  Sized const task("t");
  for (int k = 0; k < 3; ++k) {
    Stored<> model;
    model.begin(site(folder));
    record(model, task, ArchHost, std::vector<std::int64_t>(50, 1000 + k));
  }
  auto const kind = files(folder).begin()->second.kinds.at(0);
  CHECK(kind.count == 150);
  CHECK(kind.mean_ns == doctest::Approx(1001));
  CHECK(kind.newest == std::vector<hs::Duration>(32, hs::Duration{1002}));
}

TEST_CASE("Stored: a drift is not undone by older files") {
  Folder const folder;
  Sized const task("t");
  {
    Stored<> model;
    model.begin(site(folder));
    record(model, task, ArchHost, std::vector<std::int64_t>(32, 1000));
  }
  {
    Stored<> model;
    model.begin(site(folder));
    record(model, task, ArchHost, std::vector<std::int64_t>(12, 5000));
    CHECK(model.predict(task.view, ArchHost)->mean.ns == 5000);
  }
  CHECK(after(folder, "t") == 5000);
  CHECK(files(folder).begin()->second.kinds.at(0).drifts == 1);
}

TEST_CASE("Stored: two runtimes at once lose nothing") {
  Folder const folder;
  Sized const shared("shared");
  Sized const own[2] = {Sized("first"), Sized("second")};
  {
    Stored<> models[2];
    for (auto& model : models) {
      model.begin(site(folder));
    }
    for (int m = 0; m < 2; ++m) {
      record(models[m], shared, ArchHost, {10, 20, 30, 40});
      record(models[m], own[m], ArchHost, {5, 5, 5});
    }
  }
  auto const kinds = files(folder).begin()->second.kinds;
  REQUIRE(kinds.size() == 3);
  for (auto const& kind : kinds) {
    CHECK(kind.count == (kind.type == "shared" ? 8 : 3));
    CHECK(kind.newest.size() == kind.count);
  }
}

TEST_CASE("Stored: processes that save at once lose nothing") {
  Folder const folder;
  constexpr int processes = 8;
  constexpr int rounds = 5;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    auto const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int k = 0; k < rounds; ++k) {
        Stored<> model;
        model.begin(site(folder));
        record(model, Sized("shared"), ArchHost, {10, 20, 30});
        record(model, Sized("of " + std::to_string(p)), ArchHost, {1});
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (auto const child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  auto const kinds = files(folder).begin()->second.kinds;
  REQUIRE(kinds.size() == 1 + processes);
  for (auto const& kind : kinds) {
    CHECK(kind.count == (kind.type == "shared" ? processes * rounds * 3 : rounds));
  }
  CHECK(count_files(folder, ".bad") == 0);
}

TEST_CASE("Stored: what cannot be used is set aside, and nothing of it is lost") {
  Folder const folder;
  Sized const task("t");
  auto const run = [&](std::int64_t time) {
    Stored<> model;
    model.begin(site(folder));
    bool const knew = model.predict(task.view, ArchHost).has_value();
    record(model, task, ArchHost, {time, time, time});
    return knew;
  };
  CHECK(!run(7));
  auto const file = the_file(folder);
  auto const good = support::contents(file);
  std::size_t aside = 0;
  for (auto const& bad : {std::string("{"),
                          std::string(),
                          replaced(good, "times-1", "times-2"),
                          replaced(good, "node7", "node8"),
                          replaced(good, "C 1", "C 2"),
                          replaced(good, "\"cpu\"", "\"cuda\""),
                          replaced(good, "\"count\": 3", "\"count\": 2"),
                          replaced(good, "drifts", "unknown")}) {
    support::write(file, bad);
    CAPTURE(bad);
    CHECK(!run(9)); // goes on uncalibrated
    ++aside;
    CHECK(support::contents(file.string() + ".bad" + (aside == 1 ? "" : std::to_string(aside))) ==
          bad);
    CHECK(after(folder, "t") == 9);
  }
  support::write(file, "{");
  auto const child = support::run_in_child([&] { return run(9) ? 1 : 0; });
  CHECK(child.exit_code == 0);
  CHECK(std::count(child.errors.begin(), child.errors.end(), '\n') == 1);
  CHECK(support::contains(child.errors, file.string()));
  CHECK(support::contains(child.errors, "set aside as"));
  support::write(file, good);
  CHECK(run(7));

  // Spoilt while a run was on.
  {
    Stored<> model;
    model.begin(site(folder));
    record(model, task, ArchHost, {7});
    support::write(file, "[]");
  }
  CHECK(files(folder).at(file.filename().string()).kinds.at(0).count == 1);
}

TEST_CASE("Stored: readers of files survive anything") {
  Folder const folder;
  {
    Stored<> model;
    model.begin(site(folder));
    record(model, Sized("a \"quoted\" name"), ArchHost, {1, 2, 3});
    record(model, Sized("gemm"), ArchHost, {100, 200, 300});
  }
  auto const good = support::contents(the_file(folder));
  auto const accepted = try_mutations(good, [](std::string const& text) {
    auto const file = hs::detail::parse_times(text, "FILE");
    History model;
    for (auto const& kind : file.kinds) {
      model.restore(kind);
    }
  });
  CHECK(accepted > 0);
}

TEST_CASE("Stored: machines and hardware have files of their own") {
  Folder const folder;
  std::vector<std::string> const names{"a b", "a_b", "a/b", "..", ".", "", std::string(300, 'x')};
  for (auto const& name : names) {
    Stored<> model;
    auto machine = site(folder, 0);
    machine.machine = name.empty() ? "none" : name;
    machine.classes[0].hardware = machine.machine;
    model.begin(machine);
    record(model, Sized("t"), ArchHost, {1, 1, 1});
  }
  CHECK(count_files(folder, ".times.json") == names.size());
  for (auto const& entry : fs::directory_iterator(folder.path())) {
    CHECK(entry.path().filename() == "models"); // nothing beside the folder
  }
}

TEST_CASE("Stored: without a folder it is the model; one that cannot be is named") {
  Folder const folder;
  auto machine = site(folder);
  machine.model_dir.clear();
  Sized const task("t");
  {
    Stored<> model;
    model.begin(machine);
    record(model, task, ArchHost, {1, 2, 3});
    CHECK(model.predict(task.view, ArchHost)->mean.ns == 2);
  }
  CHECK(fs::is_empty(folder.path()));

  support::write(folder.path() / "file", "");
  machine.model_dir = folder.path() / "file" / "models";
  Stored<> model;
  try {
    model.begin(machine);
    FAIL("made a folder in a file");
  } catch (hs::Error const& error) {
    CHECK(error.code() == hs::ErrorCode::bad_config);
    CHECK(error.culprit() == "HETSCHED_MODEL_DIR");
    CHECK(support::contains(error.what(), machine.model_dir));
  }
}

TEST_CASE("Stored: in a runtime") {
  Folder const folder;
  auto config = support::on_cpus(2);
  config.model_dir = folder.path();
  config.machine = "here";
  using Runtime = hs::Runtime<hs::policies::Dmda<>, hs::policies::Lru, Stored<>>;
  for (int k = 0; k < 2; ++k) {
    Runtime rt(config);
    double x = 0;
    auto const handle = rt.data(x);
    for (int n = 0; n < 8; ++n) {
      rt.spawn()([](double& value) { value += 1; }, hs::read_write(handle));
    }
    rt.sync();
  }
  auto const all = files(folder);
  REQUIRE(all.size() == 1);
  auto const& file = all.begin()->second;
  CHECK(file.machine == "here");
  CHECK(file.workers.hardware == hs::detail::cpu_model());
  REQUIRE(file.kinds.size() == 1);
  CHECK(file.kinds[0].count == 16);
  CHECK(file.kinds[0].bytes == sizeof(double));

  config.group = 2; // other times, of other workers
  CHECK(Runtime(config).workers()[0].cores == 2);
  {
    Runtime rt(config);
    rt.spawn()([] {});
    rt.sync();
  }
  REQUIRE(files(folder).size() == 2);
  for (auto const& [name, known] : files(folder)) {
    CHECK(known.kinds[0].count == (name == all.begin()->first ? 16 : 1));
  }

  config.model_dir = "/dev/null/models";
  CHECK_THROWS_WITH_AS(Runtime{config}, doctest::Contains("HETSCHED_MODEL_DIR"), hs::Error);
}

TEST_SUITE_END();

} // namespace stored_test
