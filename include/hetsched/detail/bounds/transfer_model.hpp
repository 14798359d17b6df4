// SPDX-License-Identifier: MIT
#pragma once
// What transfers add to the linear program of a bound. transfer_bound.hpp says why it holds.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/bounds/bound_model.hpp>
#include <hetsched/detail/bounds/transfer_times.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Who wrote a datum last, while its accesses are gone through in program order.
class VersionWriters {
public:
  explicit VersionWriters(TaskGraph const& graph) : graph_(graph) {}

  /// Calls read(version, task) for each task that needs what one task, or none, wrote, and
  /// fresh(datum, producer) for each such version before it. Both return or take its number.
  template <class Fresh, class Read>
  void each(Fresh const& fresh, Read const& read) const {
    struct State {
      std::optional<std::size_t> version; // no value: not known
      std::optional<std::size_t> before;  // of the tasks that commute now
      bool commuting = false;
    };

    std::vector<State> states(graph_.data_bytes().size());
    for (std::size_t d = 0; d < states.size(); ++d) {
      states[d].version = fresh(d, BoundVersion::none);
    }
    for (std::uint32_t v = 0; v < graph_.size(); ++v) {
      for (auto const& access : graph_.nodes()[v].accesses) {
        auto& state = states[access.data];
        bool const commutes = access.mode == AccessMode::commute;
        bool const among = commutes && state.commuting; // in any order with those before it
        auto const needed = among ? state.before : state.version;
        bool const reads =
            access.mode == AccessMode::read || access.mode == AccessMode::read_write || commutes;
        if (reads && needed) {
          read(*needed, v);
        }
        state.before = needed;
        state.commuting = commutes;
        if (among || access.mode == AccessMode::reduce) {
          state.version = std::nullopt;
        } else if (access.mode != AccessMode::read && access.mode != AccessMode::value) {
          state.version = fresh(access.data, v);
        }
      }
    }
  }

private:
  TaskGraph const& graph_;
};

/// Makes a model's arcs, heads, tails, idle times and lanes.
class TransferModel {
public:
  /// `area` is the area bound. Throws as TransferTimes does.
  TransferModel(TaskGraph const& graph,
                ClassTimes const& times,
                Platform const& platform,
                Simulation::Transfers kind,
                Duration area)
      : transfers_(platform, kind), model_(graph, times), bound_(area) {
    for (std::size_t c = 0; c < platform.classes.size(); ++c) {
      model_.device[c] = transfers_.devices() != 0 && platform.classes[c].arch != ArchHost;
    }
    if (transfers_.devices() != 0) {
      add_versions(graph);
    } else {
      inputs_.assign(times.tasks(), {});
    }
    measure();
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      model_.idle.push_back(idle_of(c));
    }
    if (transfers_.devices() != 0) {
      add_lanes();
    }
  }

  [[nodiscard]] BoundModel const& model() const noexcept { return model_; }

  /// No makespan is below.
  [[nodiscard]] Duration bound() const noexcept { return bound_; }

private:
  static constexpr Duration never{std::numeric_limits<std::int64_t>::max() / 4};

  /// On the host, and on a device.
  struct Places {
    Duration host;
    Duration device;
  };

  struct Input {
    Duration longest; // of one datum from the host
    Duration all;     // of all data, one after the other
  };

  void add_versions(TaskGraph const& graph) {
    std::vector<std::size_t> sizes;
    inputs_.assign(graph.size(), {});
    std::vector<Input> initial(graph.size());
    VersionWriters(graph).each(
        [&](std::size_t datum, std::uint32_t producer) {
          auto const bytes = graph.data_bytes()[datum];
          model_.versions.push_back({producer, transfers_.counted(bytes), {}});
          sizes.push_back(bytes);
          return sizes.size() - 1;
        },
        [&](std::size_t version, std::uint32_t reader) {
          auto& known = model_.versions[version];
          known.readers.push_back(reader);
          auto const bytes = sizes[version];
          if (known.producer == BoundVersion::none) {
            auto& input = initial[reader];
            input.longest = std::max(input.longest, transfers_.in(bytes));
            input.all += transfers_.enter(bytes);
          } else {
            lagged_.push_back(
                {{known.producer, reader, transfers_.in(bytes), transfers_.out(bytes)},
                 transfers_.enter(bytes)});
          }
        });
    for (std::size_t v = 0; v < graph.size(); ++v) {
      inputs_[v] = std::max(initial[v].longest, initial[v].all);
    }
    std::erase_if(model_.versions, [](auto const& version) { return version.readers.empty(); });
    merge_arcs();
  }

  /// One arc from each task to each: of several data between them, all enter the same device.
  void merge_arcs() {
    for (auto const& arc : model_.arcs) {
      lagged_.push_back({arc, {}});
    }
    auto const ends = [](Lagged const& lagged) {
      return std::pair(lagged.arc.from, lagged.arc.to);
    };
    std::sort(lagged_.begin(), lagged_.end(), [&](Lagged const& a, Lagged const& b) {
      return ends(a) < ends(b);
    });
    model_.arcs.clear();
    for (std::size_t k = 0; k < lagged_.size();) {
      auto arc = lagged_[k].arc;
      Duration all;
      for (auto const first = ends(lagged_[k]); k < lagged_.size() && ends(lagged_[k]) == first;
           ++k) {
        arc.in = std::max(arc.in, lagged_[k].arc.in);
        arc.out = std::max(arc.out, lagged_[k].arc.out);
        all += lagged_[k].enter;
      }
      arc.in = std::max(arc.in, all);
      model_.arcs.push_back(arc);
    }
  }

  /// The task's least time at each place.
  [[nodiscard]] Places times_of(std::size_t task) const {
    Places best{never, never};
    for (std::size_t c = 0; c < model_.times.workers.size(); ++c) {
      if (model_.runs(task, c)) {
        auto& place = model_.device[c] ? best.device : best.host;
        place = std::min(place, model_.times.on(task, c));
      }
    }
    return best;
  }

  /// Heads and tails, task by task along the arcs, and the longest path.
  void measure() {
    auto const tasks = model_.times.tasks();
    std::vector<Places> heads(tasks);
    std::vector<Places> tails(tasks);
    std::vector<Places> own;
    for (std::size_t v = 0; v < tasks; ++v) {
      heads[v].device = inputs_[v];
      own.push_back(times_of(v));
    }
    auto const sum = [](Duration a, Duration b) { return std::min(never, a + b); };
    for (auto const& arc : model_.arcs) {
      auto const on_host = sum(heads[arc.from].host, own[arc.from].host);
      auto const on_device = sum(heads[arc.from].device, own[arc.from].device);
      auto& head = heads[arc.to];
      head.host = std::max(head.host, std::min(on_host, sum(on_device, arc.out)));
      head.device = std::max(head.device, std::min(sum(on_host, arc.in), on_device));
    }
    for (auto a = model_.arcs.size(); a-- > 0;) {
      auto const& arc = model_.arcs[a];
      auto const on_host = sum(tails[arc.to].host, own[arc.to].host);
      auto const on_device = sum(tails[arc.to].device, own[arc.to].device);
      auto& tail = tails[arc.from];
      tail.host = std::max(tail.host, std::min(on_host, sum(on_device, arc.in)));
      tail.device = std::max(tail.device, std::min(sum(on_host, arc.out), on_device));
    }
    for (std::size_t v = 0; v < tasks; ++v) {
      auto const through = std::min(sum(sum(heads[v].host, own[v].host), tails[v].host),
                                    sum(sum(heads[v].device, own[v].device), tails[v].device));
      bound_ = std::max(bound_, through);
      for (std::size_t c = 0; c < model_.times.workers.size(); ++c) {
        model_.head.push_back(model_.device[c] ? heads[v].device : heads[v].host);
        model_.tail.push_back(model_.device[c] ? tails[v].device : tails[v].host);
      }
    }
  }

  /// What a class's workers are idle for together: before their first tasks, and after their last.
  [[nodiscard]] Duration idle_of(std::size_t its_class) const {
    std::vector<Duration> heads;
    std::vector<Duration> tails;
    for (std::size_t v = 0; v < model_.times.tasks(); ++v) {
      if (model_.runs(v, its_class)) {
        heads.push_back(model_.head_of(v, its_class));
        tails.push_back(model_.tail_of(v, its_class));
      }
    }
    std::sort(heads.begin(), heads.end());
    std::sort(tails.begin(), tails.end());
    Duration idle;
    for (std::size_t k = 0; k < static_cast<std::size_t>(model_.times.workers[its_class]); ++k) {
      idle += k < heads.size() ? std::min(heads[k] + tails[k], bound_) : bound_;
    }
    return idle;
  }

  void add_lanes() {
    // Transfers into devices end before a reader's begin, those to the host, too; these begin after
    // a producer's end.
    Duration in = bound_;
    Duration out = bound_;
    Duration produced = bound_;
    for (std::size_t v = 0; v < model_.times.tasks(); ++v) {
      for (std::size_t c = 0; c < model_.times.workers.size(); ++c) {
        if (model_.runs(v, c)) {
          auto const left = model_.times.on(v, c) + model_.tail_of(v, c);
          auto& least = model_.device[c] ? in : out;
          least = std::min(least, left);
          if (model_.device[c]) {
            produced = std::min(produced, model_.head_of(v, c) + model_.times.on(v, c));
          }
        }
      }
    }
    model_.devices = transfers_.devices();
    model_.lanes = transfers_.lanes();
    for (auto& lane : model_.lanes) {
      auto const used = [](std::vector<double> const& bytes) {
        return std::any_of(bytes.begin(), bytes.end(), [](double byte) { return byte > 0; });
      };
      lane.idle = !used(lane.out)  ? in
                  : !used(lane.in) ? std::min(bound_, out + produced)
                                   : std::min(in, out); // transfers into devices may begin at once
    }
  }

  struct Lagged {
    BoundArc arc;
    Duration enter; // of the datum, from anywhere
  };

  TransferTimes const transfers_;
  BoundModel model_;
  Duration bound_;
  std::vector<Duration> inputs_; // until those from the beginning are on a device, at least
  std::vector<Lagged> lagged_;
};

} // namespace hetsched::detail
