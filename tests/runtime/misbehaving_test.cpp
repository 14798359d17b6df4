// SPDX-License-Identifier: MIT
// Policies that break their contract are named, with the hook, in one line: on threads the program
// ends with it, in virtual time the run does. What only builds that check policies see is left out
// elsewhere. What the conformance kits find: tests/testing.

#include <hetsched/hetsched.hpp>
#include <hetsched/runtime/progress.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace misbehaving_test {

using support::contains;
using support::message_of;
using support::on_cpus;

enum class Fault {
  none,
  twice,      // a task again while it runs
  ended,      // a task that has ended
  invented,   // an id that is no address of a task's
  not_pushed, // the next task, which waits for data
  restless,   // a task that the worker cannot run now
  stolen,     // an invented id, from steal
  push_throws,
  pop_throws,
  strange, // pop throws an int
  spawns,  // in push
  syncs,   // in pop
  wakes_nobody_there,
  keeps, // never answers the second task
  peeks_too_far,
  peeks_ended,
  peeks_twice,
  reconsiders, // an invented id
  preempts     // the same
};

struct Knobs {
  Fault fault = Fault::none;
  std::function<void()> act = {}; // of `spawns` and `syncs`
};

/// Oldest task first, but for the fault.
struct Misbehaving {
  using Config = Knobs;

  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  explicit Misbehaving(std::span<hs::WorkerInfo const>, Config its_config = {})
      : config(std::move(its_config)) {}

  Config config;
  std::deque<hs::TaskId> ready;
  hs::TaskId last; // that was answered
  int pushed = 0;
  int answered = 0;

  hs::Wake push(hs::context auto const&, hs::TaskId task, hs::WorkerId) {
    ++pushed;
    if (config.fault == Fault::push_throws && pushed == 2) {
      throw std::runtime_error("two are enough");
    }
    if (config.fault == Fault::spawns && pushed == 2) {
      config.act();
    }
    if (config.fault != Fault::keeps || pushed != 2) {
      ready.push_back(task);
    }
    return config.fault == Fault::wakes_nobody_there ? hs::Wake::worker({7}) : hs::Wake::any();
  }

  hs::TaskId pop(hs::context auto const& ctx, hs::WorkerId worker) {
    switch (config.fault) {
    case Fault::twice:
      if (last) {
        return last;
      }
      break;
    case Fault::ended: // in the chain, the second one is a child of the first one
      if (answered == 2) {
        return last;
      }
      break;
    case Fault::invented:
      return {17};
    case Fault::not_pushed:
      return ready.empty() ? hs::no_task
                           : hs::TaskId{ready.front().value + (std::uint64_t{1} << 60U)};
    case Fault::stolen:
      return hs::no_task;
    case Fault::pop_throws:
      throw std::runtime_error("not today");
    case Fault::strange:
      throw 1;
    case Fault::syncs:
      config.act();
      break;
    default:
      break;
    }
    auto const found = std::find_if(ready.begin(), ready.end(), [&](hs::TaskId task) {
      return config.fault == Fault::restless || ctx.can_run(task, worker);
    });
    if (found == ready.end()) {
      return hs::no_task;
    }
    ++answered;
    last = *found;
    ready.erase(found);
    return last;
  }

  hs::TaskId steal(hs::context auto const&, hs::WorkerId) const {
    return config.fault == Fault::stolen ? hs::TaskId{640} : hs::no_task;
  }

  std::size_t peek(hs::context auto const&, hs::WorkerId, std::span<hs::TaskId> next) const {
    if (config.fault == Fault::peeks_ended && last) {
      next[0] = last;
      return 1;
    }
    if (config.fault == Fault::peeks_twice && !ready.empty() && next.size() > 1) {
      next[0] = next[1] = ready.front();
      return 2;
    }
    return config.fault == Fault::peeks_too_far ? next.size() + 1 : 0;
  }

  hs::TaskId reconsider(hs::context auto const&, hs::WorkerId) const {
    return config.fault == Fault::reconsiders ? hs::TaskId{17} : hs::no_task;
  }

  hs::TaskId preempt(hs::context auto const&, hs::TaskId) const {
    return config.fault == Fault::preempts ? hs::TaskId{17} : hs::no_task;
  }
};

/// What the next runtime's cache does wrong.
enum class CacheFault { none, pinned, absent, asks, throws };

struct MisbehavingCache : hs::policies::Lru {
  static inline auto fault = CacheFault::none;
  hs::BlockId newest;

  void insert(hs::BlockId block, hs::BlockUse const& use) {
    if (fault == CacheFault::throws) {
      throw std::runtime_error("too many");
    }
    newest = block;
    Lru::insert(block, use);
  }

  hs::BlockId victim(hs::DirtyBlocks const& dirty) {
    if (fault == CacheFault::asks) {
      (void)dirty(hs::BlockId{1000});
    }
    return fault == CacheFault::pinned   ? newest
           : fault == CacheFault::absent ? hs::BlockId{1000}
                                         : Lru::victim(dirty);
  }
};

enum class ModelFault { none, negative, transfer, throws };

struct MisbehavingModel {
  static inline auto fault = ModelFault::none;
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch) const {
    if (fault == ModelFault::throws) {
      throw std::runtime_error("no idea");
    }
    return hs::Prediction{{fault == ModelFault::negative ? -5 : 5}, {}, 1};
  }

  void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] hs::Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const {
    return {fault == ModelFault::transfer ? -1 : 1};
  }
};

/// Asks the model whenever it can.
struct Curious : Misbehaving {
  using Misbehaving::Misbehaving;

  hs::Wake push(hs::context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    for (auto const& info : ctx.workers()) {
      (void)ctx.predicted(task, info.id);
      (void)ctx.transfer(task, info.id);
    }
    return Misbehaving::push(ctx, task, worker);
  }
};

using Rt = hs::Runtime<Misbehaving, MisbehavingCache>;

/// A child that may abort, of which doctest knows nothing.
template <class F>
support::ChildResult in_child(F&& f) {
  return support::run_in_child([&f] {
    std::signal(SIGABRT, SIG_DFL);
    return f();
  });
}

/// Three tasks on one datum, on one worker; the first spawns a child and waits for it.
void run_chain(Rt& rt) {
  int x = 0;
  auto const hx = rt.data(x);
  rt.spawn()(
      [](Rt& inner, int& v) {
        ++v;
        inner.spawn()([] {});
        inner.sync();
      },
      hs::read_write(hx));
  rt.spawn()([](int& v) { ++v; }, hs::read_write(hx));
  rt.spawn()([] {});
  rt.sync();
}

/// What the program says on stderr. Code 0: it came to its end.
support::ChildResult on_threads(Fault fault) {
  return in_child([fault] {
    Rt* self = nullptr;
    Knobs config{.fault = fault};
    config.act = [&] {
      if (fault == Fault::spawns) {
        self->spawn()([] {});
      } else {
        self->sync();
      }
    };
    Rt rt(on_cpus(1), config);
    self = &rt;
    run_chain(rt);
    return 0;
  });
}

std::string const scheduler = "hetsched: scheduler 'misbehaving_test::Misbehaving': ";

TEST_SUITE_BEGIN("misbehaving");

TEST_CASE("Misbehaving: without a fault it is a scheduler") {
  CHECK(on_threads(Fault::none).exit_code == 0);
}

#ifndef NDEBUG

TEST_CASE("Misbehaving: assertions tell of tasks that were given twice") {
  auto const child = on_threads(Fault::twice);
  CHECK(child.exit_code == -1); // it was aborted
  CHECK_MESSAGE(child.errors.starts_with(scheduler), child.errors);
}

#endif

#if HETSCHED_CHECK_POLICIES

/// The one line that ends the program.
std::string line_of(Fault fault) {
  auto const child = on_threads(fault);
  CHECK(child.exit_code == -1); // it was aborted
  auto const end = child.errors.find('\n');
  return child.errors.substr(0, end);
}

TEST_CASE("Misbehaving: tasks that were not to be answered, on threads") {
  auto const twice = line_of(Fault::twice);
  CHECK(twice.starts_with(scheduler + "pop gave worker 0 task '"));
  CHECK(twice.ends_with("', which it has given a worker before"));
  CHECK(line_of(Fault::ended).ends_with("pop gave worker 0 a task that has ended"));
  CHECK(line_of(Fault::invented) == scheduler + "pop gave worker 0 an id that is no task's");
  CHECK(line_of(Fault::stolen) == scheduler + "steal gave worker 0 an id that is no task's");
  CHECK(line_of(Fault::not_pushed) == scheduler + "pop gave worker 0 a task that has ended");
  CHECK(contains(line_of(Fault::restless), "which it cannot run"));
}

TEST_CASE("Misbehaving: hooks that throw, on threads") {
  CHECK(line_of(Fault::push_throws) == scheduler + "push threw: two are enough");
  CHECK(line_of(Fault::pop_throws) == scheduler + "pop threw: not today");
  CHECK(line_of(Fault::strange) == scheduler + "pop threw what is no std::exception");
}

TEST_CASE("Misbehaving: hooks that spawn, sync or wake nobody, on threads") {
  CHECK(line_of(Fault::spawns) == scheduler + "push called spawn");
  CHECK(line_of(Fault::syncs) == scheduler + "pop called sync");
  CHECK(line_of(Fault::wakes_nobody_there) == scheduler + "push wakes worker 7 of 1");
}

TEST_CASE("Misbehaving: hooks in virtual time end the run") {
  using Simulated = hs::SimulatedRuntime<Misbehaving, MisbehavingCache>;
  auto const said = [](Fault fault) {
    Simulated* self = nullptr;
    Knobs config{.fault = fault};
    config.act = [&] {
      if (fault == Fault::spawns) {
        self->spawn<simulated::Alone>()();
      } else {
        self->sync();
      }
    };
    int const window = fault == Fault::peeks_twice ? 2 : 4; // full before all are taken
    Simulated rt(simulated::joined(1, 1, hs::Simulation::Transfers::model, window), config);
    self = &rt;
    std::vector<int> memory(4);
    auto const x = simulated::cells(rt, memory);
    return message_of([&] {
      for (auto const& cell : x) {
        rt.spawn<simulated::Even>()(cell);
        rt.spawn<simulated::Even>()(cell);
      }
      rt.sync();
    });
  };
  CHECK(said(Fault::none).empty());
  CHECK(contains(said(Fault::twice), "', which it has given a worker before"));
  CHECK(said(Fault::invented) == scheduler + "pop gave worker 1 an id that is no task's");
  CHECK(said(Fault::stolen) == scheduler + "steal gave worker 1 an id that is no task's");
  CHECK(said(Fault::push_throws) == scheduler + "push threw: two are enough");
  CHECK(said(Fault::strange) == scheduler + "pop threw what is no std::exception");
  CHECK(said(Fault::spawns) == scheduler + "push called spawn");
  CHECK(said(Fault::syncs) == scheduler + "pop called sync");
  CHECK(contains(said(Fault::peeks_too_far), scheduler + "peek answered "));
  CHECK(contains(said(Fault::peeks_ended), scheduler + "peek answered for worker 1 "));
  CHECK(contains(said(Fault::peeks_twice), scheduler + "peek answered for worker 1 task 'Even"));
  CHECK(contains(said(Fault::peeks_twice), "' twice"));
  CHECK(said(Fault::reconsiders) == scheduler + "reconsider answered an id that is no task's");
  Simulated busy(simulated::on(1, 0), Knobs{.fault = Fault::preempts});
  busy.spawn<simulated::Alone>()();
  busy.spawn<simulated::Alone>()();
  CHECK(message_of([&] { busy.sync(); }) == scheduler + "preempt answered an id that is no task's");
  CHECK(contains(said(Fault::keeps), scheduler + "keeps 1 tasks from 2 idle workers"));
}

TEST_CASE("Misbehaving: performance models") {
  using Simulated = hs::SimulatedRuntime<Curious, hs::policies::Lru, MisbehavingModel>;
  auto const said = [](ModelFault fault) {
    MisbehavingModel::fault = fault;
    auto const child = in_child([] {
      hs::Runtime<Curious, hs::policies::Lru, MisbehavingModel> rt(on_cpus(1));
      rt.spawn()([] {});
      rt.sync();
      return 0;
    });
    MisbehavingModel::fault = ModelFault::none;
    return child.errors.substr(0, child.errors.find('\n'));
  };
  std::string const model = "hetsched: performance model 'misbehaving_test::MisbehavingModel': ";
  CHECK(said(ModelFault::none).empty());
  CHECK(said(ModelFault::negative) == model + "predict answered -5 ns");
  CHECK(said(ModelFault::throws) == model + "predict threw: no idea");
  MisbehavingModel::fault = ModelFault::transfer;
  Simulated rt(simulated::joined(1, 1, hs::Simulation::Transfers::model));
  std::vector<int> memory(1);
  auto const x = simulated::cells(rt, memory);
  CHECK(message_of([&] {
          rt.spawn<simulated::Even>()(x[0]);
          rt.sync();
        }) == model + "transfer answered -1 ns");
  MisbehavingModel::fault = ModelFault::none;
}

#endif

/// A program in virtual time whose GPU has room for two of four data.
support::ChildResult with_cache(CacheFault fault) {
  MisbehavingCache::fault = fault;
  auto const child = in_child([] {
    hs::SimulatedRuntime<Misbehaving, MisbehavingCache> rt(simulated::with_memory(
        simulated::joined(1, 1, hs::Simulation::Transfers::model, 2), 2 * 256));
    std::vector<int> memory(4 * simulated::array);
    auto const x = simulated::arrays(rt, memory);
    for (int round = 0; round < 4; ++round) {
      for (auto const& one : x) {
        rt.spawn<simulated::GpuOnly>()(one);
      }
    }
    rt.sync();
    return 0;
  });
  MisbehavingCache::fault = CacheFault::none;
  return child;
}

TEST_CASE("Misbehaving: caches") {
  std::string const cache = "hetsched: cache 'misbehaving_test::MisbehavingCache': ";
  CHECK(with_cache(CacheFault::none).exit_code == 0);
  CHECK(contains(with_cache(CacheFault::pinned).errors, cache + "victim answered a pinned block"));
  CHECK(contains(with_cache(CacheFault::absent).errors,
                 cache + "victim answered a block that is not there (block 1000)"));
  CHECK(contains(with_cache(CacheFault::asks).errors,
                 cache + "victim asked about a block that is not there"));
#if HETSCHED_CHECK_POLICIES
  CHECK(contains(with_cache(CacheFault::throws).errors, cache + "insert threw: too many"));
#endif
}

TEST_CASE("Progress: reports a task that the scheduler keeps, once") {
  auto const child = in_child([] {
    Rt rt(on_cpus(2), Knobs{.fault = Fault::keeps});
    auto* const out = std::tmpfile();
    hs::Progress const progress(
        rt, {.out = out, .every = std::chrono::minutes(1), .stuck = std::chrono::milliseconds(80)});
    std::thread([out] {
      bool const told = support::eventually([out] { return std::ftell(out) > 0; });
      std::this_thread::sleep_for(std::chrono::milliseconds(300)); // for a second report
      std::rewind(out);
      for (int c = std::getc(out); c != EOF; c = std::getc(out)) {
        std::fputc(c, stderr);
      }
      std::_Exit(told ? 7 : 8);
    }).detach();
    run_chain(rt);
    return 0;
  });
  CHECK(child.exit_code == 7);
  std::string const head = "hetsched: for 80 ms no task has ended and no worker has run one\n";
  auto const first = child.errors.find(head);
  REQUIRE_MESSAGE(first != std::string::npos, child.errors);
  CHECK(!contains(child.errors.substr(first + 1), head));
  CHECK(contains(
      child.errors,
      "1 ready tasks, for a worker to get from scheduler 'misbehaving_test::Misbehaving'"));
}

TEST_SUITE_END();

} // namespace misbehaving_test
