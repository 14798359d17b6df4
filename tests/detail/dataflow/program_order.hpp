// SPDX-License-Identifier: MIT
#pragma once
// Which tasks may run, and which must not, by the order in which a program names its data. Slow and
// plain: the dataflow layer is judged by it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace dataflow_model {

using Index = std::uint8_t;
constexpr Index none = 255;
constexpr std::size_t most_tasks = 14;
constexpr std::size_t most_places = 12;
constexpr std::size_t most_divisions = 4;
constexpr std::size_t most_elements = 8;

/// K: a contribution. L: one by another operator. X: RW.
enum class Mode : std::uint8_t { R, W, X, C, K, L };

[[nodiscard]] constexpr bool contributes(Mode mode) {
  return mode == Mode::K || mode == Mode::L;
}

/// Whether neighbours of these modes hold the datum at the same time.
[[nodiscard]] constexpr bool share(Mode a, Mode b) {
  return a == b && a != Mode::W && a != Mode::X;
}

enum class Outcome : std::uint8_t { open, done, skipped, failed };

/// One task names one datum.
struct Use {
  Index task = none;
  Mode mode = Mode::R;
  std::uint8_t group = 0; // of neighbours that share, as long as they are not all over
  Outcome outcome = Outcome::open;
  Index division = none; // the datum is in parts meanwhile
};

/// A datum, as the tasks spawned in one body (or outside bodies) name it.
struct Place {
  bool there = false;
  Index datum = 0;
  Index owner = none;   // the task whose children these are
  Index part_of = none; // a division
  bool bad = false;     // a task that was to write it failed
  bool lost = false;    // its value was on a device that is lost
  bool named = false;   // since it is there
  Mode last = Mode::R;  // mode of the last task that named it
  int series = 0;       // contributions that are not in the value yet
  std::uint8_t groups = 0;
  std::uint8_t count = 0;
  std::array<Use, 16> uses{}; // that are not over, and those that are in a group with them

  [[nodiscard]] bool unmerged() const { return there && named && contributes(last); }
};

/// A region in parts.
struct Division {
  bool there = false;
  bool opened = false; // tasks on the parts may run
  bool joined = false; // no more tasks on the parts will come
  Index whole = 0;     // a place
};

class ProgramOrder {
public:
  int losses = 0; // that divisions have found
  std::array<Place, most_places> places{};
  std::array<Division, most_divisions> divisions{};

  [[nodiscard]] bool needs_merge(Index place, Mode mode) const {
    auto const& of = places[place];
    return of.unmerged() && !share(of.last, mode);
  }

  void add(Index place, Index task, Mode mode, Index division = none) {
    auto& of = places[place];
    bool const joins = of.count != 0 && share(of.uses[of.count - 1U].mode, mode);
    of.groups = static_cast<std::uint8_t>(of.groups + (joins ? 0 : 1));
    of.uses[of.count++] = {task, mode, of.groups, Outcome::open, division};
    of.named = true;
    of.last = mode;
  }

  /// Whether all that came before and does not share is over.
  [[nodiscard]] bool granted(Place const& place, std::size_t which) const {
    for (std::size_t k = 0; k < which; ++k) {
      if (place.uses[k].outcome == Outcome::open &&
          !share(place.uses[k].mode, place.uses[which].mode)) {
        return false;
      }
    }
    return place.part_of == none || divisions[place.part_of].opened;
  }

  /// How many of the data that a task names it may not use yet.
  [[nodiscard]] int missing(Index task) const {
    int count = 0;
    each_use(task, [&](Place const& place, std::size_t which) {
      count += granted(place, which) ? 0 : 1;
    });
    return count;
  }

  /// Whether the task needs what a task that failed was to write.
  [[nodiscard]] bool needs_bad(Index task) const {
    bool bad = false;
    each_use(task, [&](Place const& place, std::size_t which) {
      bad = bad || (place.bad && place.uses[which].mode != Mode::W);
    });
    return bad;
  }

  /// The same of what was lost with a device.
  [[nodiscard]] bool needs_lost(Index task) const {
    bool lost = false;
    each_use(task, [&](Place const& place, std::size_t which) {
      auto const mode = place.uses[which].mode;
      lost = lost || (place.lost && mode != Mode::W && !contributes(mode));
    });
    return lost;
  }

  void end(Index task, Outcome outcome) {
    for (auto& place : places) {
      for (std::size_t k = 0; place.there && k < place.count; ++k) {
        if (place.uses[k].task == task && place.uses[k].outcome == Outcome::open) {
          place.uses[k].outcome = outcome;
        }
      }
      close_groups(place);
    }
    settle();
  }

  /// Regions are cut and put together again as soon as they may be.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Index d = 0; d < most_divisions; ++d) {
        changed = (divisions[d].there && settle(d)) || changed;
      }
    }
  }

  template <class F>
  void each_use(Index task, F&& f) const {
    for (auto const& place : places) {
      for (std::size_t k = 0; place.there && k < place.count; ++k) {
        if (place.uses[k].task == task && place.uses[k].outcome == Outcome::open) {
          f(place, k);
        }
      }
    }
  }

private:
  bool settle(Index d) {
    auto& division = divisions[d];
    auto& whole = places[division.whole];
    std::size_t at = 0;
    while (whole.uses[at].division != d) {
      ++at;
    }
    if (!division.opened) {
      division.opened = granted(whole, at);
      for (auto& part : places) {
        part.bad = part.bad || (division.opened && part.there && part.part_of == d &&
                                (whole.bad || whole.lost));
      }
      if (division.opened && whole.lost) {
        whole.lost = false;
        ++losses;
      }
      return division.opened;
    }
    bool bad = false;
    bool lost = false;
    for (auto const& part : places) {
      if (part.there && part.part_of == d) {
        if (!division.joined || part.count != 0) {
          return false;
        }
        bad = bad || part.bad;
        lost = lost || part.lost;
      }
    }
    if (!division.joined) {
      return false;
    }
    losses += lost ? 1 : 0;
    bad = bad || lost;
    for (auto& part : places) {
      part.there = part.there && part.part_of != d;
    }
    division.there = false;
    whole.uses[at].outcome = bad ? Outcome::failed : Outcome::done;
    close_groups(whole);
    return true;
  }

  static void close_groups(Place& place) {
    while (place.there && place.count != 0) {
      auto const* const begin = place.uses.data();
      auto const* end = begin;
      bool failed = false;
      bool done = false;
      while (end != begin + place.count && end->group == begin->group) {
        if (end->outcome == Outcome::open) {
          return;
        }
        failed = failed || (end->outcome == Outcome::failed && end->mode != Mode::R);
        done = done || end->outcome == Outcome::done;
        ++end;
      }
      bool const makes_good = done && (begin->mode == Mode::W || begin->division != none);
      place.bad = failed || (place.bad && !makes_good);
      std::copy(end, begin + place.count, place.uses.begin());
      place.count = static_cast<std::uint8_t>(place.count - (end - begin));
    }
  }
};

} // namespace dataflow_model
