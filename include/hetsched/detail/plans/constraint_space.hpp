// SPDX-License-Identifier: MIT
#pragma once
// Schedules of a graph on classes of workers as a constraint program. Needs Gecode.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/detail/plans/list_simulation.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <gecode/int.hh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hetsched::detail {

/// Times as whole numbers of ticks, because Gecode's integers have 32 bits. A tick is the greatest
/// common divisor of all times. If the horizon is then too large, a tick is longer, and times are
/// rounded down.
///
/// A proof in ticks holds in nanoseconds: rounding all begins of a schedule down makes a schedule
/// in ticks, because floor(b) + floor(d) <= floor(b + d). So if no schedule in ticks is as short as
/// T ticks, each schedule takes T + 1 ticks or more. With the common divisor nothing is rounded,
/// and a schedule in ticks is one in nanoseconds. Otherwise it is timed again, and may be longer.
class SolverTicks {
public:
  /// For schedules that are shorter than `makespan` > 0.
  SolverTicks(ClassTimes const& times, Duration makespan) : classes_(times.workers.size()) {
    std::int64_t divisor = 0;
    for (auto const time : times.times) {
      divisor = time == ClassTimes::never ? divisor : std::gcd(divisor, time.ns);
    }
    divisor = std::max<std::int64_t>(divisor, 1);
    auto const longer = (makespan.ns / divisor + horizon) / horizon;
    tick_ = divisor * std::max<std::int64_t>(longer, 1);
    for (std::size_t v = 0; v < times.tasks(); ++v) {
      for (std::size_t c = 0; c < classes_; ++c) {
        auto const time = times.on(v, c);
        bool const fits = times.workers[c] > 0 && time != ClassTimes::never && time < makespan;
        times_.push_back(fits ? static_cast<int>(time.ns / tick_) : never);
      }
    }
  }

  static constexpr int never = -1; // not there in time

  [[nodiscard]] int on(std::size_t task, std::size_t its_class) const noexcept {
    return times_[task * classes_ + its_class];
  }

  /// The largest number of ticks that is shorter.
  [[nodiscard]] int below(Duration makespan) const noexcept {
    return static_cast<int>((makespan.ns - 1) / tick_);
  }

  [[nodiscard]] Duration of(int ticks) const noexcept { return {ticks * tick_}; }

private:
  static constexpr std::int64_t horizon = 1 << 30; // Gecode adds two

  std::size_t classes_;
  std::int64_t tick_;
  std::vector<int> times_;
};

/// The data that all parts of one solver share.
struct SolverState {
  TaskGraph const& graph;
  std::vector<int> workers; // of each class
  SolverTicks ticks;
  int most = 0;             // longer schedules, in ticks, are not searched for
  std::vector<int> classes; // of the best plan: tried first
  Predecessors predecessors;
  std::vector<std::int64_t> levels; // the task with the longer way to the end goes first
};

/// The constraint program: each task has a begin and a class of worker, which gives its time. A
/// task begins when its predecessors have ended. Each class runs at most as many tasks at once as
/// it has workers (cumulative; the class makes tasks optional), and no more work than they can do
/// (area). Workers of a class are equal. Which of them runs a task is decided afterwards, in the
/// order of the begins.
class ConstraintSpace : public Gecode::Space {
  static constexpr int no_time = -1;

  SolverState* state_;

public:
  Gecode::IntVarArray begins;
  Gecode::IntVarArray classes;
  Gecode::IntVar makespan;
  std::vector<int> postponed; // when a task could begin as it was put off

  explicit ConstraintSpace(SolverState& state)
      : state_(&state), begins(*this, size(), 0, state.most),
        classes(*this, size(), 0, last_class()), makespan(*this, 0, state.most),
        postponed(state.graph.size(), no_time) {
    using namespace Gecode;
    IntVarArray times(*this, size(), 0, state.most);
    std::vector<BoolVarArgs> on(state.workers.size());
    for (int v = 0; v < size(); ++v) {
      IntArgs its_times(last_class() + 1);
      BoolVarArgs is_on(*this, last_class() + 1, 0, 1);
      for (int c = 0; c <= last_class(); ++c) {
        auto const time = ticks(v, c);
        if (time == SolverTicks::never) {
          rel(*this, classes[v], IRT_NQ, c);
        }
        its_times[c] = std::max(time, 0);
        on[static_cast<std::size_t>(c)] << is_on[c];
      }
      channel(*this, is_on, classes[v]);
      element(*this, its_times, classes[v], times[v]);
      linear(
          *this, IntArgs({1, 1, -1}), IntVarArgs() << begins[v] << times[v] << makespan, IRT_LQ, 0);
      for (auto const w : state.graph.successors(static_cast<std::size_t>(v))) {
        linear(*this,
               IntArgs({1, 1, -1}),
               IntVarArgs() << begins[v] << times[v] << begins[static_cast<int>(w)],
               IRT_LQ,
               0);
      }
    }
    for (int c = 0; c <= last_class(); ++c) {
      add_class(c, on[static_cast<std::size_t>(c)]);
    }
    add_brancher();
  }

  ConstraintSpace(ConstraintSpace& other)
      : Space(other), state_(other.state_), postponed(other.postponed) {
    begins.update(*this, other.begins);
    classes.update(*this, other.classes);
    makespan.update(*this, other.makespan);
  }

  Gecode::Space* copy() override { return new ConstraintSpace(*this); }

  [[nodiscard]] int ticks(int task, int its_class) const {
    return state_->ticks.on(static_cast<std::size_t>(task), static_cast<std::size_t>(its_class));
  }

  [[nodiscard]] SolverState& state() const noexcept { return *state_; }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(state_->graph.size()); }

  [[nodiscard]] bool is_set(int task) const {
    return begins[task].assigned() && classes[task].assigned();
  }

  /// Whether the task was put off: it will not begin at its present earliest time.
  [[nodiscard]] bool is_postponed(int task) const {
    return postponed[static_cast<std::size_t>(task)] == begins[task].min();
  }

  /// Whether a task of a known class, begun as early as possible, may find all workers busy at some
  /// time while it runs.
  [[nodiscard]] bool may_be_blocked(int task) const {
    for (auto const u : state_->predecessors[static_cast<std::size_t>(task)]) {
      if (!is_set(static_cast<int>(u))) {
        return true;
      }
    }
    auto const c = classes[task].val();
    auto const from = begins[task].min();
    auto const to = from + ticks(task, c);
    int others = 0;
    for (int v = 0; v < size(); ++v) {
      others += v != task && classes[v].in(c) && begins[v].min() < to &&
                        begins[v].max() + ticks(v, c) > from
                    ? 1
                    : 0;
    }
    return others >= state_->workers[static_cast<std::size_t>(c)];
  }

  /// The first time, from its earliest begin on, at which a task of a known class finds a worker
  /// beside the tasks that are placed. Gecode allows earlier begins.
  [[nodiscard]] int earliest_fit(int task) const {
    auto const length = ticks(task, classes[task].val());
    auto from = begins[task].min();
    for (auto at = from; at < from + length;) {
      int running = 0;
      int first_end = Gecode::Int::Limits::max; // of those
      int next = from + length;                 // begin of another
      for (int v = 0; v < size(); ++v) {
        if (!is_set(v) || classes[v].val() != classes[task].val()) {
          continue;
        }
        auto const begin = begins[v].val();
        auto const end = begin + ticks(v, classes[v].val());
        if (begin <= at && end > at) {
          ++running;
          first_end = std::min(first_end, end);
        } else if (begin > at) {
          next = std::min(next, begin);
        }
      }
      bool const full = running >= state_->workers[static_cast<std::size_t>(classes[task].val())];
      at = full ? first_end : next;
      from = full ? first_end : from;
    }
    return from;
  }

private:
  [[nodiscard]] int last_class() const noexcept {
    return static_cast<int>(state_->workers.size()) - 1;
  }

  void add_class(int c, Gecode::BoolVarArgs const& on) {
    using namespace Gecode;
    IntVarArgs its_begins;
    IntArgs its_times;
    BoolVarArgs its_own;
    IntVarArgs use; // as numbers: sums of these may have 64 bits
    for (int v = 0; v < size(); ++v) {
      if (auto const time = ticks(v, c); time != SolverTicks::never) {
        its_begins << begins[v];
        its_times << time;
        its_own << on[v];
        IntVar const one(*this, 0, 1);
        channel(*this, on[v], one);
        use << one;
      }
    }
    auto const count = state_->workers[static_cast<std::size_t>(c)];
    if (its_begins.size() > count) {
      cumulative(*this,
                 count,
                 its_begins,
                 its_times,
                 IntArgs::create(its_begins.size(), 1, 0),
                 its_own,
                 IPL_BASIC_ADVANCED);
    }
    if (its_begins.size() != 0) {
      linear(*this, its_times << -count, use << makespan, IRT_LQ, 0);
    }
  }

  void add_brancher();
};

/// Decides on one task after another: its class, that of the best plan first, then whether it
/// begins as early as possible or later ("set times": Le Pape et al. 1994). Of the tasks whose
/// predecessors are placed, the one that can begin first goes first.
///
/// A task that was put off has another turn when it cannot begin that early any more. No optimum is
/// lost. Take a schedule that is short enough and whose begins have the least sum. Suppose that a
/// task in it begins later than the tasks placed before it force it to. Nothing holds this task up,
/// so an earlier begin would make the sum smaller: a contradiction. For the same reason a space has
/// no such schedule if a task was put off but no class is so full that it has to wait.
class SetTimes : public Gecode::Brancher {
public:
  explicit SetTimes(Gecode::Home home) : Brancher(home) {}

  SetTimes(Gecode::Space& home, SetTimes& other) : Brancher(home, other) {}

  Gecode::Actor* copy(Gecode::Space& home) override { return new (home) SetTimes(home, *this); }

  [[nodiscard]] bool status(Gecode::Space const& home) const override {
    auto const& space = static_cast<ConstraintSpace const&>(home);
    for (int v = 0; v < space.size(); ++v) {
      if (!space.is_set(v)) {
        return true;
      }
    }
    return false;
  }

  Gecode::Choice const* choice(Gecode::Space& home) override {
    auto const& space = static_cast<ConstraintSpace const&>(home);
    auto& state = space.state();
    int next = -1;
    for (int v = 0; v < space.size(); ++v) {
      auto const u = static_cast<std::size_t>(v);
      if (space.is_set(v)) {
        continue;
      }
      if (space.classes[v].assigned()) {
        if (auto const fit = space.earliest_fit(v); fit > space.begins[v].min()) {
          return new Decision(*this, 1, Decision::not_before, v, fit);
        }
      }
      if (space.is_postponed(v)) {
        if (!space.may_be_blocked(v)) {
          return new Decision(*this, 1, Decision::dead, 0, 0);
        }
        continue;
      }
      auto const before = state.predecessors[u];
      bool const waits = std::any_of(
          before.begin(), before.end(), [&](auto w) { return !space.is_set(static_cast<int>(w)); });
      if (!waits && (next < 0 || space.begins[v].min() < space.begins[next].min() ||
                     (space.begins[v].min() == space.begins[next].min() &&
                      state.levels[u] > state.levels[static_cast<std::size_t>(next)]))) {
        next = v;
      }
    }
    if (next < 0) {
      return new Decision(*this, 1, Decision::dead, 0, 0);
    }
    if (!space.classes[next].assigned()) {
      auto const preferred = state.classes[static_cast<std::size_t>(next)];
      auto const value = space.classes[next].in(preferred) ? preferred : space.classes[next].min();
      return new Decision(*this, 2, Decision::its_class, next, value);
    }
    return new Decision(*this, 2, Decision::its_begin, next, space.begins[next].min());
  }

  Gecode::Choice const* choice(Gecode::Space const&, Gecode::Archive& archive) override {
    int what = 0;
    int task = 0;
    int value = 0;
    archive >> what >> task >> value;
    bool const one = what == Decision::dead || what == Decision::not_before;
    return new Decision(*this, one ? 1 : 2, what, task, value);
  }

  Gecode::ExecStatus
  commit(Gecode::Space& home, Gecode::Choice const& choice, unsigned alternative) override {
    auto& space = static_cast<ConstraintSpace&>(home);
    auto const& decision = static_cast<Decision const&>(choice);
    if (decision.what == Decision::dead) {
      return Gecode::ES_FAILED;
    }
    Gecode::Int::IntView makespan(space.makespan);
    GECODE_ME_CHECK(makespan.lq(home, space.state().most));
    if (decision.what == Decision::its_class) {
      Gecode::Int::IntView view(space.classes[decision.task]);
      GECODE_ME_CHECK(alternative == 0 ? view.eq(home, decision.value)
                                       : view.nq(home, decision.value));
    } else if (decision.what == Decision::not_before) {
      Gecode::Int::IntView view(space.begins[decision.task]);
      GECODE_ME_CHECK(view.gq(home, decision.value));
    } else if (alternative == 0) {
      Gecode::Int::IntView view(space.begins[decision.task]);
      GECODE_ME_CHECK(view.eq(home, decision.value));
    } else {
      space.postponed[static_cast<std::size_t>(decision.task)] = decision.value;
    }
    return Gecode::ES_OK;
  }

private:
  struct Decision : Gecode::Choice {
    enum { dead, not_before, its_class, its_begin };

    Decision(Brancher const& brancher, unsigned alternatives, int of, int its_task, int its_value)
        : Choice(brancher, alternatives), what(of), task(its_task), value(its_value) {}

    void archive(Gecode::Archive& archive) const override {
      Choice::archive(archive);
      archive << what << task << value;
    }

    int what;
    int task;
    int value;
  };
};

inline void ConstraintSpace::add_brancher() {
  new (*this) SetTimes(*this);
}

} // namespace hetsched::detail
