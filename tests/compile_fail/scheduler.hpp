// SPDX-License-Identifier: MIT
// A scheduler without mistakes, for others to be made from.
#include <hetsched/hetsched.hpp>

struct Declarations {
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;
};

struct Hooks {
  template <class Ctx>
  hetsched::Wake push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return hetsched::Wake::any();
  }

  template <class Ctx>
  hetsched::TaskId pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

struct Right : Declarations, Hooks {};
