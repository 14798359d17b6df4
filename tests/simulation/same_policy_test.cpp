// SPDX-License-Identifier: MIT
// One policy, two engines, and a third by hand: every hook call of a run, on threads or in virtual
// time, with its arguments and what the context answered, is logged and played back to a fresh
// scheduler in a scripted context. A serialized scheduler decides the same.

#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../support/schedulers.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::TaskId;
using hs::WorkerId;

namespace same_policy_test {

/// An answer of the context to can_run.
struct Asked {
  TaskId task;
  WorkerId worker;
  bool can_run;
};

struct Call {
  enum class Hook : std::uint8_t { push, pop } hook;
  TaskId task; // pushed, or popped
  WorkerId worker;
  hs::ArchMask archs; // of what is pushed
  std::int32_t priority = 0;
  std::vector<Asked> asked = {};
};

std::vector<Call> calls; // under the engine's lock around serialized hooks

/// The engine's context, for the length of one hook.
template <class Ctx>
class Watched {
public:
  Watched(Ctx const& ctx, std::vector<Asked>& asked) : ctx_(ctx), asked_(asked) {}

  [[nodiscard]] std::span<hs::WorkerInfo const> workers() const { return ctx_.workers(); }

  [[nodiscard]] bool can_run(TaskId task, WorkerId worker) const {
    auto const answer = ctx_.can_run(task, worker);
    asked_.push_back({task, worker, answer});
    return answer;
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const { return ctx_.random(worker); }

  [[nodiscard]] hs::TaskView task(TaskId task) const { return ctx_.task(task); }

private:
  Ctx const& ctx_;
  std::vector<Asked>& asked_;
};

/// A scheduler that logs its hooks.
template <class S>
class Logged {
public:
  static constexpr auto threading = S::threading;
  static constexpr auto priority_scope = S::priority_scope;
  static_assert(threading == hs::Threading::serialized);

  hs::Wake push(hs::placement_context auto const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    Call call{Call::Hook::push, task, worker, view.archs, view.priority};
    auto const wake = scheduler_.push(Watched(ctx, call.asked), task, worker);
    calls.push_back(std::move(call));
    return wake;
  }

  TaskId pop(hs::placement_context auto const& ctx, WorkerId worker) {
    Call call{Call::Hook::pop, {}, worker, {}};
    auto const task = scheduler_.pop(Watched(ctx, call.asked), worker);
    call.task = task;
    calls.push_back(std::move(call));
    return task;
  }

private:
  S scheduler_;
};

/// Highest priority first, newest among equals.
struct HighestFirst {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  std::multimap<std::int32_t, TaskId> ready;

  hs::Wake push(hs::placement_context auto const& ctx, TaskId task, WorkerId) {
    ready.emplace(ctx.task(task).priority, task);
    return hs::Wake::any();
  }

  TaskId pop(hs::placement_context auto const& ctx, WorkerId worker) {
    for (auto it = ready.rbegin(); it != ready.rend(); ++it) {
      if (ctx.can_run(it->second, worker)) {
        auto const task = it->second;
        ready.erase(std::next(it).base());
        return task;
      }
    }
    return hs::no_task;
  }
};

/// Plays the log back; how many pops gave a task.
template <class S>
int replay(std::vector<hs::Arch> const& archs) {
  hs::testing::ScriptedContext ctx(archs);
  S scheduler;
  std::map<TaskId, TaskId> scripted; // ids of the run -> of the script; ids may come again
  int popped = 0;
  for (auto const& call : calls) {
    if (call.hook == Call::Hook::push) {
      scripted[call.task] = ctx.add({.priority = call.priority, .archs = call.archs});
    }
    for (auto const& asked : call.asked) {
      auto const task = scripted.at(asked.task);
      asked.can_run ? ctx.permit(task, asked.worker) : ctx.forbid(task, asked.worker);
    }
    if (call.hook == Call::Hook::push) {
      (void)scheduler.push(ctx, scripted.at(call.task), call.worker);
      continue;
    }
    auto const expected = call.task ? scripted.at(call.task) : hs::no_task;
    REQUIRE(scheduler.pop(ctx, call.worker) == expected);
    popped += call.task ? 1 : 0;
  }
  return popped;
}

struct Step : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "step";
};

/// Spawns two below it, which only descendants' workers may run while it waits.
struct Parent : hs::Task<1>::Signature<int> {};

} // namespace same_policy_test

template <>
struct hetsched::TaskBodyCPU<same_policy_test::Step> {
  void operator()(int& value) const { ++value; }
};

template <>
struct hetsched::TaskBodyCPU<same_policy_test::Parent> {
  template <class Rt>
  void operator()(Rt& rt, int depth) const {
    if (depth > 0) {
      rt.template spawn<same_policy_test::Parent>(hs::priority(depth))(depth - 1);
      rt.template spawn<same_policy_test::Parent>()(depth - 1);
      rt.sync();
    }
  }
};

namespace same_policy_test {

template <class Rt>
void spawn_steps(Rt& rt, std::vector<hs::Handle<int>> const& x, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  for (int k = 0; k < 150; ++k) {
    rt.template spawn<Step>(hs::priority(static_cast<int>(dice() % 4)))(x[dice() % x.size()]);
  }
}

TEST_SUITE_BEGIN("one policy, two engines");

TEST_CASE_TEMPLATE("one policy, two engines: decides as on threads", S, OldestFirst, HighestFirst) {
  std::vector<int> memory(6, 0);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    calls.clear();
    int const cpus = static_cast<int>(seed % 3) + 1;
    {
      hs::Runtime<Logged<S>> rt({.cpus = cpus, .bind = hs::Bind::none, .devices = "none"});
      std::vector<hs::Handle<int>> x;
      for (auto& value : memory) {
        x.push_back(rt.data(value));
      }
      spawn_steps(rt, x, seed);
      rt.template spawn<Parent>()(4);
      rt.sync();
    }
    CHECK(replay<S>(std::vector<hs::Arch>(static_cast<std::size_t>(cpus), hs::ArchHost)) ==
          150 + 31);
  }
}

TEST_CASE_TEMPLATE("one policy, two engines: and as in virtual time",
                   S,
                   OldestFirst,
                   HighestFirst) {
  hs::Simulation config{.algorithm = "test"};
  config.platform.classes = {{"cpu", hs::ArchHost, 2, ""}, {"cuda", hs::ArchCUDA, 1, ""}};
  auto& kernel = config.platform.kernels.emplace_back();
  kernel.name = "step";
  kernel.algorithms = {"test"};
  kernel.times = {{{hs::Duration{70}, {}, {}}}, {{hs::Duration{30}, {}, {}}}};
  std::vector<int> memory(6, 0);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    calls.clear();
    {
      hs::SimulatedRuntime<Logged<S>> rt(config);
      std::vector<hs::Handle<int>> x;
      for (auto& value : memory) {
        x.push_back(rt.data(value));
      }
      spawn_steps(rt, x, seed);
      rt.sync();
    }
    CHECK(replay<S>({hs::ArchHost, hs::ArchHost, hs::ArchCUDA}) == 150);
  }
}

TEST_SUITE_END();

} // namespace same_policy_test
