// SPDX-License-Identifier: MIT
// Programs that are recorded, that learn times, and that run in virtual time.

#include <hetsched/explaining.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/reuse_profile.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"
#include "programs.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace failures;

using Rt = hs::Runtime<>;
using Learning = hs::Runtime<hs::policies::Dmda<>, hs::policies::Lru, hs::policies::History>;

/// A folder that goes with its contents.
class Folder {
public:
  Folder() {
    if (mkdtemp(path_) == nullptr) {
      throw hs::Error(hs::ErrorCode::bad_input, path_, "cannot be made");
    }
  }

  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  ~Folder() {
    stop_failing();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(char const* name) const { return std::string(path_) + name; }

private:
  char path_[32] = "/tmp/hetsched_failures.XXXXXX";
};

template <class Rt>
void chain(Rt& rt, Data& data) {
  auto const numbers = rt.data(data.numbers);
  for (int k = 0; k < 20; ++k) {
    rt.spawn(hs::label("one"))(increment, hs::read_write(numbers));
  }
  rt.sync();
}

/// Or says that it is not.
bool is_complete(hs::Trace const& trace) {
  return trace.tasks.size() == 20 || trace.dropped != 0;
}

/// The old one or the new one, to its end.
bool is_whole(std::string const& path) {
  stop_failing();
  std::ifstream file(path);
  std::string const text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto const end = text.find_last_not_of('\n');
  return text == "old" || (text.starts_with('{') && end != text.npos && text[end] == '}');
}

bool recorded(std::string_view) {
  hs::Config config;
  config.record = true;
  bool complete = false;
  bool const result = right<Rt>(config, 20, 0, [&](Rt& rt, Data& data) {
    chain(rt, data);
    auto const trace = rt.trace();
    complete = is_complete(trace);
  });
  return result && complete;
}

/// Writes a trace when the runtime ends, over an old one, which is whole or replaced.
bool traced(std::string_view) {
  Folder const folder;
  hs::Config config;
  config.trace = folder.path("/run.json");
  hs::detail::replace_file(config.trace, "old");
  bool result = false;
  try {
    result = right<Rt>(config, 20, 0, chain<Rt>);
  } catch (...) {
    if (!is_whole(config.trace)) {
      return false;
    }
    throw;
  }
  return result && is_whole(config.trace);
}

/// Counts the uses of data, and writes them when the runtime ends, or not at all.
bool profiled(std::string_view) {
  Folder const folder;
  hs::Config config;
  config.reuse_profile = folder.path("/uses");
  bool const result = right<Rt>(config, 20, 0, chain<Rt>);
  stop_failing();
  if (!std::filesystem::exists(config.reuse_profile)) {
    return result;
  }
  auto const profile = hs::read_reuse_profile(config.reuse_profile);
  return result && profile.data.size() == 1 && profile.data[0].uses == 20;
}

/// Learns times, and writes them when the runtime ends.
bool learning(std::string_view) {
  Folder const folder;
  hs::Config config;
  config.model_dir = folder.path("");
  return right<Learning>(config, 20, 0, chain<Learning>);
}

bool explained(std::string_view) {
  return right<Rt>({}, 20, 0, [](Rt& rt, Data& data) {
    rt.explain("one");
    chain(rt, data);
    (void)rt.explanations();
  });
}

/// Runs `f(rt, arrays)` in virtual time. Whether `tasks` tasks have run.
template <class Rt, class F>
bool simulated_right(hs::Simulation const& config, std::uint64_t tasks, F const& f) {
  std::vector<int> memory(8 * simulated::array);
  begin_to_fail();
  std::uint64_t executed = 0;
  {
    Rt rt(config);
    auto const x = simulated::arrays(rt, memory);
    try {
      f(rt, x);
      rt.sync();
      executed = rt.stats().executed;
    } catch (...) {
      memory_again();
      try {
        rt.sync();
      } catch (std::exception const&) { // another task's
      }
      throw;
    }
  }
  return executed == tasks;
}

constexpr auto spawn_some = [](auto& rt, auto const& x) {
  for (std::size_t k = 0; k < 40; ++k) {
    rt.template spawn<simulated::Mix>(hs::priority(static_cast<int>(k % 3)))(x[k % 8],
                                                                             x[(3 * k + 1) % 8]);
    if (k % 5 == 0) {
      rt.template spawn<simulated::GpuOnly>()(x[k % 8]);
    }
  }
};

bool simulation(std::string_view) {
  return simulated_right<hs::SimulatedRuntime<>>(simulated::on(2, 1), 48, spawn_some);
}

/// With transfers, and a memory for three of eight arrays.
bool simulated_transfers(std::string_view) {
  auto const config = simulated::with_memory(
      simulated::joined(2, 1, hs::Simulation::Transfers::shared, 2), 3 * 256);
  return simulated_right<hs::SimulatedRuntime<>>(config, 48, spawn_some);
}

bool simulated_reductions(std::string_view) {
  auto const config = simulated::joined(2, 1, hs::Simulation::Transfers::shared, 2);
  return simulated_right<hs::SimulatedRuntime<>>(config, 20, [](auto& rt, auto const& x) {
    for (std::size_t k = 0; k < 20; ++k) {
      rt.template spawn<simulated::Add>()(x[k / 5]);
    }
  });
}

bool simulated_trace(std::string_view) {
  auto config = simulated::on(2, 1);
  config.record = true;
  return simulated_right<hs::SimulatedRuntime<>>(config, 48, [](auto& rt, auto const& x) {
    spawn_some(rt, x);
    rt.sync();
    (void)rt.trace();
  });
}

constexpr Program other_list[] = {{"recorded", recorded},
                                  {"traced", traced},
                                  {"profiled", profiled},
                                  {"learning", learning},
                                  {"explained", explained},
                                  {"simulation", simulation},
                                  {"simulated transfers", simulated_transfers},
                                  {"simulated reductions", simulated_reductions},
                                  {"simulated trace", simulated_trace}};

} // namespace

namespace failures {

std::span<Program const> other_programs() {
  return other_list;
}

} // namespace failures
