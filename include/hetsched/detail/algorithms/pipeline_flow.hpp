// SPDX-License-Identifier: MIT
#pragma once
// How the threads of a pipeline share its work; the types of items do not matter here.
//
// A thread takes a new item from the source, or one whose turn has come at a gate, and carries it
// as far as it comes: to its end, or to a gate where it is not its turn. There it leaves the item
// and looks for another one. It never waits with an item in its hands, so whoever the caller waits
// for is running. A helper that finds nothing to do for a while ends, and its worker is free; when
// there is something to do and nobody looks for it, a helper is spawned.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/algorithms/pipeline_places.hpp>
#include <hetsched/detail/algorithms/shared_work.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string_view>

namespace hetsched::detail {

class PipelineFlow;

struct PipelineWork : SharedWork {
  PipelineWork() noexcept;

  PipelineFlow* flow = nullptr;
};

/// A worker helps with a pipeline.
struct PipelineHelper : Task<1>::Signature<V<std::shared_ptr<PipelineWork>>> {
  static constexpr std::string_view name = "pipeline";

  static void cpu(std::shared_ptr<PipelineWork> const& work) { work->help(); }
};

/// What a thread may do next. `stage` 0: take an item from the source into `place`. Otherwise: go
/// on with the item that is kept there for that stage.
struct PipelineStep {
  std::size_t stage = 0;
  PipelinePlace* place = nullptr; // null: nothing to do
};

class PipelineFlow {
public:
  /// `do_step` does a step, and what follows from it. `spawn` spawns a helper.
  using Run = void (*)(PipelineFlow& flow, PipelineStep step);
  using Spawn = void (*)(void* runtime, std::shared_ptr<PipelineWork> const& work);

  /// `in_order`: these stages are, counted from 1. `helpers`: the most at a time.
  PipelineFlow(std::span<std::size_t const> in_order,
               std::size_t places,
               std::size_t helpers,
               Run do_step)
      : places_(places), limit_(helpers), run_(do_step),
        gates_(in_order.size(), [&](std::size_t k) { return PipelineGate(in_order[k], places); }) {}

  /// The caller's part: until all items have ended, or one has failed. Then nothing is under way.
  template <class Rt>
  void process(Rt& rt) {
    runtime_ = &rt;
    spawn_ = [](void* runtime, std::shared_ptr<PipelineWork> const& work) {
      // Not as a child of the helper that spawns it: that would not be complete before this one,
      // and so on, as long as the pipeline runs.
      ExternalTasks::Outside const outside;
      static_cast<Rt*>(runtime)->template spawn<PipelineHelper>()(work);
    };
    work_->flow = this;
    work(true);
    work_->close();
  }

  void rethrow() { work_->rethrow(); }

  /// A helper's part.
  void help() noexcept { work(false); }

protected:
  [[nodiscard]] bool stopped() const noexcept { return work_->stopped(); }

  [[nodiscard]] PipelineGate& gate(std::size_t index) noexcept { return gates_[index]; }

  [[nodiscard]] PipelineSource& source() noexcept { return source_; }

  /// Who has the item has left the source, so that another thread may take the next one.
  void leave_source() {
    source_.leave();
    call_help();
  }

  /// The item of the place has ended. `goes_on`: the thread does not look for work after that.
  void give_back(PipelinePlace& place, bool goes_on) {
    source_.give_back(place);
    if (goes_on && lacks_help() && source_.may_enter()) [[unlikely]] {
      spawn_helper();
    }
  }

  /// The item's turn has come at the gate.
  void offer(PipelineGate& gate, PipelinePlace& place) {
    gate.offer(place);
    call_help();
  }

private:
  /// There is something to do. Spawns a helper if nobody looks for work. seq_cst: after what there
  /// is to do was published, in the same order; of this thread and one that stops to look, one sees
  /// the other.
  void call_help() {
    if (lacks_help()) [[unlikely]] {
      spawn_helper();
    }
  }

  [[nodiscard]] bool lacks_help() const noexcept {
    return looking_.load(std::memory_order_seq_cst) == 0 &&
           helpers_.load(std::memory_order_seq_cst) < limit_;
  }

  [[gnu::noinline]] void spawn_helper() {
    if (helpers_.fetch_add(1, std::memory_order_seq_cst) >= limit_) {
      helpers_.fetch_sub(1, std::memory_order_seq_cst); // others were faster
      return;
    }
    spawn_(runtime_, work_);
  }

  /// Items that are nearer to their end come first: so places become free early.
  [[nodiscard]] PipelineStep find() noexcept {
    for (auto k = gates_.size(); k-- > 0;) {
      if (auto* const place = gates_[k].take_ready()) {
        return {gates_[k].stage(), place};
      }
    }
    return {0, source_.try_enter()};
  }

  [[nodiscard]] bool has_more() const noexcept {
    for (auto const& gate : gates_) {
      if (gate.has_ready()) {
        return true;
      }
    }
    return source_.may_enter();
  }

  void work(bool is_caller) noexcept {
    while (!stopped()) {
      auto step = find();
      if (step.place == nullptr) {
        step = look(is_caller);
        if (step.place == nullptr) {
          return;
        }
      }
      try {
        if (lacks_help() && has_more()) [[unlikely]] {
          spawn_helper(); // whoever left that to this thread called nobody
        }
        run_(*this, step);
      } catch (...) {
        work_->fail(std::current_exception());
      }
    }
  }

  /// There is nothing to do now. Looks for a while, the caller as long as there may be something.
  /// Nothing is found if all has ended or failed, and by a helper after a while.
  [[nodiscard]] [[gnu::noinline]] PipelineStep look(bool is_caller) noexcept {
    PipelineStep found;
    int passes = 0;
    do {
      looking_.fetch_add(1, std::memory_order_seq_cst);
      for (int round = 0; round < 3 * idle_polls && found.place == nullptr && !ends(is_caller);
           ++round) {
        if (round < 2 * idle_polls) {
          cpu_relax();
        } else {
          yield_core();
        }
        found = find();
      }
      if (found.place == nullptr && !is_caller) {
        return stop_to_look();
      }
      looking_.fetch_sub(1, std::memory_order_seq_cst);
      if (found.place == nullptr && !ends(is_caller)) {
        found = find();
        if (found.place == nullptr && ++passes > 6) { // as Patience
          pause_for(20000);
        }
      }
    } while (found.place == nullptr && !ends(is_caller));
    return found;
  }

  [[nodiscard]] bool ends(bool is_caller) noexcept {
    return stopped() || (is_caller ? source_.all_back(places_) : work_->closed());
  }

  /// A helper looks once more after it is known that it looks no longer: see call_help.
  [[nodiscard]] PipelineStep stop_to_look() noexcept {
    helpers_.fetch_sub(1, std::memory_order_seq_cst);
    looking_.fetch_sub(1, std::memory_order_seq_cst);
    auto const found = find();
    if (found.place != nullptr) {
      helpers_.fetch_add(1, std::memory_order_seq_cst); // if others were faster, one too many helps
    }
    return found;
  }

  std::size_t const places_;
  std::size_t const limit_;
  Run const run_;
  Spawn spawn_ = nullptr;
  void* runtime_ = nullptr;
  std::shared_ptr<PipelineWork> const work_ = std::make_shared<PipelineWork>();
  FixedArray<PipelineGate> const gates_;
  PipelineSource source_;
  alignas(64) Atomic<std::size_t> looking_{0}; // threads that look for work
  Atomic<std::size_t> helpers_{0};             // spawned, and not about to end
};

inline PipelineWork::PipelineWork() noexcept
    : SharedWork([](SharedWork& self) noexcept { static_cast<PipelineWork&>(self).flow->help(); }) {
}

} // namespace hetsched::detail
