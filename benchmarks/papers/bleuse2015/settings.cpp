// SPDX-License-Identifier: MIT

#include "settings.hpp"

#include <hetsched/detail/files/json_file.hpp>

namespace bleuse2015 {

namespace {

using hetsched::detail::JsonValue;

papers::Vocabulary words() {
  std::vector<std::string> const simulated{"blocks", "gpus"};
  return {.strategies = {"dp", "heft", "accel", "four_thirds"},
          .workloads = {{"random", {"n"}},
                        {"guarantee", {"n", "cpus", "gpus"}},
                        {"time", {"n", "cpus", "gpus"}},
                        {"lemma3", {"cpus"}},
                        {"blocks", {"block"}},
                        {"gpus", {"gpus"}}},
          .metrics = {{"most_percent", false, {"random"}},
                      {"mean_percent", false, {"random"}},
                      {"guarantee_percent", false, {"guarantee"}},
                      {"seconds", false, {"time", "blocks", "gpus"}},
                      {"times_heft", false, {"time"}},
                      {"makespan", false, {"lemma3"}},
                      {"scheduling_seconds", false, {"blocks"}},
                      {"gflops", true, simulated},
                      {"gigabytes", false, simulated}}};
}

Matrix matrix_in(JsonValue const& value) {
  auto const precision = value["precision"].text();
  if (precision != "single" && precision != "double") {
    value["precision"].refuse("is none of single, double");
  }
  return {value["n"].integer(1, 1'000'000),
          precision == "single" ? hetsched::Precision::single_precision
                                : hetsched::Precision::double_precision};
}

} // namespace

Settings read_settings(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format", "paper", "notes", "instances", "blocks", "gpus", "window", "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Settings settings;
  settings.instances = static_cast<int>(root["instances"].integer(1, 10'000));
  root["blocks"].only({"n", "precision", "cpus"});
  settings.blocks = matrix_in(root["blocks"]);
  settings.cores = static_cast<int>(root["blocks"]["cpus"].integer(1, 1000));
  root["gpus"].only({"n", "precision", "tile"});
  settings.gpus = matrix_in(root["gpus"]);
  settings.tile = root["gpus"]["tile"].integer(1, 1'000'000);
  settings.window = static_cast<int>(root["window"].integer(1, 1024));
  settings.claims = papers::claims_in(root["claims"], words());
  return settings;
}

} // namespace bleuse2015
