// SPDX-License-Identifier: MIT
#pragma once
// All schedulers that ship, chosen when the program runs.

#include <hetsched/concepts/scheduler.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace example {

namespace hs = hetsched;

/// All that ship but `ws`, which programs have as it is. Those behind `first_form` differ little
/// from others, or cost much: "all" leaves them out.
inline constexpr auto chosen_names = std::to_array<std::string_view>({"eager",
                                                                      "random",
                                                                      "priority",
                                                                      "dataaware",
                                                                      "locality",
                                                                      "heft:xkaapi",
                                                                      "heft",
                                                                      "heftp",
                                                                      "dmda",
                                                                      "dmdar",
                                                                      "dmdas",
                                                                      "heteroprio",
                                                                      "dualhp",
                                                                      "dual43",
                                                                      "accel32",
                                                                      "dual2",
                                                                      "scioto:single",
                                                                      "scioto:double",
                                                                      "heftp:let",
                                                                      "heftp:gb",
                                                                      "heftp:mms",
                                                                      "heteroprio:hp",
                                                                      "heteroprio:sp",
                                                                      "heteroprio:cgv",
                                                                      "heteroprio:pp",
                                                                      "heteroprio:pc",
                                                                      "heteroprio:pcep",
                                                                      "heteroprio:pcept",
                                                                      "heteroprio:area",
                                                                      "heteroprio:hetindex",
                                                                      "heteroprio:lookahead",
                                                                      "portfolio"});
inline constexpr std::size_t first_form = 18;
inline constexpr std::size_t portfolio_number = chosen_names.size() - 1;
inline constexpr std::size_t static_number = chosen_names.size();
inline constexpr std::string_view static_prefix = "static:";

/// The one of these whose number was last chosen, see ChosenOf; by `static_number`, the schedule
/// that `follow` was told of. Its hooks are compiled in engines.cpp, for example::Runtime alone.
class ChosenScheduler {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  static inline std::size_t chosen = 0; // what those made from now on will be

  /// "static:FILE", with options behind it: see static_name.hpp. Reads the file; throws
  /// Error(bad_input).
  static void follow(std::string_view name);

  explicit ChosenScheduler(std::span<hs::WorkerInfo const> workers);
  ~ChosenScheduler();

  template <class Ctx>
  void
  prepare(Ctx const& ctx, hs::TaskGraph const& graph, std::span<hs::ExpectedTimes const> expected);
  template <class Ctx>
  hs::Wake push(Ctx const& ctx, hs::TaskId task, hs::WorkerId worker);
  template <class Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<hs::TaskId const> tasks,
                      hs::WorkerId worker,
                      std::span<hs::Wake> wakes);
  template <class Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker);
  template <class Ctx>
  std::size_t peek(Ctx const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next);
  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker);
  template <class Ctx>
  void epilogue(Ctx const& ctx, hs::TaskId task, hs::WorkerId worker, hs::Duration time);

private:
  struct Policies;
  std::unique_ptr<Policies> its_;
};

} // namespace example
