// SPDX-License-Identifier: MIT
#pragma once
// Explanations as engines see them. While nobody asks for any, they cost one look at a flag. The
// code that collects them is in explanations.hpp, for programs that ask.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <new>
#include <span>
#include <string>
#include <vector>

namespace hetsched {

struct Explanation;

} // namespace hetsched

namespace hetsched::detail {

/// Collects explanations of the tasks that were asked about. Thread-safe.
class ExplanationsPort {
public:
  virtual ~ExplanationsPort() = default;

  /// From now on explains tasks whose label or type is `what`. If `what` is #N, it explains the
  /// tasks at place N of captured graphs.
  virtual void ask(std::string what) = 0;

  /// The task is about to be pushed. `context` is the engine's. Its answers on the task count until
  /// the scheduler calls `chose`.
  virtual void ready(void const* context, TaskId task) = 0;

  [[nodiscard]] virtual bool explains(TaskId task) const = 0;

  /// Called by a scheduler that compares workers, when it has chosen. `waits`: for each worker, the
  /// time until it is free.
  virtual void
  chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) = 0;

  virtual void taken(TaskId task, WorkerId worker, Instant now) = 0;

  [[nodiscard]] virtual std::vector<Explanation> all() const = 0;
};

/// Makes a collector for one kind of context. `prints`: it also prints each explanation on stderr.
using ExplanationsFactory = ExplanationsPort* (*)(bool prints);

/// The explainer of an engine, with or without a collector. Thread-safe. While nobody asks for
/// explanations it costs one call of `watches`.
class Explainer {
public:
  /// If `what` is not empty, it is as for `ask`, and each explanation is printed on stderr. Throws
  /// Error(bad_config) if the program has no factory.
  [[gnu::cold]] Explainer(std::string const& what, ExplanationsFactory factory) {
    if (what.empty()) {
      return;
    }
    check(factory, "HETSCHED_EXPLAIN");
    port_.store(factory(true), std::memory_order_release);
    ask(what, factory);
  }

  Explainer(Explainer const&) = delete;
  Explainer& operator=(Explainer const&) = delete;

  ~Explainer() { delete port(); }

  /// See ExplanationsPort::ask. A thread that sees the request late explains from then on.
  [[gnu::cold]] void ask(std::string what, ExplanationsFactory factory) {
    if (port() == nullptr) {
      check(factory, "explain");
      auto* const made = factory(false);
      ExplanationsPort* none = nullptr;
      if (!port_.compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
        delete made; // another thread asked at the same time
      }
    }
    port()->ask(std::move(what));
    watch();
  }

  /// Whether somebody asked for explanations.
  [[nodiscard]] bool on() const noexcept { return port() != nullptr; }

  /// Whether the engine must report the tasks that become ready and are taken: to explain them or,
  /// after `watch`, to record them.
  [[nodiscard]] bool watches() const noexcept { return watches_.load(std::memory_order_relaxed); }

  void watch() noexcept { watches_.store(true, std::memory_order_relaxed); }

  /// Null if nobody asked for explanations. acquire pairs with the release of the thread that made
  /// it.
  [[nodiscard]] ExplanationsPort* port() const noexcept {
    return port_.load(std::memory_order_acquire);
  }

  // As in ExplanationsPort. Only if `on()`. An explanation for which there is no memory is left
  // out.

  template <class Ctx>
  void ready(Ctx const& ctx, TaskId task) noexcept {
    try {
      port()->ready(&ctx, task);
    } catch (std::bad_alloc const&) {
    }
  }

  [[nodiscard]] bool explains(TaskId task) const { return port()->explains(task); }

  void chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) {
    port()->chose(task, chosen, waits, why);
  }

  void taken(TaskId task, WorkerId worker, Instant now) noexcept {
    try {
      port()->taken(task, worker, now);
    } catch (std::bad_alloc const&) {
    }
  }

private:
  [[gnu::cold]] static void check(ExplanationsFactory factory, char const* culprit) {
    if (factory == nullptr) {
      throw Error(ErrorCode::bad_config,
                  culprit,
                  "this program was made without explanations: include <hetsched/explaining.hpp> "
                  "in one of its files");
    }
  }

  Atomic<ExplanationsPort*> port_{nullptr}; // owned
  Atomic<bool> watches_{false};
};

} // namespace hetsched::detail
