// SPDX-License-Identifier: MIT
#pragma once
// Tries every sequence of events of a state machine up to a length.

#include "snapshot_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace exploration {

/// What an event leaves open, like a victim that the cache policy may choose freely: the digits of
/// a number whose bases come up on the way.
class Choices {
public:
  void begin(std::uint32_t number) noexcept {
    rest_ = number;
    count_ = 1;
  }

  /// One of 0 to `of` - 1.
  [[nodiscard]] std::uint32_t next(std::uint32_t of) noexcept {
    auto const chosen = rest_ % of;
    rest_ /= of;
    count_ *= of;
    return chosen;
  }

  /// The numbers from this on repeat what smaller numbers chose.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Whether a smaller number chose the same.
  [[nodiscard]] bool repeats() const noexcept { return rest_ != 0; }

private:
  std::uint32_t rest_ = 0;
  std::uint32_t count_ = 1;
};

/// Of machines whose events leave nothing open.
[[nodiscard]] inline Choices const& no_choices() noexcept {
  static constinit Choices const none;
  return none;
}

struct Limits {
  std::size_t depth = 0;
  double seconds = 1e9;
};

/// While it lives, a crash or a hang calls a function before the program ends.
template <class F>
class Catcher {
public:
  explicit Catcher(F f) : f_(std::move(f)) {
    this_one = this;
    for (auto const number : signals) {
      std::signal(number, [](int signal) {
        std::signal(signal, SIG_DFL);
        this_one->f_(signal);
        std::_Exit(1);
      });
    }
    go_on();
  }

  Catcher(Catcher const&) = delete;
  Catcher& operator=(Catcher const&) = delete;

  ~Catcher() {
    alarm(0);
    for (auto const number : signals) {
      std::signal(number, SIG_DFL);
    }
  }

  /// Nothing hangs.
  static void go_on() { alarm(20); }

private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGALRM};
  static inline Catcher* this_one = nullptr;
  F f_;
};

template <class Event>
struct Report {
  std::string violation;       // empty: none was found
  std::vector<Event> sequence; // the shortest one that leads to it
  std::size_t states = 0;
  std::size_t events = 0; // that were tried
  std::size_t depth = 0;  // all sequences of this length were tried
  bool all = false;       // no sequence leads to a state that was not seen
  double seconds = 0;
};

/// A set of 64-bit hashes.
class SeenStates {
public:
  SeenStates() : slots_(std::size_t{1} << 16U) {}

  /// False if it was there.
  bool insert(std::uint64_t key) {
    key = key == 0 ? 1 : key; // 0 marks a free slot
    if (2 * count_ >= slots_.size()) {
      std::vector<std::uint64_t> before(2 * slots_.size());
      before.swap(slots_);
      for (auto const old : before) {
        if (old != 0) {
          slots_[place_of(old)] = old;
        }
      }
    }
    auto& slot = slots_[place_of(key)];
    bool const is_new = slot == 0;
    slot = key;
    count_ += is_new ? 1 : 0;
    return is_new;
  }

private:
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept {
    auto place = static_cast<std::size_t>(key) & (slots_.size() - 1);
    while (slots_[place] != 0 && slots_[place] != key) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

/// Breadth first, so the first violation has a shortest sequence. Equal states are tried once. A
/// state is the sequence that leads to it, which is run again when its turn comes; from there,
/// SnapshotMemory puts the machine back after each event.
///
/// `Machine` has, for a small copyable `Event` with a number `choices`:
///   events(out) const    adds what may happen now
///   apply(event)         it happens. What goes wrong on the way is a violation
///   check()              everything that must hold of the state, and that `key` tells apart
///   choices()            the Choices that the event made
///   complete()           all that is under way comes to its end, and it is checked that it does.
///                        The machine is then deleted, and nothing may be left of it
///   violation() const    what does not hold; empty if all holds
///   key() const          a hash, equal for states that need not be told apart
/// `make` answers a new one, made by `new`. `killed(report)`: an event crashed, or took for ever;
/// the report has the sequence.
template <class Machine, class Make, class Killed>
Report<typename Machine::Event> explore(Make&& make, Limits const& limits, Killed&& killed) {
  using Event = typename Machine::Event;

  struct Known {
    std::uint32_t from; // the state before
    Event event;
  };

  auto const begin = std::chrono::steady_clock::now();
  Report<Event> report;
  auto const seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<Known> known{{0, {}}};
  SeenStates seen;
  std::vector<std::byte> initial;
  std::vector<std::byte> here;
  std::vector<Event> possible;
  auto const path_to = [&](std::size_t state) {
    std::vector<Event> path;
    for (; state != 0; state = known[state].from) {
      path.push_back(known[state].event);
    }
    std::reverse(path.begin(), path.end());
    return path;
  };

  SnapshotMemory::clear();
  Machine* machine = nullptr;
  {
    SnapshotMemory const inside;
    machine = make();
  }
  SnapshotMemory::save(initial);
  seen.insert(machine->key());

  std::size_t tried_from = 0;
  Event tried{};
  Catcher const catcher([&](int signal) {
    report.violation = signal == SIGALRM ? "an event takes for ever" : "an event crashes";
    report.sequence = path_to(tried_from);
    report.sequence.push_back(tried);
    report.states = known.size();
    killed(report);
  });

  /// Whether all is well after the event.
  auto const attempt = [&](std::size_t from, Event const& event) {
    bool is_new = false;
    tried_from = from;
    tried = event;
    {
      SnapshotMemory const inside;
      machine->apply(event);
    }
    ++report.events;
    if (machine->violation().empty() && !machine->choices().repeats()) {
      is_new = seen.insert(machine->key());
    }
    if (is_new) {
      known.push_back({static_cast<std::uint32_t>(from), event});
      SnapshotMemory const inside;
      machine->check();
      machine->complete();
    }
    report.violation = machine->violation();
    if (is_new && report.violation.empty()) {
      SnapshotMemory const inside;
      delete machine;
      if (SnapshotMemory::blocks() != 0) {
        report.violation = "memory leaks";
      }
    }
    if (report.violation.empty()) {
      return true;
    }
    report.sequence = path_to(from);
    report.sequence.push_back(event);
    return false;
  };

  std::size_t level_end = 1; // the states before it have been reached by `depth` events
  for (std::size_t state = 0; state < known.size() && report.depth < limits.depth; ++state) {
    if (state == level_end) {
      ++report.depth;
      level_end = known.size();
      if (report.depth == limits.depth) {
        break;
      }
    }
    if (state % 256 == 0) {
      catcher.go_on();
      if (seconds() > limits.seconds) {
        break;
      }
    }
    auto const path = path_to(state);
    SnapshotMemory::restore(initial);
    {
      SnapshotMemory const inside;
      for (auto const& event : path) {
        machine->apply(event);
      }
    }
    SnapshotMemory::save(here);
    possible.clear();
    machine->events(possible);
    for (auto event : possible) {
      std::uint32_t count = 1;
      for (event.choices = 0; event.choices < count; ++event.choices) {
        SnapshotMemory::restore(here);
        if (!attempt(state, event)) {
          report.states = known.size();
          report.seconds = seconds();
          return report;
        }
        count = std::max(count, machine->choices().count());
      }
    }
    if (state + 1 == known.size()) {
      ++report.depth;
      report.all = true;
    }
  }
  report.states = known.size();
  report.seconds = seconds();
  return report;
}

} // namespace exploration
