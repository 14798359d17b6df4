// SPDX-License-Identifier: MIT
// Settings, from Config and from the environment; limits; several threads outside.

#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::on_cpus;

namespace config_test {

/// An environment variable that has a value for a while.
class Variable {
public:
  Variable(char const* name, char const* value) : name_(name) {
    if (char const* const before = std::getenv(name)) {
      before_ = before;
    }
    setenv(name, value, 1);
  }

  Variable(Variable const&) = delete;
  Variable& operator=(Variable const&) = delete;

  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

private:
  char const* name_;
  std::optional<std::string> before_;
};

hs::Config resolved(hs::Config config = {}) {
  hs::detail::resolve_config(config);
  return config;
}

/// Draws a number for each task.
struct Drawing : OldestFirst {
  static inline std::vector<std::uint64_t> drawn;

  Drawing() { drawn.clear(); }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    drawn.push_back(ctx.random(worker));
    return OldestFirst::push(ctx, task, worker);
  }
};

/// How many tasks a program had spawned and not completed, at most.
class LiveCount {
public:
  void spawned() {
    auto const now = ++live_;
    auto most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }

  void completed() { --live_; }

  [[nodiscard]] int most() const { return most_; }

private:
  std::atomic<int> live_{0};
  std::atomic<int> most_{0};
};

int first_usable() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  int first = 0;
  while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &mask)) {
    ++first;
  }
  return first;
}

TEST_SUITE_BEGIN("config");

TEST_CASE("config: the environment fills what the program leaves open") {
  Variable const cpus("HETSCHED_NCPU", "3");
  Variable const bind("HETSCHED_BIND", "none");
  Variable const live("HETSCHED_MAX_LIVE_TASKS", "1000000");
  Variable const seed("HETSCHED_SEED", "18446744073709551615");
  Variable const timing("HETSCHED_TIMING", "1");
  Variable const memory("HETSCHED_TRACE_MEMORY", "4096");
  Variable const priorities("HETSCHED_PRIORITIES", "avg");

  auto const config = resolved();
  CHECK(config.cpus == 3);
  CHECK(config.bind == hs::Bind::none);
  CHECK(config.max_live_tasks == 1000000);
  CHECK(config.seed == 18446744073709551615U);
  CHECK(config.timing == true);
  CHECK(config.priorities == hs::Priorities::bottom_avg);
  CHECK(hs::Runtime<>().workers().size() == 3);
  CHECK(config.trace_memory == 4096);
  Variable const trace("HETSCHED_TRACE", "run.json");
  CHECK(resolved().trace == "run.json");
  CHECK(resolved({.trace = "other.json"}).trace == "other.json");
  Variable const profile("HETSCHED_REUSE_PROFILE", "uses");
  CHECK(resolved().reuse_profile == "uses");
  CHECK(resolved({.reuse_profile = "others"}).reuse_profile == "others");
}

TEST_CASE("config: a variable that nobody reads is named, with the nearest that is read") {
  std::array<char const*, 9> const environment{"HOME=/",
                                               "HETSCHED_NCPUS=4",
                                               "HETSCHED_NCPU=4",
                                               "HETSCHED_SCHEDULR=ws",
                                               "HETSCHED_TEST_SEED=1",
                                               "HETSCHED_TRACE_MEMORY=1",
                                               "HETSCHED_",
                                               "HETSCHED_COLOUR_OF_REPORTS=red",
                                               nullptr};
  CHECK(hs::detail::unknown_variables(environment.data()) ==
        "hetsched: HETSCHED_NCPUS: is no variable that is read; did you mean HETSCHED_NCPU?\n"
        "hetsched: HETSCHED_SCHEDULR: is no variable that is read; did you mean "
        "HETSCHED_SCHEDULER?\n"
        "hetsched: HETSCHED_: is no variable that is read\n"
        "hetsched: HETSCHED_COLOUR_OF_REPORTS: is no variable that is read\n");
  CHECK(hs::detail::unknown_variables(nullptr).empty());
  for (std::string const name : {"NCPU",
                                 "GROUP",
                                 "BIND",
                                 "MAX_LIVE_TASKS",
                                 "SEED",
                                 "TIMING",
                                 "DEVICES",
                                 "WINDOW",
                                 "STREAMS",
                                 "MEMORY_TRACE",
                                 "TRACE",
                                 "TRACE_MEMORY",
                                 "REUSE_PROFILE",
                                 "MODEL_DIR",
                                 "MACHINE",
                                 "EXPLAIN",
                                 "PRIORITIES",
                                 "CHECK",
                                 "SCHEDULER"}) {
    auto const variable = "HETSCHED_" + name + "=1";
    std::array<char const*, 2> const one{variable.c_str(), nullptr};
    CHECK(hs::detail::unknown_variables(one.data()).empty());
  }
}

TEST_CASE("config: what the program sets wins, even over a bad variable") {
  Variable const cpus("HETSCHED_NCPU", "many");
  Variable const bind("HETSCHED_BIND", "tightly");
  Variable const live("HETSCHED_MAX_LIVE_TASKS", "-1");
  Variable const seed("HETSCHED_SEED", "x");
  Variable const timing("HETSCHED_TIMING", "2");
  Variable const priorities("HETSCHED_PRIORITIES", "max");
  hs::Config config;
  config.cpus = 2;
  config.bind = hs::Bind::cores;
  config.max_live_tasks = 7;
  config.seed = 8;
  config.timing = false;
  config.priorities = hs::Priorities::own;

  config = resolved(config);
  CHECK(config.cpus == 2);
  CHECK(config.bind == hs::Bind::cores);
  CHECK(config.max_live_tasks == 7);
  CHECK(config.seed == 8);
  CHECK(config.timing == false);
  CHECK(config.priorities == hs::Priorities::own);
}

TEST_CASE("config: whose priorities") {
  for (auto const& [value, expected] : {std::pair("own", hs::Priorities::own),
                                        std::pair("min", hs::Priorities::bottom_min),
                                        std::pair("avg", hs::Priorities::bottom_avg)}) {
    Variable const priorities("HETSCHED_PRIORITIES", value);
    CHECK(resolved().priorities == expected);
  }
}

TEST_CASE("config: what is checked") {
  for (auto const& [value, expected] : {std::pair("none", hs::Check::none),
                                        std::pair("containers", hs::Check::containers),
                                        std::pair("access", hs::Check::access)}) {
    Variable const check("HETSCHED_CHECK", value);
    CHECK(resolved().check == expected);
  }
}

/// In a program under a sanitizer, for instance.
TEST_CASE("config: a check of accesses that cannot be had is an error that says so") {
  hs::detail::AccessCheck const none{[]() noexcept -> char const* { return "access is not here"; }};
  hs::Config config;
  config.check = hs::Check::access;
  auto const* const before = hs::detail::access_check;
  for (auto const& [check, words] : {std::pair(&none, "access is not here"),
                                     std::pair(static_cast<hs::detail::AccessCheck const*>(nullptr),
                                               "#include <hetsched/checking.hpp>")}) {
    hs::detail::access_check = check;
    auto const error = error_of([&] { hs::Runtime<> const rt(config); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_config);
    CHECK(error->culprit() == "HETSCHED_CHECK");
    CHECK(std::string(error->what()).find(words) != std::string::npos);
  }
  hs::detail::access_check = before;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (before != nullptr) {
    CHECK(error_of([&] { hs::Runtime<> const rt(config); }));
  }
#endif
}

TEST_CASE("config: when dependencies are computed") {
  for (auto const& [value, expected] : {std::pair("at_spawn", hs::Dependencies::at_spawn),
                                        std::pair("when_stolen", hs::Dependencies::when_stolen)}) {
    Variable const dependencies("HETSCHED_DEPENDENCIES", value);
    CHECK(resolved().dependencies == expected);
  }
}

TEST_CASE("config: when_stolen without its header is an error that says so") {
  hs::Config config;
  config.dependencies = hs::Dependencies::when_stolen;
  auto const* const before = std::exchange(hs::detail::backlogs, nullptr);
  auto const error = error_of([&] { hs::Runtime<> const rt(config); });
  hs::detail::backlogs = before;
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_config);
  CHECK(error->culprit() == "HETSCHED_DEPENDENCIES");
  CHECK(std::string(error->what()).find("#include <hetsched/when_stolen.hpp>") !=
        std::string::npos);
}

TEST_CASE("config: a bad variable is an error that names it and its value") {
  struct Bad {
    char const* variable;
    char const* value;
  };

  for (auto const& [variable, value] : {Bad{"HETSCHED_NCPU", "0"},
                                        Bad{"HETSCHED_NCPU", "4097"},
                                        Bad{"HETSCHED_NCPU", "-2"},
                                        Bad{"HETSCHED_NCPU", "two"},
                                        Bad{"HETSCHED_NCPU", "2x"},
                                        Bad{"HETSCHED_NCPU", ""},
                                        Bad{"HETSCHED_NCPU", " 2"},
                                        Bad{"HETSCHED_NCPU", "99999999999999999999"},
                                        Bad{"HETSCHED_GROUP", "0"},
                                        Bad{"HETSCHED_GROUP", "all"},
                                        Bad{"HETSCHED_BIND", "yes"},
                                        Bad{"HETSCHED_BIND", ""},
                                        Bad{"HETSCHED_MAX_LIVE_TASKS", "-1"},
                                        Bad{"HETSCHED_MAX_LIVE_TASKS", "1e6"},
                                        Bad{"HETSCHED_SEED", "0x10"},
                                        Bad{"HETSCHED_SEED", "18446744073709551616"},
                                        Bad{"HETSCHED_PRIORITIES", "max"},
                                        Bad{"HETSCHED_PRIORITIES", ""},
                                        Bad{"HETSCHED_CHECK", "acces"},
                                        Bad{"HETSCHED_CHECK", ""},
                                        Bad{"HETSCHED_DEPENDENCIES", "stolen"},
                                        Bad{"HETSCHED_TIMING", "on"},
                                        Bad{"HETSCHED_TIMING", "2"},
                                        Bad{"HETSCHED_TRACE_MEMORY", "1GB"}}) {
    CAPTURE(variable);
    CAPTURE(value);
    Variable const bad(variable, value);
    auto const error = error_of([] { hs::Runtime<> const rt; });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_config);
    CHECK(error->culprit() == variable);
    CHECK(std::string(error->what()).find("'" + std::string(value) + "'") != std::string::npos);
    CHECK(std::string(error->what()).find('\n') == std::string::npos);
  }
}

TEST_CASE("Error: is one line of a bounded length, whatever is in it") {
  hs::Error const error(
      hs::ErrorCode::bad_input, "a\nfile", std::string("what\0is\r\x7f\xc3\xa4", 11) + "\tthere");
  CHECK(std::string(error.what()) == "hetsched: a?file: what?is??\xc3\xa4?there");
  CHECK(error.culprit() == "a\nfile");
  hs::Error const large(
      hs::ErrorCode::bad_input, std::string(100'000, 'x'), std::string(100'000, 'y'));
  CHECK(std::string(large.what()) ==
        "hetsched: " + std::string(4000, 'x') + "...: " + std::string(4000, 'y') + "...");
}

TEST_CASE("config: workers from 1 to 4096") {
  for (int const cpus : {0, -1, 4097}) {
    CAPTURE(cpus);
    auto const error = error_of([&] { hs::Runtime<> const rt(on_cpus(cpus)); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_config);
    CHECK(std::string(error->what()) ==
          "hetsched: Config::cpus: " + std::to_string(cpus) + " is not from 1 to 4096");
  }
  auto config = on_cpus(1);
  config.group = 0;
  auto const group = error_of([&] { hs::Runtime<> const rt(config); });
  REQUIRE(group);
  CHECK(std::string(group->what()) == "hetsched: Config::group: 0 is not from 1 to 4096");
  CHECK(hs::Runtime<>(on_cpus(1)).workers().size() == 1);
  hs::Runtime<> const rt(on_cpus(5));
  REQUIRE(rt.workers().size() == 5);
  CHECK(rt.workers()[4].id == hs::WorkerId{4});
  CHECK(rt.workers()[4].arch == hs::ArchHost);
}

TEST_CASE("config: more workers than cores are told of once in a process") {
  // In a process of its own: this one may have been told already.
  auto const child = support::run_in_child([] {
    char const* const path = "/proc/self/exe";
    char const* const arguments[] = {
        path, "--test-case=config: (oversubscribed)", "--no-skip", nullptr};
    if (std::freopen("/dev/null", "w", stdout) == nullptr) {
      return 97;
    }
    execv(path, const_cast<char* const*>(arguments));
    return 98;
  });
  CHECK(child.exit_code == 0);
  CHECK(child.errors == "hetsched: 2 workers on 1 usable core: they will take turns\n");
}

TEST_CASE("config: (oversubscribed)" * doctest::skip()) {
  int const place = first_usable();
  for (int const cpus : {1, 2, 2, 3}) {
    hs::Config config;
    config.places = {place};
    config.cpus = cpus;
    config.bind = hs::Bind::none;
    hs::Runtime<> const rt(config);
  }
}

TEST_CASE("config: a core that this process may not use is an error") {
  for (int const place : {-1, 8000, 1 << 30}) {
    hs::Config config;
    config.places = {first_usable(), place};
    auto const error = error_of([&] { hs::Runtime<> const rt(config); });
    REQUIRE(error);
    CHECK(error->code() == hs::ErrorCode::bad_config);
    CHECK(error->culprit() == "Config::places");
    CHECK(std::string(error->what()).find("core " + std::to_string(place)) != std::string::npos);
  }
}

TEST_CASE("config: workers are bound to the places given, and the waiting thread only meanwhile") {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
  int const first = first_usable();
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::cores;
  config.places = {first};
  hs::Runtime<> rt(config);
  CHECK(rt.workers()[0].cpu == first);

  int cores = 0;
  int core = -1;
  rt.spawn()([&] {
    cpu_set_t bound;
    CPU_ZERO(&bound);
    sched_getaffinity(0, sizeof bound, &bound);
    cores = CPU_COUNT(&bound);
    core = sched_getcpu();
  });
  rt.sync();
  CHECK(cores == 1);
  CHECK(core == first);

  cpu_set_t after;
  CPU_ZERO(&after);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&mask, &after) != 0);
}

TEST_CASE("config: the seed decides what is drawn") {
  auto const order = [](std::uint64_t seed) {
    auto config = on_cpus(1);
    config.seed = seed;
    hs::Runtime<Drawing> rt(config);
    for (int k = 0; k < 20; ++k) {
      rt.spawn()([] {});
    }
    rt.sync();
    return Drawing::drawn;
  };
  CHECK(order(1).size() == 20);
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE_TEMPLATE("config: max_live_tasks bounds how far spawning runs ahead",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (int const cpus : {1, 3}) {
    auto config = on_cpus(cpus);
    config.max_live_tasks = 20;
    hs::Runtime<Scheduler> rt(config);
    LiveCount count;
    int x = 0;
    auto const hx = rt.data(x);
    for (int k = 0; k < 2000; ++k) {
      count.spawned();
      rt.spawn()(
          [&count](int& v) {
            ++v;
            count.completed();
          },
          hs::read_write(hx));
    }
    rt.sync();
    CHECK(x == 2000);
    if (cpus == 1) { // others may run them as fast as they come
      CHECK(count.most() >= 20);
    }
    CHECK(count.most() <= 20 + 40); // looked at every 16 spawns
  }
}

TEST_CASE("config: a thread held back by max_live_tasks works when nobody else does") {
  // The others may leave for good while it waits, with its tasks still to be run.
  auto config = on_cpus(1);
  config.max_live_tasks = 2;
  for (int round = 0; round < 300; ++round) {
    hs::Runtime<hs::policies::Random<>> rt(config);
    std::atomic<int> ran{0};
    auto const program = [&] {
      for (int k = 0; k < 8; ++k) {
        rt.spawn()([&ran] { ++ran; });
      }
      if (round % 2 == 0) {
        rt.sync();
      }
    };
    std::thread other(program);
    program();
    other.join();
    rt.sync();
    REQUIRE(ran == 16);
  }
}

TEST_CASE("config: without a limit all of them wait for the sync on one worker") {
  hs::Runtime<> rt(on_cpus(1));
  LiveCount count;
  for (int k = 0; k < 500; ++k) {
    count.spawned();
    rt.spawn()([&count] { count.completed(); });
  }
  rt.sync();
  CHECK(count.most() == 500);
}

TEST_CASE_TEMPLATE("threads: several spawn and sync at once, their tasks keep each one's order",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  for (std::uint64_t const max_live : {0, 10}) {
    auto config = on_cpus(2);
    config.max_live_tasks = max_live;
    hs::Runtime<Scheduler> rt(config);
    constexpr int threads = 4;
    constexpr int tasks = 200;
    long shared = 0;
    auto const hshared = rt.data(shared);
    std::vector<long> own(threads, 0);
    std::atomic<int> in_order{0};
    auto const program = [&](std::size_t t) {
      auto const mine = rt.data(own[t]);
      for (int k = 0; k < tasks; ++k) {
        rt.spawn()(
            [&in_order](long& v, long& all, int number) {
              in_order += v == number ? 1 : 0;
              ++v;
              ++all;
            },
            hs::read_write(mine),
            hs::read_write(hshared),
            k);
        if (k % 50 == 0) {
          rt.sync(mine);
          in_order += own[t] == k + 1 ? 1 : 0;
        }
      }
      rt.sync();
      in_order += own[t] == tasks ? 1 : 0;
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads; ++t) {
      others.emplace_back(program, t);
    }
    program(0);
    for (auto& other : others) {
      other.join();
    }
    CHECK(shared == threads * tasks);
    CHECK(in_order == threads * (tasks + tasks / 50 + 1));
  }
}

TEST_SUITE_END();

} // namespace config_test
