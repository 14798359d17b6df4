// SPDX-License-Identifier: MIT
#pragma once
// What the programs share: command line, schedulers by name, failures as one line and a status.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>

#include "chosen_cache.hpp"
#include "times.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

// The engines of example::Runtime are in engines.cpp.
namespace hetsched::detail {

extern template class ThreadCoreOf<policies::WorkStealing<>, policies::NoModel>;
extern template class ThreadCoreOf<policies::AnyScheduler, example::Times>;

} // namespace hetsched::detail

namespace example {

namespace hs = hetsched;

// ---- schedulers by name ----

using hs::policies::AnyScheduler;

template <class S>
struct Named {
  using Scheduler = S;
  std::string_view name;
};

/// The schedulers that every program has as types. Programs with devices have all that ship: see
/// for_all_schedulers.
inline constexpr auto schedulers = std::tuple(Named<hs::policies::WorkStealing<>>{"ws"},
                                              Named<hs::policies::Eager<>>{"eager"},
                                              Named<hs::policies::Random<>>{"random"},
                                              Named<hs::policies::Priority<>>{"priority"});

/// Calls `use(Named<S>)` for the scheduler `wanted`, or for each if that is "all". Returns the
/// number of calls.
template <class Use>
int for_each_scheduler(std::string_view wanted, Use&& use) {
  int count = 0;
  auto consider = [&](auto named) {
    if (wanted == "all" || wanted == named.name) {
      use(named);
      ++count;
    }
  };
  std::apply([&](auto... named) { (consider(named), ...); }, schedulers);
  return count;
}

/// The runtime of a program with devices. The command line names the scheduler and the cache
/// policy. Schedulers that ask for times get them.
template <class S>
using Runtime =
    hs::Runtime<S,
                ChosenCache,
                std::conditional_t<std::is_same_v<S, AnyScheduler>, Times, hs::policies::NoModel>>;

template <class S>
[[nodiscard]] Runtime<S> make_runtime(Named<S> scheduler, hs::Config const& config) {
  if constexpr (std::is_same_v<S, AnyScheduler>) {
    return Runtime<S>(config, AnyScheduler::Config{std::string(scheduler.name)});
  } else {
    return Runtime<S>(config);
  }
}

/// The same for all schedulers of AnyScheduler. "all" means those with SchedulerName::in_all. `ws`
/// is a type of its own, which asks for no times.
template <class Use>
int for_all_schedulers(std::string_view wanted, Use&& use) {
  auto const ws = std::get<0>(schedulers);
  int count = 0;
  for (auto const& one : hs::policies::scheduler_names()) {
    if (wanted != one.name && (wanted != "all" || !one.in_all)) {
      continue;
    }
    ++count;
    if (one.name == ws.name) {
      use(ws);
    } else {
      use(Named<AnyScheduler>{one.name});
    }
  }
  return count;
}

// ---- command line ----

struct Options {
  std::string matrix; // a file; empty: generated
  std::size_t n = 1500;
  std::size_t tile = 128;
  std::string scheduler = "all";
  std::optional<int> cpus;
  std::optional<int> group;
  std::size_t repeat = 3;
  std::uint64_t seed = 1;
  std::string devices = "none"; // as hs::Config::devices
  bool json = false;
  std::string trace; // a file; empty: none

  [[nodiscard]] hs::Config config() const {
    hs::Config config;
    config.cpus = cpus;
    config.group = group;
    config.seed = seed;
    config.timing = true;
    config.devices = devices;
    config.record = !trace.empty();
    return config;
  }
};

struct Program {
  std::string kernel; // as printed
  std::string description;
  std::string help; // printed below the options
  bool takes_matrix = false;
  Options defaults = {};
  std::function<void(CLI::App&)> add_options = {}; // of this program alone
  std::string parts = "tiles";                     // what --tile is the size of; empty: nothing
  std::uint64_t largest_n = 1'000'000;
  bool devices = false; // its tasks run on GPUs, too, and under all schedulers
};

[[noreturn]] inline void bad_input(std::string culprit, std::string const& message) {
  throw hs::Error(hs::ErrorCode::bad_input, std::move(culprit), message);
}

/// What is wrong with a command line, apart from values.
struct CommandLineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In command_line.cpp, so that each program need not compile the command line parser.

/// An option that is a whole number from `low` to `high`.
void add_number(CLI::App& app,
                std::string const& name,
                std::uint64_t low,
                std::uint64_t high,
                std::size_t& number,
                std::string const& help);

/// An option that is one of some words.
void add_choice(CLI::App& app,
                std::string const& name,
                std::vector<std::string> const& words,
                std::string& word,
                std::string const& help);

void add_flag(CLI::App& app, std::string const& name, bool& flag, std::string const& help);

/// The options, or nothing if help was asked for and given. Throws CommandLineError, or
/// Error(bad_input) for a value.
[[nodiscard]] std::optional<Options> parse(int argc, char** argv, Program const& program);

/// Throws unless this machine can hold `count` objects of n^dimensions doubles.
inline void check_memory(std::string const& culprit, std::size_t n, int count, int dimensions = 2) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  auto const size = std::pow(static_cast<double>(n), dimensions) * sizeof(double) / gib;
  auto const memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<double>(::sysconf(_SC_PAGESIZE)) / gib;
  if (size * count > memory) {
    bad_input(culprit,
              "n = " + std::to_string(n) + " needs " + std::to_string(count) +
                  (dimensions == 2 ? " matrices of " : " vectors of ") +
                  std::to_string(static_cast<long long>(size + 1)) + " GiB, more than this " +
                  "machine's memory");
  }
}

// ---- output ----

/// One JSON object on one line; numbers that JSON does not know become null.
class JsonLine {
public:
  JsonLine& add(std::string_view key, std::string_view text) {
    begin(key) += quoted(text);
    return *this;
  }

  JsonLine& add(std::string_view key, double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    begin(key) += std::isfinite(number) ? text : "null";
    return *this;
  }

  template <std::integral Integer>
  JsonLine& add(std::string_view key, Integer number) {
    begin(key) += std::to_string(number);
    return *this;
  }

  JsonLine& add(std::string_view key, std::vector<JsonLine> const& lines) {
    auto& fields = begin(key);
    char const* between = "[";
    for (auto const& line : lines) {
      fields += between + line.text();
      between = ", ";
    }
    fields += lines.empty() ? "[]" : "]";
    return *this;
  }

  [[nodiscard]] std::string text() const { return '{' + fields_ + '}'; }

  void print() const { std::printf("%s\n", text().c_str()); }

private:
  static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (char const c : text) {
      char escape[8];
      if (static_cast<unsigned char>(c) < 0x20) {
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
        result += escape;
      } else {
        result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      }
    }
    return result + '"';
  }

  std::string& begin(std::string_view key) {
    fields_ += (fields_.empty() ? "" : ", ") + quoted(key) + ": ";
    return fields_;
  }

  std::string fields_;
};

/// A program's main. It parses the options and calls `body(options)`, which returns what is wrong
/// with the result, or "". A failure becomes one line on stderr and the exit status that --help
/// explains.
template <class Body>
int run_program(int argc, char** argv, Program const& program, Body&& body) {
  auto const fail = [](std::string line, int status) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s\n", line.c_str());
    return status;
  };
  auto const prefix = program.kernel + ": ";
  try {
    auto const options = parse(argc, argv, program);
    if (!options) {
      return 0;
    }
    std::string const wrong = body(*options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail(prefix + "cannot write to standard output", 1);
    }
    return wrong.empty() ? 0 : fail(prefix + "wrong result: " + wrong, 1);
  } catch (CommandLineError const& error) {
    return fail(prefix + error.what(), 2);
  } catch (hs::Error const& error) {
    auto const code = error.code();
    bool const input = code == hs::ErrorCode::bad_config || code == hs::ErrorCode::bad_input ||
                       code == hs::ErrorCode::numerical;
    return fail(error.what(), input ? 2 : 1);
  } catch (std::bad_alloc const&) {
    return fail(prefix + "out of memory", 1);
  } catch (std::exception const& error) {
    return fail(prefix + error.what(), 1);
  }
}

} // namespace example
