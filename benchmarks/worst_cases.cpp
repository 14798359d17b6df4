// SPDX-License-Identifier: MIT
// How badly HeteroPrio and HEFT can do on independent tasks: the worst cases that Kumar 2017
// (theorems 5.8 to 5.17) and Bleuse et al. 2015 (lemma 3) prove, in virtual time. Status 1 if a
// ratio is not reached.

#include "worst_cases.hpp"

#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>

#include "common/run_program.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace hs = hetsched;

namespace {

struct Options {
  bool full = false;
  bool json = false;
};

class Program {
public:
  explicit Program(Options const& options) : options_(options) {}

  void run() {
    using worst_cases::ratio;
    using HeteroPrio = hs::policies::HeteroPrio;
    auto const heteroprio = [&](worst_cases::Instance const& instance, double least) {
      line(instance, "heteroprio", ratio<HeteroPrio>(instance), least);
    };
    heading();
    heteroprio(worst_cases::two_tasks(), 1.6);
    heteroprio(worst_cases::one_gpu(20), 0);
    heteroprio(worst_cases::one_gpu(200), 2.5);
    heteroprio(worst_cases::two_gpus(20), 0);
    heteroprio(worst_cases::two_gpus(200), 2.7);
    heteroprio(worst_cases::six_equal(), 1.83);
    heteroprio(worst_cases::six_gpus(200), 0);
    heteroprio(worst_cases::six_gpus(options_.full ? 2000 : 1000), 2.9);
    heteroprio(worst_cases::many_gpus(2), 0);
    heteroprio(worst_cases::many_gpus(options_.full ? 10 : 4), options_.full ? 2.95 : 2.8);
    for (auto const cpus : {4, 20, 100}) {
      auto const instance = worst_cases::lemma_3(cpus);
      auto const batch = hs::heft(instance.tasks(), instance.machine).makespan.seconds();
      auto const least = 0.45 * cpus;
      line(instance, "heft (batch)", batch / worst_cases::good_makespan(instance).seconds(), least);
      line(instance, "heft", ratio<hs::policies::Heft>(instance), least);
    }
    if (missed_ != 0) {
      throw std::runtime_error(std::to_string(missed_) + " ratios not reached");
    }
  }

private:
  void heading() const {
    if (!options_.json) {
      std::printf("independent tasks in virtual time, GPUs served first; ratio of the makespan to "
                  "that of the proof's best schedule\n"
                  "instance        cores  GPUs    tasks  scheduler        ratio   limit  least\n");
    }
  }

  void
  line(worst_cases::Instance const& instance, char const* scheduler, double reached, double least) {
    missed_ += reached < least ? 1 : 0;
    std::int64_t tasks = 0;
    for (auto const& kind : instance.kinds) {
      tasks += kind.count;
    }
    if (options_.json) {
      std::printf(
          "{\"instance\":\"%s\",\"cpus\":%d,\"gpus\":%d,\"tasks\":%lld,\"scheduler\":\"%s\","
          "\"ratio\":%.6f,\"limit\":%.6f,\"least\":%.6f}\n",
          instance.name.c_str(),
          instance.machine.cpus,
          instance.machine.gpus,
          static_cast<long long>(tasks),
          scheduler,
          reached,
          instance.limit,
          least);
    } else {
      std::printf("%-14s %6d %5d %8lld  %-13s %8.4f %7.4f %6.2f%s\n",
                  instance.name.c_str(),
                  instance.machine.cpus,
                  instance.machine.gpus,
                  static_cast<long long>(tasks),
                  scheduler,
                  reached,
                  instance.limit,
                  least,
                  reached < least ? "  MISSED" : "");
    }
  }

  Options options_;
  int missed_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs the worst cases of HeteroPrio and HEFT.");
  app.add_flag("--full", options.full, "larger machines: 2,000 cores, 60 GPUs");
  app.add_flag("--json", options.json, "one JSON object per line");
  return benchmarks::run_program("worst_cases", app, argc, argv, [&] { Program(options).run(); });
}
