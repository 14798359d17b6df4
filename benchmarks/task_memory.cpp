// SPDX-License-Identifier: MIT
// What a live task costs in memory: the peak of a process with n tasks of three data arguments, all
// spawned and none complete, less that of a process that makes the same data and no task.
//
//     task i reads data[i] and data[i + 1] and changes data[i + 2], of 1024 data in turn

#include "../examples/common/program.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using namespace example;

struct Update : hs::Task<3>::Signature<hs::R<int>, hs::R<int>, hs::RW<int>> {};

template <>
struct hetsched::TaskBodyCPU<Update> {
  void operator()(int const& a, int const& b, int& c) const { c += a ^ b; }
};

namespace {

/// With one worker nothing runs before sync: all `tasks` are live at once.
template <class S>
void run(Options const& options, std::size_t tasks) {
  auto config = options.config();
  config.cpus = 1;
  config.timing = false;
  hs::Runtime<S> rt(config);
  std::array<int, 1024> numbers{};
  std::vector<hs::Handle<int>> data;
  for (auto& number : numbers) {
    data.push_back(rt.data(number));
  }
  auto const at = [&](std::size_t i) -> auto& { return data[i % data.size()]; };
  for (std::size_t i = 0; i < tasks; ++i) {
    rt.template spawn<Update>()(at(i), at(i + 1), at(i + 2));
  }
  if (auto const live = rt.stats().spawned - rt.stats().executed; live != tasks) {
    throw std::runtime_error(std::to_string(live) + " tasks are live");
  }
  rt.sync();
}

/// Peak resident memory, in bytes, of a process of its own that runs `tasks` tasks.
template <class S>
double peak_bytes(Options const& options, std::size_t tasks) {
  std::fflush(nullptr);
  auto const child = ::fork();
  if (child == 0) {
    try {
      run<S>(options, tasks);
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) {
    throw std::runtime_error(std::string("cannot run a process: ") + std::strerror(errno));
  }
  if (status != 0) {
    throw std::runtime_error("a process that was to be measured failed");
  }
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

std::string compare(Options const& options) {
  if (!options.json) {
    std::printf(
        "%-10s %10s %10s %10s %12s\n", "scheduler", "tasks", "peak MB", "empty MB", "bytes/task");
  }
  for_each_scheduler(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto const empty = peak_bytes<S>(options, 0);
    auto const full = peak_bytes<S>(options, options.n);
    auto const per_task = (full - empty) / static_cast<double>(options.n);
    if (options.json) {
      JsonLine()
          .add("kernel", "task_memory")
          .add("scheduler", scheduler.name)
          .add("tasks", options.n)
          .add("peak_bytes", full)
          .add("empty_bytes", empty)
          .add("bytes_per_task", per_task)
          .print();
    } else {
      std::printf("%-10s %10zu %10.1f %10.1f %12.1f\n",
                  std::string(scheduler.name).c_str(),
                  options.n,
                  full * 1e-6,
                  empty * 1e-6,
                  per_task);
    }
  });
  return "";
}

} // namespace

int main(int argc, char** argv) {
  Program program{"task_memory",
                  "Measures what a live task of three arguments costs in memory.",
                  "--n: live tasks. JSON keys: kernel, scheduler, tasks, peak_bytes, empty_bytes,\n"
                  "bytes_per_task."};
  program.defaults.n = 1'000'000;
  return run_program(argc, argv, program, compare);
}
