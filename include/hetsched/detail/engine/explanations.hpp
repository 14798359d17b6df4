// SPDX-License-Identifier: MIT
#pragma once
// Collects explanations of chosen tasks.

#include <hetsched/concepts/context.hpp>
#include <hetsched/core/explanation.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/engine/explainer.hpp>

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace hetsched::detail {

/// See ExplanationsPort. `Ctx` is the engine's context.
template <class Ctx>
class Explanations final : public ExplanationsPort {
public:
  explicit Explanations(bool prints) : prints_(prints) {}

  void ask(std::string what) override {
    std::lock_guard const guard(mutex_);
    asked_.push_back(std::move(what));
  }

  void ready(void const* context, TaskId task) override {
    auto const& ctx = *static_cast<Ctx const*>(context);
    auto const view = ctx.task(task);
    std::lock_guard const guard(mutex_);
    if (!wanted(view) || done_.size() + open_.size() >= most) {
      return;
    }
    Explanation explanation;
    explanation.type = view.type;
    explanation.label = view.label;
    explanation.graph_node = view.graph_node;
    explanation.priority = view.priority;
    explanation.ready = ctx.now();
    explanation.why = "the scheduler does not compare workers; whoever asks first takes it";
    for (auto const& info : ctx.workers()) {
      if (view.archs.has(info.arch)) {
        auto const known = ctx.predicted(task, info.id);
        explanation.candidates.push_back({info.id,
                                          info.arch,
                                          ctx.can_run(task, info.id),
                                          known ? std::optional(known->mean) : std::nullopt,
                                          ctx.transfer(task, info.id),
                                          ctx.busy_until(info.id) - ctx.now()});
      }
    }
    open_.insert_or_assign(task.value, std::move(explanation));
  }

  [[nodiscard]] bool explains(TaskId task) const override {
    std::lock_guard const guard(mutex_);
    return open_.contains(task.value);
  }

  void
  chose(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) override {
    std::lock_guard const guard(mutex_);
    auto& explanation = open_.at(task.value);
    for (auto& candidate : explanation.candidates) {
      candidate.wait = waits[candidate.worker.index()];
    }
    explanation.chosen = chosen;
    explanation.why = why;
  }

  void taken(TaskId task, WorkerId worker, Instant now) override {
    std::lock_guard const guard(mutex_);
    auto const found = open_.find(task.value);
    if (found == open_.end()) {
      return;
    }
    auto explanation = std::move(found->second);
    open_.erase(found);
    explanation.taken_by = worker;
    explanation.taken = now;
    if (prints_) {
      std::fprintf(stderr, "hetsched: %s", explanation.text().c_str());
    }
    done_.push_back(std::move(explanation));
  }

  [[nodiscard]] std::vector<Explanation> all() const override {
    std::lock_guard const guard(mutex_);
    auto all = done_;
    for (auto const& [task, explanation] : open_) {
      all.push_back(explanation);
    }
    return all;
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
  mutable Mutex mutex_;
  std::vector<std::string> asked_;
  std::unordered_map<std::uint64_t, Explanation> open_; // ready, not taken
  std::vector<Explanation> done_;
};

template <class Ctx>
[[nodiscard]] ExplanationsPort* make_explanations(bool prints) {
  return new Explanations<Ctx>(prints);
}

} // namespace hetsched::detail
