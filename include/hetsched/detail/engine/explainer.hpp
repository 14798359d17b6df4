// SPDX-License-Identifier: MIT
#pragma once
// What engines know of explanations: one look at a flag while nobody asks for any. What collects
// them is in explanations.hpp, for programs that do.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>

#include <atomic>
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

  /// Explains tasks from now on whose label or type is `what`, or, if that is #N, those at place N
  /// of a captured graph.
  virtual void ask(std::string what) = 0;

  /// The task is about to be pushed. `context` is the engine's, whose idea of the task holds until
  /// the scheduler has told its own.
  virtual void ready(void const* context, TaskId task) = 0;

  [[nodiscard]] virtual bool explains(TaskId task) const = 0;

  /// By a scheduler that compares workers, when it has chosen; `waits`: by worker number, how long
  /// each would have to be waited for.
  virtual void
  chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) = 0;

  virtual void taken(TaskId task, WorkerId worker, Instant now) = 0;

  [[nodiscard]] virtual std::vector<Explanation> all() const = 0;
};

/// Makes a collector for one kind of context; `prints`: each explanation on stderr, too.
using ExplanationsFactory = ExplanationsPort* (*)(bool prints);

/// An engine's, without or with a collector. Thread-safe. `watches` is all that it costs while
/// nothing is asked for.
class Explainer {
public:
  /// `what`: as for `ask`, if not empty; then each explanation is printed on stderr. Throws
  /// Error(bad_config) if that cannot be: the program did not bring a factory.
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

  /// See ExplanationsPort::ask. Whoever sees it late explains from then on.
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

  /// Whether there is anything to explain.
  [[nodiscard]] bool on() const noexcept { return port() != nullptr; }

  /// Whether an engine is to look at what becomes ready and is taken: to explain it, or since it
  /// said `watch`, to record it.
  [[nodiscard]] bool watches() const noexcept { return watches_.load(std::memory_order_relaxed); }

  void watch() noexcept { watches_.store(true, std::memory_order_relaxed); }

  /// Null if nothing was asked for. acquire pairs with the release of whoever made it.
  [[nodiscard]] ExplanationsPort* port() const noexcept {
    return port_.load(std::memory_order_acquire);
  }

  // As ExplanationsPort's, if `on()`.

  template <class Ctx>
  void ready(Ctx const& ctx, TaskId task) {
    port()->ready(&ctx, task);
  }

  [[nodiscard]] bool explains(TaskId task) const { return port()->explains(task); }

  void chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) {
    port()->chose(task, chosen, waits, why);
  }

  void taken(TaskId task, WorkerId worker, Instant now) { port()->taken(task, worker, now); }

private:
  [[gnu::cold]] static void check(ExplanationsFactory factory, char const* culprit) {
    if (factory == nullptr) {
      throw Error(ErrorCode::bad_config,
                  culprit,
                  "this program was made without explanations: include <hetsched/explaining.hpp> "
                  "in one of its files");
    }
  }

  std::atomic<ExplanationsPort*> port_{nullptr}; // owned
  std::atomic<bool> watches_{false};
};

} // namespace hetsched::detail
