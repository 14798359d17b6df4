// SPDX-License-Identifier: MIT
// The same program for each scheduler that ships.

#include <hetsched/capture.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/names.hpp>

#include "programs.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace failures;

/// Knows a time for each task.
struct Known {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch) const {
    return hs::Prediction{hs::Duration{1000}, {}, 1};
  }

  void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] hs::Duration transfer(std::size_t bytes, hs::NodeId, hs::NodeId) const {
    return {static_cast<std::int64_t>(bytes)};
  }
};

using AnyRuntime = hs::Runtime<hs::policies::AnyScheduler, hs::policies::Lru, Known>;

/// One task's end makes many ready, and many make one ready; in a graph, too.
void fan(AnyRuntime& rt, Data& data) {
  auto const numbers = rt.data(data.numbers);
  auto const sum = rt.data(data.sum);
  auto const spawn = [&] {
    rt.spawn()(increment, hs::read_write(numbers));
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::priority(k % 5))([](hs::VectorView<long const>) {}, hs::read(numbers));
    }
    rt.spawn()(
        [](hs::VectorView<long const>, long& all) { ++all; }, hs::read(numbers), hs::commute(sum));
  };
  spawn();
  spawn();
  rt.sync();
  auto const graph = rt.capture(spawn);
  rt.run(graph);
  rt.sync();
}

bool with_scheduler(std::string_view name) {
  hs::policies::AnyScheduler::Config chosen{std::string(name.substr(name.find(' ') + 1))};
  return right<AnyRuntime>({}, 3, 3, fan, chosen);
}

} // namespace

namespace failures {

std::vector<Program> scheduler_programs() {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> all;
    for (auto const& one : hs::policies::shipped_schedulers()) {
      all.push_back("scheduler " + std::string(one.name));
    }
    return all;
  }();
  std::vector<Program> programs;
  for (auto const& name : names) {
    programs.push_back({name, with_scheduler});
  }
  return programs;
}

} // namespace failures
