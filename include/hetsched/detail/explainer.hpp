// SPDX-License-Identifier: MIT
#pragma once
// Collects explanations of chosen tasks.

#include <hetsched/concepts/context.hpp>
#include <hetsched/explanation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Thread-safe. `watches` is all that it costs while nothing is asked for.
class Explainer {
public:
  /// `what`: as for `ask`; then each explanation is printed on stderr, too.
  explicit Explainer(std::string const& what) : prints_(!what.empty()) {
    if (prints_) {
      ask(what);
    }
  }

  /// Explains tasks from now on whose label or type is `what`, or, if that is #N, those at place N
  /// of a captured graph.
  void ask(std::string what) {
    std::lock_guard const guard(mutex_);
    asked_.push_back(std::move(what));
    on_.store(true, std::memory_order_relaxed); // who sees it late explains from then on
    watch();
  }

  [[nodiscard]] bool on() const noexcept { return on_.load(std::memory_order_relaxed); }

  /// Whether an engine is to look at what becomes ready and is taken: to explain it, or since it
  /// said `watch`, to record it.
  [[nodiscard]] bool watches() const noexcept { return watches_.load(std::memory_order_relaxed); }

  void watch() noexcept { watches_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] std::vector<Explanation> all() const {
    std::lock_guard const guard(mutex_);
    auto all = done_;
    for (auto const& [task, its] : open_) {
      all.push_back(its);
    }
    return all;
  }

  /// The task is about to be pushed. The context's idea of it holds until the scheduler has told
  /// its own.
  template <class Ctx>
  void ready(Ctx const& ctx, TaskId task) {
    auto const view = ctx.task(task);
    std::lock_guard const guard(mutex_);
    if (!wanted(view) || done_.size() + open_.size() >= most) {
      return;
    }
    Explanation its;
    its.type = view.type;
    its.label = view.label;
    its.graph_node = view.graph_node;
    its.priority = view.priority;
    its.ready = ctx.now();
    its.why = "the scheduler does not compare workers; whoever asks first takes it";
    for (auto const& info : ctx.workers()) {
      if (view.archs.has(info.arch)) {
        auto const known = ctx.predicted(task, info.id);
        its.candidates.push_back({info.id,
                                  info.arch,
                                  ctx.can_run(task, info.id),
                                  known ? std::optional(known->mean) : std::nullopt,
                                  ctx.transfer(task, info.id),
                                  ctx.busy_until(info.id) - ctx.now()});
      }
    }
    open_.insert_or_assign(task.value, std::move(its));
  }

  [[nodiscard]] bool explains(TaskId task) const {
    std::lock_guard const guard(mutex_);
    return open_.contains(task.value);
  }

  /// By a scheduler that compares workers, when it has chosen; `waits`: by worker number, how long
  /// each would have to be waited for.
  void chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) {
    std::lock_guard const guard(mutex_);
    auto& its = open_.at(task.value);
    for (auto& candidate : its.candidates) {
      candidate.wait = waits[candidate.worker.index()];
    }
    its.chosen = chosen;
    its.why = why;
  }

  void taken(TaskId task, WorkerId worker, Instant now) {
    std::lock_guard const guard(mutex_);
    auto const found = open_.find(task.value);
    if (found == open_.end()) {
      return;
    }
    auto its = std::move(found->second);
    open_.erase(found);
    its.taken_by = worker;
    its.taken = now;
    if (prints_) {
      std::fprintf(stderr, "hetsched: %s", its.text().c_str());
    }
    done_.push_back(std::move(its));
  }

private:
  static constexpr std::size_t most = 1000;

  [[nodiscard]] bool wanted(TaskView const& view) const {
    for (std::string_view const what : asked_) {
      if (what == view.label || what == view.type ||
          (view.graph_node >= 0 && what == "#" + std::to_string(view.graph_node))) {
        return true;
      }
    }
    return false;
  }

  bool const prints_;
  std::atomic<bool> on_{false};
  std::atomic<bool> watches_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::unordered_map<std::uint64_t, Explanation> open_; // ready, not taken
  std::vector<Explanation> done_;
};

} // namespace hetsched::detail
