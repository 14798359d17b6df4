// SPDX-License-Identifier: MIT
#pragma once
// Schedulers by name: what each is, and how it is made.

#include <hetsched/detail/policies/erased_scheduler.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// As policies::add_scheduler.
HETSCHED_SCHEDULERS_INLINE void add_scheduler(AddedScheduler own);

} // namespace hetsched::detail

namespace hetsched::policies {

/// Makes a scheduler of the program's own known by a name, for which AnyScheduler makes one with
/// these knobs; a name that was added before gets the new ones. Not to be called while other
/// threads make runtimes. Throws Error(bad_config) for the name of one that ships.
template <class S, class... Knobs>
void add_scheduler(SchedulerName const& name, Knobs const&... knobs) {
  detail::add_scheduler({std::string(name.name),
                         std::string(name.what),
                         name.in_all,
                         [knobs...](std::span<WorkerInfo const> workers) {
                           return detail::make_erased_scheduler<S>(workers, knobs...);
                         }});
}

/// All that AnyScheduler knows: those that ship, then those that the program has added.
[[nodiscard]] HETSCHED_SCHEDULERS_INLINE std::vector<SchedulerName> scheduler_names();

} // namespace hetsched::policies

namespace hetsched::detail {

/// A scheduler and the name by which it was chosen. The name is never freed.
struct ChosenScheduler {
  std::string_view name;
  std::unique_ptr<ErasedScheduler> scheduler;
};

/// Throws Error(bad_config), which blames `culprit` and lists all names, if there is none such.
[[nodiscard]] HETSCHED_SCHEDULERS_INLINE ChosenScheduler
scheduler_by_name(std::string_view name, char const* culprit, std::span<WorkerInfo const> workers);

} // namespace hetsched::detail

#if !defined(HETSCHED_EXTERN_SCHEDULERS) && !defined(HETSCHED_COMPILED)
#include <hetsched/policies/shipped_schedulers.hpp>
#endif
