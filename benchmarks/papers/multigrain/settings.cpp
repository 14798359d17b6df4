// SPDX-License-Identifier: MIT

#include "settings.hpp"

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/json_file.hpp>

#include <algorithm>

namespace multigrain {

namespace {

using hetsched::detail::JsonValue;

constexpr char const* on_system_2 = "@2";

papers::Vocabulary words() {
  std::vector<std::string> names;
  for (auto const& strategy : strategies()) {
    names.push_back(strategy.name);
  }
  names.insert(names.end(), {"sum", "streamed"});
  for (std::size_t k = 0, all = names.size(); k < all; ++k) {
    names.push_back(names[k] + on_system_2);
  }
  std::vector<std::string> const step3{"step3"};
  return {.strategies = names,
          .workloads = {{"step3", {"n"}}, {"all", {"n"}}},
          .metrics = {{"gflops", true, {}},
                      {"seconds", false, {}},
                      {"transfer_seconds", false, step3},
                      {"transfers", false, step3},
                      {"gigabytes", false, step3},
                      {"ratio", true, step3},
                      {"ratio_peak", true, step3},
                      {"gain_percent", true, step3},
                      {"gain_peak", true, step3},
                      {"most_gain_percent", true, step3},
                      {"lead_percent", true, step3},
                      {"deviation_percent", false, step3},
                      {"detection_percent", false, {"all"}}}};
}

/// Whether a strategy has the metric: sums and streamed kernels have their speed only.
bool has_metric(std::string const& name, std::string const& metric) {
  auto const* const strategy = strategy_of(name);
  if (strategy == nullptr) {
    return metric == "gflops";
  }
  if (metric.find("gain") != std::string::npos) {
    return !strategy->without_cache.empty();
  }
  if (metric == "lead_percent") {
    return !strategy->coarse.empty();
  }
  return strategy->where != Strategy::Where::cpus || (metric.find("ratio") == std::string::npos &&
                                                      metric.find("transfer") == std::string::npos);
}

/// Throws Error(bad_input) that names the claim.
void check_metrics(papers::Claim const& claim) {
  for (auto const& configuration : claim.configurations()) {
    if (!has_metric(configuration.strategy, claim.rule->metric)) {
      throw hetsched::Error(hetsched::ErrorCode::bad_input,
                            "claim " + claim.id,
                            configuration.strategy + " has no " + claim.rule->metric);
    }
    if (configuration.workload == "all" && strategy_of(configuration.strategy) == nullptr) {
      throw hetsched::Error(hetsched::ErrorCode::bad_input,
                            "claim " + claim.id,
                            configuration.strategy + " is of step 3 only");
    }
  }
}

} // namespace

std::vector<Strategy> const& strategies() {
  using enum Strategy::Where;
  using Tasks = Strategy::Tasks;
  using Order = Strategy::Order;
  using Memory = Strategy::Memory;
  constexpr auto dealt = Order::round_robin;
  constexpr auto off = Memory::nothing;
  static std::vector<Strategy> const all{
      {"cpus-fine", cpus, Tasks::fine, dealt, off, {}, "cpus-coarse"},
      {"cpus-coarse", cpus, Tasks::coarse, dealt, off},
      {"gpu-fine", gpu, Tasks::fine, dealt, off, {}, "gpu-coarse"},
      {"gpu-coarse", gpu, Tasks::coarse, dealt, off},
      {"both-fine", both, Tasks::fine, dealt, off, {}, "both-coarse"},
      {"both-coarse", both, Tasks::coarse, dealt, off},
      {"both-off", both, Tasks::both, Order::deque, off},
      {"gpu-cached", gpu, Tasks::coarse, dealt, Memory::guided, "gpu-coarse"},
      {"both-unguided", both, Tasks::both, Order::deque, Memory::guided, "both-off"},
      {"both-guided", both, Tasks::both, Order::reuse, Memory::guided, "both-off"},
      {"gpu-guided", gpu, Tasks::both, Order::reuse, Memory::guided, "gpu-coarse"},
      {"gpu-guided-1gb", gpu, Tasks::both, Order::reuse, Memory::as_system_1, "gpu-coarse"},
      {"gpu-cached-lru", gpu, Tasks::coarse, dealt, Memory::lru, "gpu-coarse"},
      {"both-unguided-lru", both, Tasks::both, Order::deque, Memory::lru, "both-off"},
      {"both-guided-lru", both, Tasks::both, Order::reuse, Memory::lru, "both-off"},
      {"gpu-guided-lru", gpu, Tasks::both, Order::reuse, Memory::lru, "gpu-coarse"}};
  return all;
}

Strategy const* strategy_of(std::string const& name) {
  auto const base = name.substr(0, name.size() - suffix_of(name).size());
  auto const found = std::find_if(strategies().begin(),
                                  strategies().end(),
                                  [&](Strategy const& known) { return known.name == base; });
  return found == strategies().end() ? nullptr : &*found;
}

std::size_t system_of(std::string const& name) {
  return name.ends_with(on_system_2) ? 1 : 0;
}

std::string suffix_of(std::string const& name) {
  return system_of(name) == 1 ? on_system_2 : "";
}

Settings read_settings(std::string const& path) {
  auto const json = hetsched::detail::parse_json(hetsched::detail::read_text_file(path), path);
  JsonValue const root(json, path, "");
  root.only({"format", "paper", "notes", "block", "super", "sizes", "systems", "claims"});
  if (root["format"].text() != "claims-1") {
    root["format"].refuse("is not \"claims-1\"");
  }
  Settings settings;
  settings.block = root["block"].integer(1, 10'000);
  settings.super = root["super"].integer(1, 1000);
  for (auto const& size : root["sizes"].elements()) {
    settings.sizes.push_back(size.integer(2, 1000));
  }
  if (settings.sizes.empty()) {
    root["sizes"].refuse("is empty");
  }
  for (auto const& system : root["systems"].elements(2)) {
    system.only({"platform"});
    settings.platforms.push_back(system["platform"].text());
  }
  settings.claims = papers::claims_in(root["claims"], words());
  for (auto const& claim : settings.claims) {
    check_metrics(claim);
  }
  return settings;
}

} // namespace multigrain
