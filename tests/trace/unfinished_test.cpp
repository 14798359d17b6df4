// SPDX-License-Identifier: MIT
// Runs that do not come to their end: what their files of events tell.

#include <hetsched/detail/recording/read_events.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace unfinished_test {

namespace hs = hetsched;

[[noreturn]] void fail() {
  throw std::runtime_error("nobody catches this");
}

TEST_SUITE_BEGIN("platforms");

TEST_CASE("unfinished runs: a process that is killed leaves the events of its run") {
  auto const folder =
      std::filesystem::temp_directory_path() / ("hetsched-events-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto const path = (folder / "run.json").string();
  auto const left = path + ".events";
  auto config = support::on_cpus(2);
  config.trace = path;
  auto const work = [](hs::Runtime<>& rt, double& x) {
    auto const h = rt.data(x);
    rt.spawn(hs::label("first"), hs::priority(7))([](double& v) { v = 1; }, hs::write(h));
    rt.spawn(hs::label("second"))([](double& v) { v += 1; }, hs::read_write(h));
    rt.spawn(hs::label("third"))(
        [](hs::Runtime<>& in, hs::Handle<double> const&) { in.spawn()([] {}); }, hs::read(h));
    rt.sync();
  };
  auto const child = support::run_in_child([&]() -> int {
    hs::Runtime<> rt(config);
    double x = 0;
    work(rt, x);
    rt.spawn(hs::label("endless"))([] { ::raise(SIGKILL); });
    rt.sync();
    return 0;
  });
  CHECK(child.exit_code != 0);
  CHECK(!std::filesystem::exists(path));
  auto const trace = hs::detail::read_trace_or_events(left);
  REQUIRE(trace.tasks.size() == 5);
  CHECK(trace.workers.size() == 2);
  CHECK(trace.scheduler.find("WorkStealing") != std::string::npos);
  auto const label = [&](std::size_t v) { return trace.labels[trace.tasks[v].label]; };
  CHECK(label(0) == "first");
  CHECK(trace.types[trace.tasks[1].type].name == "second");
  CHECK(trace.tasks[0].priority == 7);
  CHECK(trace.tasks[1].outcome == hs::Trace::Outcome::done);
  CHECK(trace.tasks[3].parent == 2);
  CHECK(trace.tasks[4].outcome == hs::Trace::Outcome::unfinished);
  REQUIRE(trace.edges.size() == 2);
  CHECK(trace.about.back().first == "unfinished");

  // An exception that nobody catches.
  auto const thrown = support::run_in_child([&]() -> int {
    ::signal(SIGABRT, SIG_DFL); // doctest has taken it
    [&]() noexcept {
      hs::Runtime<> rt(config);
      double x = 0;
      work(rt, x);
      fail();
    }();
    return 0;
  });
  CHECK(thrown.exit_code != 0);
  CHECK(hs::detail::read_trace_or_events(left).tasks.size() == 4);

  // A run that comes to its end leaves the trace alone, and takes the place of what was left.
  {
    hs::Runtime<> rt(config);
    double x = 0;
    work(rt, x);
    CHECK(std::filesystem::exists(left));
    rt.reset_stats();
    rt.spawn()([] {});
    rt.sync();
    CHECK(hs::detail::read_trace_or_events(left).tasks.size() == 1);
  }
  CHECK(std::filesystem::exists(path));
  CHECK(!std::filesystem::exists(left));
  std::filesystem::remove_all(folder);
}

TEST_CASE("unfinished runs: a second writer leaves the first one's file alone") {
  auto const path =
      (std::filesystem::temp_directory_path() / ("hetsched-two-" + std::to_string(::getpid())))
          .string();
  {
    hs::detail::EventFile first(path);
    first.begin(1, 4096, "first");
    auto* const memory = static_cast<char*>(first.chunk(4096));
    REQUIRE(memory != nullptr);
    {
      hs::detail::EventFile second(path);
      second.begin(1, 4096, "second");
      CHECK(second.chunk(4096) == nullptr);
      second.remove();
    }
    memory[4095] = 'x'; // would be a SIGBUS if the file had been emptied
    auto const file = hs::detail::read_text_file(path + ".events", 1 << 20);
    CHECK(file.size() == 2 * 4096);
    CHECK(file.back() == 'x');
    first.remove();
  }
  CHECK(!std::filesystem::exists(path + ".events"));
  hs::detail::EventFile third(path);
  third.begin(1, 4096, "third");
  CHECK(third.chunk(4096) != nullptr);
  third.remove();
}

TEST_CASE("unfinished runs: files of events that are damaged are refused in one line, or read") {
  auto const folder =
      std::filesystem::temp_directory_path() / ("hetsched-damaged-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  auto config = support::on_cpus(2);
  config.trace = (folder / "run.json").string();
  std::string whole;
  {
    hs::Runtime<> rt(config);
    double x = 0;
    auto const h = rt.data(x);
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::label("task"))([](double& v) { v += 1; }, hs::read_write(h));
    }
    rt.sync();
    whole = hs::detail::read_text_file(config.trace + ".events", 1 << 30);
  }
  std::string const name = "FILE";
  CHECK(hs::detail::EventsReader(whole, name).read().tasks.size() == 20);
  std::mt19937 random(1);
  int refused = 0;
  for (int k = 0; k < 3000; ++k) {
    auto damaged = whole;
    if (k % 10 == 0) {
      damaged.resize(random() % damaged.size());
    } else {
      // The first words of the head and of the blocks, where something is.
      auto const part = random() % 3;
      auto const at =
          part == 0 ? random() % 100
                    : 4096 + (part - 1) * hs::detail::RecordedEvents::chunk_bytes + random() % 2000;
      if (at < damaged.size()) {
        damaged[at] = static_cast<char>(random());
      }
    }
    try {
      (void)hs::detail::EventsReader(damaged, name).read();
    } catch (hs::Error const& error) {
      ++refused;
      CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    }
  }
  CHECK(refused > 100);
  std::filesystem::remove_all(folder);
}

TEST_SUITE_END();

} // namespace unfinished_test
