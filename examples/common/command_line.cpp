// SPDX-License-Identifier: MIT
// The command line that all programs share.

#include "candidates.hpp"
#include "program.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace example {
namespace {

template <class Number>
void store(Number& number, std::uint64_t value) {
  number = static_cast<Number>(value);
}

inline void store(std::optional<int>& number, std::uint64_t value) {
  number = static_cast<int>(value);
}

/// An option that is a whole number from `low` to `high`.
template <class Number>
CLI::Option* add_any_number(CLI::App& app,
                            std::string const& name,
                            std::uint64_t low,
                            std::uint64_t high,
                            Number& number,
                            std::string const& help) {
  auto const parse = [=, &number](std::string const& text) {
    std::uint64_t value = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < low || value > high) {
      bad_input(name,
                "'" + text + "' is not a whole number from " + std::to_string(low) + " to " +
                    std::to_string(high));
    }
    store(number, value);
  };
  auto* const option = app.add_option_function<std::string>(name, parse, help);
  if constexpr (std::is_integral_v<Number>) {
    option->default_str(std::to_string(number));
  }
  return option->type_name("NUMBER");
}

/// Whether `text` is a size as in lists of devices, such as 256MB.
bool is_size(std::string_view text) {
  auto const digits = text.find_first_not_of("0123456789");
  auto const unit = digits == text.npos ? std::string_view() : text.substr(digits);
  return digits != 0 && !text.empty() && text.find_first_not_of('0') < digits &&
         (unit.empty() || unit == "B" || unit == "KB" || unit == "MB" || unit == "GB");
}

/// The list of devices with `size` added to each device whose memory the list does not say.
std::string with_memory(std::string_view list, std::string const& size) {
  if (list.empty() || list == "none") {
    return std::string(list);
  }
  std::string result;
  for (bool more = true; more;) {
    auto const end = list.find(';');
    auto const entry = list.substr(0, end);
    auto const options = std::min(entry.find('?'), entry.size());
    result += entry.substr(0, options);
    if (entry.substr(0, options).find('@') == entry.npos) {
      result += '@' + size;
    }
    result += entry.substr(options);
    more = end != list.npos;
    result += more ? ";" : "";
    list = more ? list.substr(end + 1) : std::string_view();
  }
  return result;
}

/// --gpus, --device-memory, --cache.
class DeviceOptions {
public:
  explicit DeviceOptions(CLI::App& app) {
    app.add_option("--gpus",
                   gpus_,
                   "devices, such as cuda:0,1 or emu:2@64MB, or none; by default what "
                   "HETSCHED_DEVICES says, else all CUDA devices")
        ->type_name("LIST");
    app.add_option("--device-memory", memory_, "of each device whose @SIZE is not in the list")
        ->type_name("SIZE");
    app.add_option(
           "--cache", cache_, "what leaves a device first: lru, fifo, reuse, nextuse or luf")
        ->type_name("NAME")
        ->default_str(cache_);
  }

  /// The text for Config::devices.
  [[nodiscard]] std::string apply(CLI::App const& app) const {
    auto const& names = ChosenCache::names;
    auto const chosen = std::find(names.begin(), names.end(), cache_);
    if (chosen == names.end()) {
      bad_input("--cache", "'" + cache_ + "' is none of lru, fifo, reuse, nextuse, luf");
    }
    ChosenCache::choose(static_cast<std::size_t>(chosen - names.begin()));
    std::string list; // empty: not given
    if (app.count("--gpus") != 0) {
      list = gpus_.empty() ? "none" : gpus_;
    }
    if (app.count("--device-memory") != 0) {
      if (!is_size(memory_)) {
        bad_input("--device-memory", "'" + memory_ + "' is not a size, such as 256MB");
      }
      char const* const variable = std::getenv("HETSCHED_DEVICES");
      if (list.empty()) {
        list = variable == nullptr ? "cuda" : variable;
      }
      list = with_memory(list, memory_);
    }
    return list;
  }

private:
  std::string gpus_;
  std::string memory_;
  std::string cache_{ChosenCache::names.front()};
};

/// The values of --scheduler.
std::string scheduler_names(Program const& program) {
  std::string names;
  auto const add = [&](auto named) { names += std::string(named.name) + ", "; };
  if (program.devices) {
    for_all_schedulers("all", add);
    for (auto const& one : hs::policies::scheduler_names()) {
      if (!one.in_all && !one.name.starts_with(static_prefix)) {
        add(one);
      }
    }
    names += "static:FILE[,g|,gs][,steal][,merge], ";
  } else {
    for_each_scheduler("all", add);
  }
  return names + "all";
}

} // namespace

void add_number(CLI::App& app,
                std::string const& name,
                std::uint64_t low,
                std::uint64_t high,
                std::size_t& number,
                std::string const& help) {
  add_any_number(app, name, low, high, number, help);
}

void add_choice(CLI::App& app,
                std::string const& name,
                std::vector<std::string> const& words,
                std::string& word,
                std::string const& help) {
  app.add_option(name, word, help)->check(CLI::IsMember(words));
}

void add_flag(CLI::App& app, std::string const& name, bool& flag, std::string const& help) {
  app.add_flag(name, flag, help);
}

std::optional<Options> parse(int argc, char** argv, Program const& program) {
  if (program.devices) {
    add_simulating_schedulers();
  }
  Options options = program.defaults;
  CLI::App app(program.description);
  app.footer(program.help);
  auto* const n =
      add_any_number(app, "--n", 0, program.largest_n, options.n, "size of a generated problem");
  if (program.takes_matrix) {
    app.add_option("--matrix", options.matrix, "Matrix Market or Harwell-Boeing file")
        ->type_name("FILE")
        ->excludes(n);
  }
  add_any_number(app,
                 "--tile",
                 1,
                 1'000'000,
                 options.tile,
                 program.parts.empty() ? "without effect here" : "size of the " + program.parts);
  app.add_option("--scheduler", options.scheduler, scheduler_names(program))
      ->type_name("NAME")
      ->default_str(options.scheduler);
  add_any_number(app, "--cpus", 1, 4096, options.cpus, "workers on cores");
  add_any_number(app, "--group", 1, 4096, options.group, "cores of each of these");
  add_any_number(app, "--repeat", 1, 1'000'000, options.repeat, "timed runs per scheduler");
  add_any_number(app, "--seed", 0, UINT64_MAX, options.seed, "of generated data and of schedulers");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  if (program.devices) {
    app.add_option("--trace",
                   options.trace,
                   "file for what happened in each row's run, with the scheduler's name before the "
                   "ending if there are several rows; hetsched-report shows it")
        ->type_name("FILE");
  }
  std::optional<DeviceOptions> devices;
  if (program.devices) {
    devices.emplace(app);
  }
  if (program.add_options) {
    program.add_options(app);
  }
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    app.exit(help);
    return std::nullopt;
  } catch (CLI::ParseError const& error) {
    throw CommandLineError(error.what());
  }
  if (program.devices && options.scheduler.starts_with(static_prefix)) {
    add_static_schedule(options.scheduler);
  }
  auto const nothing = [](auto) {};
  if ((program.devices ? for_all_schedulers(options.scheduler, nothing)
                       : for_each_scheduler(options.scheduler, nothing)) == 0) {
    bad_input("--scheduler", "'" + options.scheduler + "' is none of " + scheduler_names(program));
  }
  if (program.takes_matrix && app.count("--matrix") != 0 && options.matrix.empty()) {
    bad_input("--matrix", "is empty");
  }
  if (devices) {
    options.devices = devices->apply(app);
  }
  return options;
}

} // namespace example
