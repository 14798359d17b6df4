// SPDX-License-Identifier: MIT

#include "claims.hpp"

#include <hetsched/detail/files/json_file.hpp>

#include <string>
#include <vector>

namespace lima2015 {

namespace {

using hetsched::detail::JsonValue;

papers::Vocabulary words() {
  std::vector<std::string> const axes{"n", "gpus"};
  return {.strategies = {"ws",
                         "dataaware",
                         "locality",
                         "heft",
                         "ws+setarch",
                         "dataaware+setarch",
                         "locality+setarch",
                         "heft+setarch"},
          .workloads = {{"saxpy", axes}, {"jacobi", axes}, {"cholesky", axes}, {"lu", axes}},
          .metrics = {{"time", false, {}},
                      {"speed", true, {}},
                      {"speedup", true, {"saxpy"}},
                      {"gflops", true, {"cholesky", "lu"}},
                      {"bytes", false, {}},
                      {"gigabytes", false, {}},
                      {"hit_percent", true, {}}}};
}

hetsched::Precision precision_in(JsonValue const& value) {
  auto const text = value.text();
  if (text != "single" && text != "double") {
    value.refuse("is none of single, double");
  }
  return text == "single" ? hetsched::Precision::single_precision
                          : hetsched::Precision::double_precision;
}

Workload workload_in(JsonValue const& value, std::string const& name) {
  value.only({"precision", "tile", "sweeps", "about"});
  Workload workload;
  workload.precision = precision_in(value["precision"]);
  workload.tile = value["tile"].integer(1, 100'000'000);
  if (name == "jacobi") {
    workload.sweeps = value["sweeps"].integer(1, 10'000);
  }
  return workload;
}

Memory memory_in(JsonValue const& value) {
  value.only({"gpu_bytes_per_s",
              "gpu_source",
              "core_bytes_per_s",
              "core_source",
              "host_bytes_per_s",
              "host_source"});
  constexpr double least = 1e6;
  constexpr double most = 1e15;
  return {value["gpu_bytes_per_s"].number(least, most),
          value["core_bytes_per_s"].number(least, most),
          value["host_bytes_per_s"].number(least, most)};
}

} // namespace

Claims read_claims(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format", "paper", "notes", "window", "workloads", "memory", "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Claims claims;
  claims.window = static_cast<int>(root["window"].integer(1, 1024));
  auto const those = root["workloads"];
  those.only({"saxpy", "jacobi", "cholesky", "lu"});
  for (auto const* const name : {"saxpy", "jacobi", "cholesky", "lu"}) {
    claims.workloads[name] = workload_in(those[name], name);
  }
  claims.memory = memory_in(root["memory"]);
  claims.all = papers::claims_in(root["claims"], words());
  return claims;
}

} // namespace lima2015
