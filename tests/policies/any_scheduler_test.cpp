// SPDX-License-Identifier: MIT
#include <hetsched/capture.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scheduler_conformance.hpp>

#include "../support/simulated_machine.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::policies::AnyScheduler;
using hs::testing::ContextArchetype;
using hs::testing::ScriptedContext;

template hs::Wake AnyScheduler::push(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template void AnyScheduler::push_activated(ContextArchetype const&,
                                           std::span<hs::TaskId const>,
                                           hs::WorkerId,
                                           std::span<hs::Wake>);
template hs::TaskId AnyScheduler::pop(ContextArchetype const&, hs::WorkerId);
template hs::Stolen AnyScheduler::steal(ContextArchetype const&, hs::WorkerId);
template void AnyScheduler::prologue(ContextArchetype const&, hs::TaskId, hs::WorkerId);
template void
AnyScheduler::epilogue(ContextArchetype const&, hs::TaskId, hs::WorkerId, hs::Duration);
template std::size_t
AnyScheduler::peek(ContextArchetype const&, hs::WorkerId, std::span<hs::TaskId>);
template void AnyScheduler::prepare(ContextArchetype const&,
                                    hs::TaskGraph const&,
                                    std::span<hs::ExpectedTimes const>);
template hs::TaskId AnyScheduler::reconsider(ContextArchetype const&, hs::WorkerId);
template hs::TaskId AnyScheduler::preempt(ContextArchetype const&, hs::TaskId);

namespace any_scheduler_test {

constexpr auto variable = "HETSCHED_SCHEDULER";

/// Sets the variable, or takes it away, until the end.
class Environment {
public:
  explicit Environment(char const* value) {
    if (char const* const before = std::getenv(variable); before != nullptr) {
      before_ = before;
    }
    set(value);
  }

  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

private:
  static void set(char const* value) {
    if (value != nullptr) {
      ::setenv(variable, value, 1);
    } else {
      ::unsetenv(variable);
    }
  }

  std::optional<std::string> before_;
};

struct Increment : hs::Task<1>::Signature<hs::RW<int>> {};

/// The rules of the scheduler of that name.
hs::SchedulerRules rules(std::string const& name) {
  ScriptedContext ctx({ArchHost, ArchCUDA});
  AnyScheduler const scheduler(ctx.workers(), {name});
  return hs::rules_of<ScriptedContext>(scheduler);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (auto const& one : hs::policies::scheduler_names()) {
    all.emplace_back(one.name);
  }
  return all;
}

/// Newest first, and counts the programs' runs.
struct NewestFirst {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  struct Config {
    int* pushes;
  };

  NewestFirst(std::span<hs::WorkerInfo const> /*workers*/, Config knobs) : config(knobs) {}

  hs::Wake push(hs::placement_context auto const& /*ctx*/, hs::TaskId task, hs::WorkerId) {
    ++*config.pushes;
    tasks.push_back(task);
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    if (tasks.empty() || !ctx.can_run(tasks.back(), worker)) {
      return hs::no_task;
    }
    auto const task = tasks.back();
    tasks.pop_back();
    return task;
  }

  Config config;
  std::vector<hs::TaskId> tasks = {};
};

} // namespace any_scheduler_test

template <>
struct hetsched::TaskBodyCPU<any_scheduler_test::Increment> {
  void operator()(int& number) const { ++number; }
};

namespace any_scheduler_test {

TEST_SUITE_BEGIN("policies");

TEST_CASE("AnyScheduler: offers every hook, and the rules of the one that it is") {
  static_assert(hs::hooks_of<AnyScheduler, ContextArchetype>() ==
                (hs::hook_push | hs::hook_pop | hs::hook_push_activated | hs::hook_steal |
                 hs::hook_prologue | hs::hook_epilogue | hs::hook_prepare | hs::hook_peek |
                 hs::hook_reconsider | hs::hook_preempt | hs::hook_future_uses));
  static_assert(hs::chosen_at_run_time<AnyScheduler, ContextArchetype>);

  using enum hs::Threading;
  using enum hs::PriorityScope;
  constexpr unsigned always = hs::hook_push | hs::hook_pop | hs::hook_peek;
  auto const check = [](char const* name, hs::SchedulerRules const& expected) {
    CAPTURE(name);
    auto const is = rules(name);
    CHECK(is.threading == expected.threading);
    CHECK(is.priority_scope == expected.priority_scope);
    CHECK(is.hooks == expected.hooks);
  };
  check("ws", {concurrent, none, always | hs::hook_steal});
  check("eager", {concurrent, none, always});
  check("priority", {concurrent, global, always});
  check("heteroprio:hp", {serialized, none, always | hs::hook_prepare});
  check("heteroprio:sp", {serialized, none, always | hs::hook_prepare | hs::hook_reconsider});
  check("heteroprio:pp",
        {serialized, none, always | hs::hook_prepare | hs::hook_reconsider | hs::hook_preempt});
  auto const heftp = always | hs::hook_push_activated | hs::hook_epilogue;
  check("heftp", {serialized, per_queue, heftp});
  check("heftp:mms", {serialized, per_queue, heftp | hs::hook_prepare});
}

TEST_CASE("AnyScheduler: by Config, else by the environment, else ws") {
  auto const in_environment = [] { return rules("").threading; };
  {
    Environment const none(nullptr);
    CHECK(in_environment() == hs::Threading::concurrent);
  }
  {
    Environment const empty("");
    CHECK(in_environment() == hs::Threading::concurrent);
  }
  Environment const named("dualhp");
  CHECK(in_environment() == hs::Threading::serialized);
  CHECK(rules("ws").threading == hs::Threading::concurrent);
}

TEST_CASE("AnyScheduler: an unknown name is refused with all that are known") {
  std::string known;
  for (auto const& name : names()) {
    known += (known.empty() ? "" : ", ") + name;
  }
  ScriptedContext ctx({ArchHost});
  auto const check = [&](AnyScheduler::Config const& config, std::string const& culprit) {
    try {
      AnyScheduler const scheduler(ctx.workers(), config);
      FAIL("no error");
    } catch (hs::Error const& error) {
      CHECK(error.code() == hs::ErrorCode::bad_config);
      CHECK(error.culprit() == culprit);
      CHECK(error.what() == "hetsched: " + culprit + ": 'none' is none of " + known);
    }
  };
  check({"none"}, "Config::name");
  Environment const named("none");
  check({}, variable);
}

TEST_CASE("AnyScheduler: names are told apart, and each says what it is") {
  std::set<std::string_view> seen;
  for (auto const& one : hs::policies::scheduler_names()) {
    CAPTURE(one.name);
    CHECK(seen.insert(one.name).second);
    CHECK(!one.what.empty());
  }
  CHECK(seen.size() >= 31);
}

TEST_CASE("AnyScheduler: every name runs a program on threads") {
  for (auto const& one : hs::policies::shipped_schedulers()) {
    CAPTURE(one.name);
    hs::Config config;
    config.cpus = 2;
    config.devices = "none";
    hs::Runtime<AnyScheduler> rt(config, AnyScheduler::Config{std::string(one.name)});
    std::vector<int> numbers(4);
    std::vector<hs::Handle<int>> handles;
    for (auto& number : numbers) {
      handles.push_back(rt.data(number));
      for (int k = 0; k < 10; ++k) {
        rt.spawn<Increment>()(handles.back());
      }
    }
    rt.sync();
    CHECK(numbers == std::vector<int>(4, 10));
  }
}

TEST_CASE("AnyScheduler: every name runs a graph in virtual time, with the hooks that it has") {
  constexpr auto rw = hs::AccessMode::read_write;
  std::vector<hs::TaskGraph::Node> nodes;
  for (std::uint32_t k = 0; k < 24; ++k) {
    auto const* const type = k % 3 == 0 ? "Even" : k % 3 == 1 ? "Fast" : "HostOnly";
    nodes.push_back({type, "", static_cast<std::int32_t>(k % 5), {}, {{k % 4, rw, nullptr}}});
  }
  hs::TaskGraph const graph(std::move(nodes), std::vector<std::size_t>(4, 4));
  for (auto const& one : hs::policies::shipped_schedulers()) {
    CAPTURE(one.name);
    hs::SimulatedRuntime<AnyScheduler> rt(simulated::on(2, 1),
                                          AnyScheduler::Config{std::string(one.name)});
    rt.run(graph);
    auto const stats = rt.stats();
    std::uint64_t executed = 0;
    for (auto const& worker : stats.workers) {
      executed += worker.executed;
    }
    CHECK(executed == 24);
    CHECK(stats.elapsed >= hs::Duration{80}); // eight of 10 or 40 and four of 5 on each datum
    CHECK(stats.elapsed <= hs::Duration{500});
  }
}

TEST_CASE("AnyScheduler: a trace has the name of the chosen scheduler") {
  hs::Config config;
  config.cpus = 1;
  config.devices = "none";
  config.record = true;
  auto simulation = simulated::on(1, 1);
  simulation.record = true;
  for (auto const* const name : {"dmdas", "heteroprio:pp", "ws"}) {
    hs::Runtime<AnyScheduler> rt(config, AnyScheduler::Config{name});
    CHECK(rt.trace().scheduler == name);
    hs::SimulatedRuntime<AnyScheduler> virtual_rt(simulation, AnyScheduler::Config{name});
    CHECK(virtual_rt.trace().scheduler == name);
  }
  Environment const named("dualhp");
  CHECK(hs::Runtime<AnyScheduler>(config).trace().scheduler == "dualhp");
}

TEST_CASE("AnyScheduler: keeps the contract whichever it is") {
  hs::testing::Options const few{.seeds = 1, .tasks = 30, .threads = 2, .threaded_tasks = 200};
  for (auto const& one : hs::policies::shipped_schedulers()) {
    CAPTURE(one.name);
    auto const report = hs::testing::check_scheduler<AnyScheduler>(few, {std::string(one.name)});
    CHECK_MESSAGE(report.ok(), report.text());
  }
}

TEST_CASE("AnyScheduler: a program adds its own") {
  int first = 0;
  int second = 0;
  auto const run = [] {
    hs::SimulatedRuntime<AnyScheduler> rt(simulated::on(1, 0), AnyScheduler::Config{"newest"});
    std::vector<int> memory(1);
    auto const handles = simulated::cells(rt, memory);
    rt.template spawn<simulated::Even>()(handles[0]);
    rt.sync();
  };
  hs::policies::add_scheduler<NewestFirst>({"newest", "newest first"}, NewestFirst::Config{&first});
  run();
  CHECK(first == 1);
  CHECK(names().back() == "newest");

  auto const known = names().size();
  hs::policies::add_scheduler<NewestFirst>({"newest", ""}, NewestFirst::Config{&second});
  run();
  CHECK(first == 1);
  CHECK(second == 1);
  CHECK(names().size() == known);

  CHECK_THROWS_WITH_AS(
      hs::policies::add_scheduler<NewestFirst>({"ws", ""}, NewestFirst::Config{&first}),
      "hetsched: ws: is a scheduler that ships",
      hs::Error);
}

TEST_SUITE_END();

} // namespace any_scheduler_test
