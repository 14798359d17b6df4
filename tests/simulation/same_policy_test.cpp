// SPDX-License-Identifier: MIT
// One policy, two engines, and a third by hand: every hook call of a run, peeks among them, on
// threads or in virtual time, with its arguments and what the context answered, is logged and
// played back to a fresh scheduler in a scripted context. A serialized scheduler decides the same.

#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include "../support/schedulers.hpp"

#include <doctest/doctest.h>

#include <cstddef>
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
  enum class Hook : std::uint8_t { push, pop, peek } hook;
  TaskId task; // pushed, or popped
  WorkerId worker;
  hs::ArchMask archs; // of what is pushed
  std::int32_t priority = 0;
  std::vector<Asked> asked = {};
  std::size_t room = 0;            // of a peek
  std::vector<TaskId> peeked = {}; // its answer
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

  std::size_t peek(hs::placement_context auto const& ctx, WorkerId worker, std::span<TaskId> next) {
    Call call{Call::Hook::peek, {}, worker, {}};
    call.room = next.size();
    auto const count = scheduler_.peek(Watched(ctx, call.asked), worker, next);
    call.peeked.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count));
    calls.push_back(std::move(call));
    return count;
  }

private:
  S scheduler_;
};

/// The first of a range of tasks that the worker can run.
template <class Ctx, class Iterator, class IdOf>
std::size_t peek_at(Ctx const& ctx,
                    WorkerId worker,
                    std::span<TaskId> next,
                    Iterator begin,
                    Iterator end,
                    IdOf const& id_of) {
  std::size_t count = 0;
  for (auto it = begin; it != end && count < next.size(); ++it) {
    if (ctx.can_run(id_of(*it), worker)) {
      next[count++] = id_of(*it);
    }
  }
  return count;
}

/// Oldest first, and says what comes.
struct OldestSeen : OldestFirst {
  std::size_t
  peek(hs::placement_context auto const& ctx, WorkerId worker, std::span<TaskId> next) const {
    return peek_at(ctx, worker, next, ready.begin(), ready.end(), [](TaskId task) { return task; });
  }
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

  std::size_t
  peek(hs::placement_context auto const& ctx, WorkerId worker, std::span<TaskId> next) const {
    return peek_at(ctx, worker, next, ready.rbegin(), ready.rend(), [](auto const& entry) {
      return entry.second;
    });
  }
};

struct Played {
  int popped = 0; // pops that gave a task
  int peeked = 0; // peeks that did
};

/// Plays the log back.
template <class S>
Played replay(std::vector<hs::Arch> const& archs) {
  hs::testing::ScriptedContext ctx(archs);
  S scheduler;
  std::map<TaskId, TaskId> scripted; // ids of the run -> of the script; ids may come again
  Played played;
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
    if (call.hook == Call::Hook::peek) {
      std::vector<TaskId> next(call.room);
      next.resize(scheduler.peek(ctx, call.worker, next));
      std::vector<TaskId> foreseen;
      for (auto const task : call.peeked) {
        foreseen.push_back(scripted.at(task));
      }
      REQUIRE(next == foreseen);
      played.peeked += next.empty() ? 0 : 1;
      continue;
    }
    auto const expected = call.task ? scripted.at(call.task) : hs::no_task;
    REQUIRE(scheduler.pop(ctx, call.worker) == expected);
    played.popped += call.task ? 1 : 0;
  }
  return played;
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

TEST_CASE_TEMPLATE("one policy, two engines: decides as on threads", S, OldestSeen, HighestFirst) {
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
    CHECK(replay<S>(std::vector<hs::Arch>(static_cast<std::size_t>(cpus), hs::ArchHost)).popped ==
          150 + 31);
  }
}

TEST_CASE_TEMPLATE("one policy, two engines: and as in virtual time", S, OldestSeen, HighestFirst) {
  hs::Simulation config{.algorithm = "test"};
  config.transfers = hs::Simulation::Transfers::model;
  config.window = 4;
  config.platform.classes = {{"cpu", hs::ArchHost, 2, ""}, {"cuda", hs::ArchCUDA, 1, ""}};
  config.platform.nodes = {{"host", 0}, {"gpu", 0}};
  config.platform.routes.assign(4, {1e9, hs::Duration{5}, {}});
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
    auto const played = replay<S>({hs::ArchHost, hs::ArchHost, hs::ArchCUDA});
    CHECK(played.popped == 150);
    CHECK(played.peeked > 0);
  }
}

TEST_SUITE_END();

} // namespace same_policy_test
