// SPDX-License-Identifier: MIT
// Runs small programs through many interleavings of their threads, on one core. What is wrong is
// told with the command that repeats it, and what each thread did last.
//
// Usage: interleavings [--runs N | --more] [--seed N] [--preemptions N] [--scheduler NAME]
// [PROGRAM]...
//   --runs N         interleavings of all programs together (50000)
//   --more           a million
//   --seed N         of each program's first one (0)
//   --preemptions N  instead: of each program with two threads all with at most so many switches
//                    away from a thread that could have gone on, as far as `--runs` allows for each
//   --scheduler NAME one that ships, instead of the default; `all`: one after the other
//   PROGRAM          its name; none: all
// What the library says on stderr is shown with `--runs 1`.

#include <hetsched/testing/interleavings.hpp>

#include "own_memory.hpp"
#include "programs.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using hetsched::testing::Interleavings;
using interleavings::Program;

struct Settings {
  std::uint64_t runs = 50000;
  std::uint64_t seed = 0;
  int preemptions = -1;
  std::string scheduler; // empty: the default, compiled in
  std::vector<std::string_view> names;
};

/// For the handler of fatal signals: what is at work.
char at_work[256] = "no program";
std::uint64_t runs_begun = 0; // counted from the first seed
std::uint64_t tried = 0;      // of all programs

[[noreturn]] void usage(std::string const& what) {
  std::fprintf(stderr, "interleavings: %s\n", what.c_str());
  std::exit(2);
}

template <class T>
T number(std::string_view option, char const* text) {
  std::string_view const digits = text != nullptr ? text : "";
  T value{};
  auto const end = digits.data() + digits.size();
  if (digits.empty() || std::from_chars(digits.data(), end, value).ptr != end) {
    usage(std::string(option) + " needs a number, not '" + std::string(digits) + "'");
  }
  return value;
}

Settings read(char** arguments) {
  Settings settings;
  while (auto const* const argument = *++arguments) {
    std::string_view const option = argument;
    if (option == "--runs") {
      settings.runs = number<std::uint64_t>(option, *++arguments);
    } else if (option == "--more") {
      settings.runs = 1000000;
    } else if (option == "--seed") {
      settings.seed = number<std::uint64_t>(option, *++arguments);
    } else if (option == "--preemptions") {
      settings.preemptions = number<int>(option, *++arguments);
    } else if (option == "--scheduler" && arguments[1] != nullptr) {
      settings.scheduler = *++arguments;
    } else if (option.starts_with("--")) {
      usage("there is no option '" + std::string(option) + "'");
    } else {
      settings.names.push_back(option);
    }
  }
  return settings;
}

extern "C" void tell_and_end(int signal) {
  // Of these, snprintf alone is not promised to work in a handler. The program ends in any case.
  char line[400];
  int const length = std::snprintf(line,
                                   sizeof line,
                                   "\nFAILED after %llu interleavings: signal %d in %s%llu\n",
                                   static_cast<unsigned long long>(tried),
                                   signal,
                                   at_work,
                                   static_cast<unsigned long long>(runs_begun));
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) < 0) {
    std::_Exit(3);
  }
  std::_Exit(1);
}

/// Also for stacks that are full.
void handle_signals() {
  static char stack[1 << 16];
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action{};
  action.sa_handler = tell_and_end;
  action.sa_flags = SA_ONSTACK;
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
    sigaction(signal, &action, nullptr);
  }
}

/// What `addr2line` says of the places in the program: where the engine or a policy calls. Empty:
/// the tool is not there, or the place is unknown.
std::map<std::string, std::string> named(std::set<std::string> const& places) {
  std::map<std::string, std::string> names;
  std::string command = "addr2line -Caipfse /proc/" + std::to_string(getpid()) + "/exe";
  for (auto const& place : places) {
    command += ' ' + place;
  }
  auto* const lines = popen((command + " 2>/dev/null").c_str(), "r");
  if (lines == nullptr) {
    return names;
  }
  std::string place;
  char text[2048];
  while (std::fgets(text, sizeof text, lines) !=
         nullptr) { // "0x...12: f() at file:1", or its caller
    std::string line = text;
    if (line.starts_with("0x")) {
      auto const colon = line.find(": ");
      place =
          "0x" + line.substr(line.find_first_not_of("0x"), colon - line.find_first_not_of("0x"));
      line.erase(0, colon + 2);
    } else if (line.starts_with(" (inlined by) ")) {
      line.erase(0, 14);
    }
    auto const at = line.rfind(" at ");
    bool const of_controller = line.find(" at controlled_atomic.hpp") != std::string::npos ||
                               line.find(" at std_mutex.h") != std::string::npos;
    if (at != std::string::npos && !of_controller && !names.contains(place)) {
      auto const function = line.substr(0, std::min(line.find('('), at));
      names[place] =
          function.substr(0, 80) + line.substr(at, line.find_first_of(" \n", at + 4) - at);
    }
  }
  pclose(lines);
  return names;
}

/// With places in the program, `+0x123`, as functions and lines.
void print_with_places(std::string const& text) {
  constexpr auto digits = "0123456789abcdef";
  std::set<std::string> places;
  for (auto at = text.find("+0x"); at != std::string::npos; at = text.find("+0x", at + 1)) {
    places.insert(text.substr(at + 1, text.find_first_not_of(digits, at + 3) - at - 1));
  }
  std::fflush(stdout);
  auto const names = named(places);
  std::size_t shown = 0;
  for (auto at = text.find("+0x"); at != std::string::npos; at = text.find("+0x", shown)) {
    auto const end = std::min(text.find_first_not_of(digits, at + 3), text.size());
    auto const name = names.find(text.substr(at + 1, end - at - 1));
    std::printf("%s%s",
                text.substr(shown, at - shown).c_str(),
                name != names.end() ? name->second.c_str() : text.substr(at, end - at).c_str());
    shown = end;
  }
  std::printf("%s\n", text.substr(shown).c_str());
}

Interleavings explore(Program const& program,
                      hetsched::testing::InterleavingOptions const& options) {
  runs_begun = options.seed;
  auto result = hetsched::testing::explore_interleavings(
      [&program] {
        alarm(20); // of a run that takes milliseconds
        own_memory::begin();
        program.run();
        own_memory::end();
        if (auto const* const fault = own_memory::fault()) {
          hetsched::testing::expect(false, fault);
        }
        ++runs_begun;
        ++tried;
      },
      options);
  own_memory::end();
  alarm(0);
  return result;
}

struct Group {
  std::string scheduler; // empty: the default's or none
  std::vector<Program> programs;
};

struct Totals {
  std::uint64_t runs = 0, points = 0;
  int programs = 0, failed = 0;
};

/// All interleavings of each program with few preemptions, or some of all programs in turn.
void run(Group const& group, Settings const& settings, std::uint64_t runs, Totals& totals) {
  constexpr std::uint64_t round = 100;
  bool const all = settings.preemptions >= 0;
  auto const count = std::max<std::uint64_t>(group.programs.size(), 1);
  auto const share = all ? runs : (runs + count - 1) / count;
  std::string const scheduler =
      group.scheduler.empty() ? "" : "--scheduler " + group.scheduler + " ";
  totals.programs += static_cast<int>(group.programs.size());
  for (std::uint64_t done = 0; done < share; done += all ? share : round) {
    for (auto const& program : group.programs) {
      std::string const which = scheduler + "'" + std::string(program.name) + "'";
      std::snprintf(at_work, sizeof at_work, "interleavings %s, about --seed ", which.c_str());
      if (done == 0) { // what a program makes once for all stays outside a run's memory
        auto const once = hetsched::testing::explore_interleavings(program.run, {.runs = 0});
        if (all && once.threads > 2) {
          std::printf("%s: has %d threads\n", which.c_str(), once.threads);
          continue;
        }
      }
      auto const result = explore(program,
                                  {.runs = all ? share : std::min(round, share - done),
                                   .seed = settings.seed + done,
                                   .preemptions = settings.preemptions});
      totals.runs += result.runs;
      totals.points += result.points;
      if (!result) {
        std::printf("FAILED after %llu interleavings: interleavings %s --runs 1 --seed %llu\n",
                    static_cast<unsigned long long>(totals.runs),
                    which.c_str(),
                    static_cast<unsigned long long>(result.seed));
        print_with_places(result.failure);
        std::exit(1); // what the run had is lost: others would see it
      }
      if (all) {
        std::printf("%s: %llu interleavings%s\n",
                    which.c_str(),
                    static_cast<unsigned long long>(result.runs),
                    result.all ? ", all" : "");
        std::fflush(stdout);
      }
    }
  }
}

std::vector<Program> chosen(std::span<Program const> programs, Settings const& settings) {
  std::vector<Program> result;
  for (auto const& program : programs) {
    if (settings.names.empty() ||
        std::find(settings.names.begin(), settings.names.end(), program.name) !=
            settings.names.end()) {
      result.push_back(program);
    }
  }
  return result;
}

} // namespace

int main(int /*count*/, char** arguments) {
  auto const settings = read(arguments);
  handle_signals();
  if (settings.runs > 1 && std::freopen("/dev/null", "w", stderr) == nullptr) {
    return 1; // each run with a lost device says so
  }
  std::vector<std::string> schedulers{settings.scheduler};
  if (settings.scheduler == "all") {
    schedulers = interleavings::scheduler_names();
  }
  Totals totals;
  for (auto const& scheduler : schedulers) {
    Group group{scheduler, {}};
    if (scheduler.empty()) {
      group.programs = chosen(interleavings::runtime_programs(), settings);
      for (auto const others : {interleavings::oldest_first_programs(),
                                interleavings::meeting_programs(),
                                interleavings::queue_programs(),
                                interleavings::coroutine_programs(),
                                interleavings::algorithm_programs(),
                                interleavings::device_programs(),
                                interleavings::claim_programs(),
                                interleavings::sender_programs(),
                                interleavings::stolen_programs()}) {
        for (auto const& program : chosen(others, settings)) {
          group.programs.push_back(program);
        }
      }
    } else {
      group.programs = chosen(interleavings::programs_of_any(scheduler.c_str()), settings);
    }
    run(group, settings, (settings.runs + schedulers.size() - 1) / schedulers.size(), totals);
  }
  if (totals.programs == 0) {
    usage("there is no such program");
  }
  std::printf(
      "%llu interleavings of %d programs, %llu points in each: nothing found\n",
      static_cast<unsigned long long>(totals.runs),
      totals.programs,
      static_cast<unsigned long long>(totals.points / std::max<std::uint64_t>(totals.runs, 1)));
}
