// SPDX-License-Identifier: MIT
#pragma once
// Schedulers by name: what each is, and how it is made.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/policies/erased_scheduler.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The schedulers that ship take long to compile. Where one source file of a program compiles them
// for all, each is compiled with HETSCHED_EXTERN_SCHEDULERS defined, and that one includes
// shipped_schedulers.hpp.
#if defined(HETSCHED_EXTERN_SCHEDULERS) || defined(HETSCHED_COMPILED)
#define HETSCHED_SCHEDULERS_INLINE
#else
#define HETSCHED_SCHEDULERS_INLINE inline
#endif

namespace hetsched::policies {

/// What a scheduler is known by.
struct SchedulerName {
  std::string_view name; // FAMILY or FAMILY:FORM
  std::string_view what; // one line
  bool in_all = false;   // whether programs that run `all` run it
};

using SchedulerMaker =
    std::unique_ptr<detail::ErasedScheduler>(std::span<WorkerInfo const> workers);

struct NamedScheduler : SchedulerName {
  SchedulerMaker* make;
};

/// Those that ship: first those that programs run for `all`; behind them forms of others, which
/// differ little from these or cost much.
[[nodiscard]] HETSCHED_SCHEDULERS_INLINE std::span<NamedScheduler const>
shipped_schedulers() noexcept;

} // namespace hetsched::policies

namespace hetsched::detail {

/// A program's own.
struct AddedScheduler {
  std::string name;
  std::string what;
  bool in_all;
  std::function<policies::SchedulerMaker> make;
};

/// They stay where they are.
[[nodiscard]] inline std::deque<AddedScheduler>& added_schedulers() {
  static std::deque<AddedScheduler> added;
  return added;
}

} // namespace hetsched::detail

namespace hetsched::policies {

/// Makes a scheduler of the program's own known by a name, for which AnyScheduler makes one with
/// these knobs; a name that was added before gets the new ones. Not to be called while other
/// threads make runtimes. Throws Error(bad_config) for the name of one that ships.
template <class S, class... Knobs>
void add_scheduler(SchedulerName const& name, Knobs const&... knobs) {
  for (auto const& one : shipped_schedulers()) {
    if (one.name == name.name) {
      throw Error(ErrorCode::bad_config, std::string(name.name), "is a scheduler that ships");
    }
  }
  detail::AddedScheduler own{std::string(name.name),
                             std::string(name.what),
                             name.in_all,
                             [knobs...](std::span<WorkerInfo const> workers) {
                               return detail::make_erased_scheduler<S>(workers, knobs...);
                             }};
  auto& added = detail::added_schedulers();
  auto const same = std::find_if(
      added.begin(), added.end(), [&](auto const& one) { return one.name == name.name; });
  if (same == added.end()) {
    added.push_back(std::move(own));
  } else {
    same->make = std::move(own.make);
  }
}

/// All that AnyScheduler knows: those that ship, then those that the program has added.
[[nodiscard]] inline std::vector<SchedulerName> scheduler_names() {
  auto const shipped = shipped_schedulers();
  std::vector<SchedulerName> names(shipped.begin(), shipped.end());
  for (auto const& own : detail::added_schedulers()) {
    names.push_back({own.name, own.what, own.in_all});
  }
  return names;
}

} // namespace hetsched::policies

namespace hetsched::detail {

/// A scheduler and the name by which it was chosen. The name is never freed.
struct ChosenScheduler {
  std::string_view name;
  std::unique_ptr<ErasedScheduler> scheduler;
};

/// Throws Error(bad_config), which blames `culprit` and lists all names, if there is none such.
[[nodiscard]] inline ChosenScheduler
scheduler_by_name(std::string_view name, char const* culprit, std::span<WorkerInfo const> workers) {
  for (auto const& one : policies::shipped_schedulers()) {
    if (one.name == name) {
      return {one.name, one.make(workers)};
    }
  }
  for (auto const& own : added_schedulers()) {
    if (own.name == name) {
      return {own.name, own.make(workers)};
    }
  }
  std::string known;
  for (auto const& one : policies::scheduler_names()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(ErrorCode::bad_config, culprit, "'" + std::string(name) + "' is none of " + known);
}

} // namespace hetsched::detail

#if !defined(HETSCHED_EXTERN_SCHEDULERS) && !defined(HETSCHED_COMPILED)
#include <hetsched/policies/shipped_schedulers.hpp>
#endif
