// SPDX-License-Identifier: MIT
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/shipped_schedulers.hpp>

#include "runtime_programs.hpp"

#include <string>

namespace interleavings {

namespace {

struct Any {
  using Runtime = hs::Runtime<hs::policies::AnyScheduler>;

  static Runtime make(hs::Config const& config) {
    return Runtime(config, hs::policies::AnyScheduler::Config{name});
  }

  static inline char const* name = "";
};

} // namespace

std::span<Program const> programs_of_any(char const* name) {
  Any::name = name;
  return Programs<Any>::all;
}

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (auto const& one : hs::policies::shipped_schedulers()) {
    names.emplace_back(one.name);
  }
  return names;
}

} // namespace interleavings
