// SPDX-License-Identifier: MIT
#pragma once
// The task types of one lambda: one for each label, and one for spawns without.

#include <hetsched/detail/dataflow/task_record.hpp>

#include <atomic>
#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// The tables of the task types that a lambda stands for, in one kind of runtime. They differ in
/// their names: the label of the spawn, or, without a label, where the lambda was first spawned,
/// "main.cpp:27". A lambda has at most `most` labels for names; with further ones it counts as
/// spawned without. Where several lambdas are first spawned in one place, as from a function that
/// is given them, their names have numbers from the second on: "main.cpp:27 (2)".
///
/// Tables live as long as the process, since traces and models name types after a runtime's end.
///
/// Any thread may ask. The list is written under a lock of all lambdas. It is read without: what
/// `first_` and `unlabelled_` lead to was complete before they were set (release), and never
/// changes. These are no points at which the controlled engine chooses (detail/core/atomic.hpp):
/// nothing waits for another thread here, and a second run in one process finds all tables made.
class LambdaTypes {
public:
  static constexpr std::size_t most = 64;

  /// `lambda`: the same for all kinds of runtime that the lambda is spawned in.
  constexpr LambdaTypes(TaskType const& plain, void const* lambda) noexcept
      : plain_(plain), lambda_(lambda) {}

  /// The type of a spawn. Throws std::bad_alloc.
  [[nodiscard, gnu::always_inline]] TaskType const& at(std::string_view label,
                                                       std::source_location where) {
    auto const* const type = unlabelled_.load(std::memory_order_acquire);
    if (type == nullptr || !label.empty()) [[unlikely]] {
      return find(label, where);
    }
    return *type;
  }

private:
  struct Named;

  [[gnu::cold]] TaskType const& find(std::string_view label, std::source_location where);
  [[nodiscard]] Named const* labelled(std::string_view label) const noexcept;
  [[nodiscard]] TaskType const& add(std::string name, std::string place, std::size_t number);

  TaskType const& plain_;
  void const* const lambda_;
  std::atomic<TaskType const*> unlabelled_{nullptr};
  std::atomic<Named const*> first_{nullptr};
  std::size_t labels_ = 0; // under the lock
};

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/spawn/lambda_types_inl.hpp>
#endif
