// SPDX-License-Identifier: MIT
// Looking at a run: counters, times, dump, labels; attributes that schedulers see.

#include <hetsched/hetsched.hpp>
#include <hetsched/runtime/progress.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::error_of;
using support::message_of;
using support::on_cpus;

namespace stats_test {

struct Brief : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr char const* name = "brief";
};

struct Long : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr char const* name = "long";
};

/// Has bodies for both classes of worker.
struct Anywhere : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr char const* name = "anywhere";
};

/// Has a body for a device only.
struct DeviceOnly : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr char const* name = "device only";
};

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Remembers labels, in the order of pushes, and every task's id.
struct Noting : OldestFirst {
  static inline std::vector<std::string> labels;
  static inline std::vector<std::uint64_t> ids;

  Noting() {
    labels.clear();
    ids.clear();
  }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    labels.emplace_back(ctx.task(task).label);
    ids.push_back(task.value);
    return OldestFirst::push(ctx, task, worker);
  }
};

} // namespace stats_test

template <>
struct hetsched::TaskBodyCPU<stats_test::Brief> {
  void operator()(int& x) { ++x; }
};

template <>
struct hetsched::TaskBodyCPU<stats_test::Long> {
  void operator()(int& x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++x;
  }
};

template <>
struct hetsched::TaskBodyCPU<stats_test::Anywhere> {
  void operator()(int& x) { ++x; }
};

template <>
struct hetsched::TaskBodyGPU<stats_test::Anywhere> {
  void operator()(int& x) { x = -1; }
};

template <>
struct hetsched::TaskBodyGPU<stats_test::DeviceOnly> {
  void operator()(int& x) { x = -1; }
};

namespace stats_test {

TEST_SUITE_BEGIN("stats");

TEST_CASE_TEMPLATE("stats: counts add up, over workers and over kinds of end",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(3));
  int x = 0, sum = 0;
  auto const hx = rt.data(x), hsum = rt.data(sum);
  hs::TaskGroup group(rt);
  group.cancel();
  for (int k = 0; k < 40; ++k) {
    rt.template spawn<Brief>()(hx);
    rt.spawn()([](int& mine) { ++mine; }, hs::reduce<hs::Sum<int>>(hsum));
  }
  rt.spawn(hs::in(group))([] {});
  rt.spawn()([](int&) { throw std::runtime_error("last"); }, hs::read_write(hx));
  rt.template spawn<Brief>()(hx); // cancelled
  (void)message_of([&] { rt.sync(); });

  auto const stats = rt.stats();
  CHECK(stats.spawned == 83);
  CHECK(stats.executed == 81);
  CHECK(stats.failed == 1);
  CHECK(stats.cancelled == 2);
  CHECK(stats.merges == 1);
  CHECK(stats.elapsed.ns > 0);
  REQUIRE(stats.workers.size() == 3);
  std::uint64_t executed = 0, steals = 0;
  hs::Duration idle;
  for (auto const& worker : stats.workers) {
    executed += worker.executed;
    steals += worker.steals;
    idle += worker.idle;
    // What is stolen may also turn out to be cancelled, or be a merge.
    CHECK(worker.steals <= worker.executed + stats.cancelled + stats.merges);
  }
  CHECK(executed == stats.executed);
  CHECK(steals == stats.steals);
  CHECK(idle == stats.idle);
  CHECK(stats.types.empty()); // timing is off
}

TEST_CASE("stats: what another worker made is stolen, and counted so") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  support::Meeting meeting(2);
  std::atomic<int> met{0};
  rt.spawn()([&](Rt& inner) {
    inner.spawn()([&] { met += meeting.meet() ? 1 : 0; });
    met += meeting.meet() ? 1 : 0; // the child runs on the other worker
  });
  rt.sync();
  CHECK(met == 2);
  CHECK(rt.stats().steals >= 1);

  hs::Runtime<> alone(on_cpus(1));
  alone.spawn()([] {});
  alone.sync();
  CHECK(alone.stats().steals == 0);
}

TEST_CASE("stats: reset_stats begins a new count") {
  auto config = on_cpus(2);
  config.timing = true;
  hs::Runtime<> rt(config);
  int x = 0;
  auto const hx = rt.data(x);
  rt.spawn<Long>()(hx);
  rt.sync();
  auto const before = rt.stats().elapsed;
  rt.reset_stats();
  auto stats = rt.stats();
  CHECK(stats.spawned == 0);
  CHECK(stats.executed == 0);
  CHECK(stats.types.empty());
  CHECK(stats.elapsed < before);
  CHECK(stats.idle.ns >= 0);

  rt.spawn<Brief>()(hx);
  rt.sync();
  stats = rt.stats();
  CHECK(stats.spawned == 1);
  CHECK(stats.executed == 1);
  CHECK(stats.workers[0].executed + stats.workers[1].executed == 1);
}

TEST_CASE("stats: with timing on, every type's count and times") {
  auto config = on_cpus(2);
  config.timing = true;
  hs::Runtime<> rt(config);
  int x = 0;
  auto const hx = rt.data(x);
  for (int k = 0; k < 3; ++k) {
    rt.spawn<Brief>()(hx);
    rt.spawn<Long>()(hx);
  }
  rt.spawn<Brief>()(hx);
  rt.sync();

  auto const types = rt.stats().types;
  REQUIRE(types.size() == 2);
  CHECK(types[0].name == "brief");
  CHECK(types[0].count == 4);
  CHECK(types[1].name == "long");
  CHECK(types[1].count == 3);
  CHECK(types[1].arch == hs::ArchHost);
  CHECK(types[1].shortest >= hs::Duration{2000000});
  CHECK(types[1].longest >= types[1].shortest);
  CHECK(types[1].total >= types[1].shortest + types[1].longest);
}

//   gate --> brief --> long          on the datum "pressure"
TEST_CASE("dump: names waiting tasks, and the datum that they wait for") {
  hs::Runtime<> rt(on_cpus(2));
  support::Gate gate;
  std::atomic<bool> started{false};
  int x = 0;
  bool passed = false;
  auto hx = rt.data(x);
  hx.named("pressure");
  rt.spawn(hs::label("valve"))(
      [&](int&) {
        started = true;
        passed = gate.pass();
      },
      hs::write(hx));
  rt.spawn<Brief>()(hx);
  rt.spawn<Long>()(hx);
  REQUIRE(support::eventually([&] { return started.load(); }));
  auto const text = rt.dump();
  gate.open();
  rt.sync();

  CHECK(passed);
  CAPTURE(text);
  CHECK(contains(text, "3 tasks live, 2 workers"));
  CHECK(contains(text, "worker 0: vacant"));
  CHECK(contains(text, "worker 1: running, in task valve"));
  CHECK(contains(text, "1 x valve: running"));
  CHECK(contains(text, "1 x brief: waiting for data"));
  CHECK(contains(text, "1 x long: waiting for data"));
  CHECK(contains(text, "data 'pressure': held by 1 in mode W, awaited by 2, first brief"));

  auto const after = rt.dump();
  CAPTURE(after);
  CHECK(contains(after, "0 tasks live"));
  CHECK(!contains(after, "pressure"));
}

TEST_CASE("dump: may be asked for by anybody while tasks run") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  std::atomic<bool> done{false};
  std::size_t bytes = 0;
  std::thread watcher([&] {
    do {
      bytes += rt.dump().size();
    } while (!done);
  });
  int x = 0;
  auto const hx = rt.data(x);
  for (int k = 0; k < 300; ++k) {
    rt.spawn()(
        [](Rt& inner, hs::Handle<int> const& mine) {
          inner.spawn<Brief>()(mine);
          inner.sync();
        },
        hs::read_write(hx));
  }
  rt.sync();
  done = true;
  watcher.join();
  CHECK(x == 300);
  CHECK(bytes != 0);
}

TEST_CASE("attributes: a label is copied and reaches the scheduler") {
  hs::Runtime<Noting> rt(on_cpus(1));
  int x = 0;
  auto const hx = rt.data(x);
  std::string text = "tile 1";
  rt.spawn<Brief>(hs::label(text))(hx);
  text = "changed";
  rt.spawn<Brief>(hs::priority(1), hs::label("tile 2"), hs::SetArch(hs::ArchHost))(hx);
  rt.spawn<Brief>()(hx);
  rt.sync();
  CHECK(Noting::labels == std::vector<std::string>{"tile 1", "tile 2", ""});
}

TEST_CASE("attributes: an id is not used again at once, though its memory is") {
  hs::Runtime<Noting> rt(on_cpus(1));
  for (int k = 0; k < 1000; ++k) {
    rt.spawn()([] {});
    rt.sync();
  }
  auto ids = Noting::ids;
  std::vector<std::uint64_t> addresses;
  for (auto const id : ids) {
    addresses.push_back(id & ((std::uint64_t{1} << 48U) - 1));
  }
  auto const distinct = [](std::vector<std::uint64_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
  };
  CHECK(distinct(ids) == 1000);
  CHECK(distinct(addresses) < 200);
}

TEST_CASE("attributes: on one worker Priority takes the highest first, equals as they came") {
  hs::Runtime<hs::policies::Priority<>> rt(on_cpus(1));
  std::vector<int> order;
  int tag = 0;
  for (int const priority : {0, 5, -3, 5, 1}) {
    rt.spawn(hs::priority(priority))([&order, number = tag++] { order.push_back(number); });
  }
  rt.sync();
  CHECK(order == std::vector<int>{1, 3, 4, 0, 2});
}

TEST_CASE("attributes: a class of worker that the runtime lacks is an error at the spawn") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 0;
  auto const hx = rt.data(x);
  rt.spawn<Anywhere>()(hx);
  rt.spawn<Anywhere>(hs::SetArch(hs::ArchHost))(hx);
  for (auto const& error :
       {error_of([&] { rt.spawn<Anywhere>(hs::SetArch(hs::ArchCUDA))(hx); }), error_of([&] {
          rt.spawn<Anywhere>(hs::SetArch(hs::ArchCUDA), hs::SetArch(hs::ArchHost))(hx);
        })}) {
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::cannot_run);
    CHECK(error->culprit() == "task 'anywhere'");
    CHECK(contains(error->what(), "no worker of this runtime can run it"));
  }
  auto const error = error_of([&] { rt.spawn<DeviceOnly>()(hx); });
  REQUIRE(error);
  CHECK(error->culprit() == "task 'device only'");
  rt.sync();
  CHECK(x == 2);
  CHECK(rt.stats().spawned == 2);
}

/// Newest or oldest task first, as its knob says.
class OneEnd {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  struct Config {
    bool newest_first = false;
  };

  explicit OneEnd(std::span<hs::WorkerInfo const> /*workers*/) {}

  OneEnd(std::span<hs::WorkerInfo const> /*workers*/, Config const& config) : config_(config) {}

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    ready_.push_back(task);
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      auto const at = config_.newest_first ? ready_.size() - 1 - i : i;
      if (auto const task = ready_[at]; ctx.can_run(task, worker)) {
        ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(at));
        return task;
      }
    }
    return hs::no_task;
  }

private:
  Config config_;
  std::vector<hs::TaskId> ready_;
};

std::vector<int> order_of(hs::Runtime<OneEnd>& rt) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    rt.spawn()([&order, i] { order.push_back(i); });
  }
  rt.sync();
  return order;
}

/// What a Progress that looks so often has written of a run of 40 tasks of 2 ms.
/// `shows`: the run goes on until it has shown something, or for ten seconds.
std::string progress_of(hs::ProgressOptions options, bool shows) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  options.out = file;
  {
    hs::Runtime<> rt(on_cpus(2));
    hs::Progress const progress(rt, options);
    for (int k = 0; k < 39; ++k) {
      rt.spawn()([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    }
    rt.spawn()([file, shows] {
      for (int k = 0; shows && std::ftell(file) == 0 && k < 10000; ++k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    rt.sync();
  }
  std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  CHECK(std::fread(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  return text;
}

TEST_CASE("Progress: tells what is done while a run goes on, and nothing of a short one") {
  using Style = hs::ProgressOptions::Style;
  std::chrono::milliseconds const often(3);
  auto const lines = progress_of({.style = Style::automatic, .every = often}, true); // no terminal
  int count = 0;
  std::uint64_t before = 0;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line); ++count) {
    CAPTURE(line);
    unsigned long long done = 0;
    unsigned long long known = 0;
    REQUIRE(std::sscanf(line.c_str(), "%llu of %llu tasks, ", &done, &known) == 2);
    CHECK(before <= done);
    CHECK(done <= known);
    CHECK(known <= 40);
    CHECK(line.size() > 4);
    CHECK(line.back() == ']');
    CHECK(line[line.size() - 4] == '['); // two workers
    before = done;
  }
  CHECK(count > 0);
  CHECK(lines.find('#') != std::string::npos);
  CHECK(lines.find('\r') == std::string::npos);
  auto const line = progress_of({.style = Style::line, .every = often}, true);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.ends_with("\r\033[K")); // it is taken away
  CHECK(progress_of({.style = Style::none, .every = often}, false).empty());
  CHECK(progress_of({}, false).empty()); // over before the first look
}

TEST_CASE("Progress: what is left takes as long as what is done has, at its rate") {
  hs::Stats stats;
  stats.workers.resize(3);
  CHECK(hs::Progress::text(stats) == "0 of 0 tasks, 0/s [...]");
  stats.workers[1].busy = true;
  stats.spawned = 300;
  stats.executed = 90;
  stats.cancelled = 10;
  stats.elapsed = {2'000'000'000};
  CHECK(hs::Progress::text(stats) == "100 of 300 tasks, 50/s, about 4 s left [.#.]");
}

TEST_CASE("Runtime: hands the scheduler its knobs") {
  hs::Runtime<OneEnd> as_made(on_cpus(1));
  hs::Runtime<OneEnd> newest_first(on_cpus(1), OneEnd::Config{.newest_first = true});
  CHECK(order_of(as_made) == std::vector<int>{0, 1, 2});
  CHECK(order_of(newest_first) == std::vector<int>{2, 1, 0});
}

TEST_SUITE_END();

} // namespace stats_test
