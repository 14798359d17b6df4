// SPDX-License-Identifier: MIT
#pragma once
// From recorded events to a Trace.

#include <hetsched/detail/recorded_events.hpp>
#include <hetsched/task_graph.hpp>
#include <hetsched/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Makes a Trace of what was recorded from a moment on. Tasks are named by ids there, which recur
/// after some ten thousand spawns: of those with an event's id, it is of the last that was spawned
/// by then.
class TraceBuilder {
public:
  TraceBuilder(RecordedEvents const& events, std::int64_t since) : events_(events), since_(since) {}

  [[nodiscard]] Trace build() {
    for (auto const& name : events_.names()) {
      trace_.types.push_back({name, {}});
    }
    trace_.dropped = events_.dropped();
    add_tasks();
    for (std::size_t lane = 0; lane < events_.lanes(); ++lane) {
      events_.each(lane, [&](RecordedEvents::Event const& event) { add(event); });
    }
    add_edges();
    auto edge = trace_.edges.begin();
    for (std::uint32_t v = 0; v < trace_.tasks.size(); ++v) {
      auto ready = trace_.tasks[v].spawned;
      for (; edge != trace_.edges.end() && edge->to == v; ++edge) {
        ready = std::max(ready, trace_.tasks[edge->from].end);
      }
      put_in_order(v, ready);
    }
    auto const sort = [](auto& all, auto const& key) {
      std::sort(
          all.begin(), all.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
    };
    sort(trace_.attempts, [](auto const& its) { return std::tie(its.begin, its.task); });
    sort(trace_.transfers,
         [](auto const& its) { return std::tie(its.begin, its.datum, its.to, its.end); });
    sort(trace_.evictions, [](auto const& its) { return std::tie(its.at, its.datum, its.node); });
    sort(trace_.steals, [](auto const& its) { return std::tie(its.at, its.task); });
    return std::move(trace_);
  }

private:
  using Word = RecordedEvents::Word;
  using Event = RecordedEvents::Event;

  struct Spawn {
    std::int64_t at;
    std::size_t lane;
    std::size_t turn; // in the lane
    Word const* words;
  };

  static std::int64_t number(Word word) noexcept { return static_cast<std::int64_t>(word); }

  /// Numbers them by the time of their spawns: the program's order where one thread spawns. The
  /// merge of a reduction comes before the task that asked for it, whose spawn was noted already.
  void add_tasks() {
    std::vector<Spawn> spawns;
    for (std::size_t lane = 0; lane < events_.lanes(); ++lane) {
      Spawn latest{-1, lane, 0, nullptr}; // in the lane, of the program's own
      events_.each(lane, [&](Event const& event) {
        if (event.kind != EventKind::spawned || number(event.words[1]) < since_) {
          return;
        }
        auto const* const words = event.words.data();
        Spawn const its{number(words[1]), lane, 2 * spawns.size() + 1, words};
        if (!is_merge(words)) {
          spawns.push_back(latest = its);
        } else if (latest.words != nullptr && accesses(latest.words, accesses_in(words)[0])) {
          spawns.push_back({latest.at, lane, latest.turn - 1, words});
        } else {
          spawns.push_back(its);
        }
      });
    }
    std::sort(spawns.begin(), spawns.end(), [](Spawn const& a, Spawn const& b) {
      return std::tie(a.at, a.lane, a.turn) < std::tie(b.at, b.lane, b.turn);
    });
    for (auto const& spawn : spawns) {
      add_task(spawn.words);
    }
    takers_.resize(trace_.tasks.size());
  }

  // ---- the words of a spawn ----

  [[nodiscard]] bool is_merge(Word const* words) const {
    return trace_.types[static_cast<std::uint32_t>(words[3])].name == "hetsched merge";
  }

  [[nodiscard]] static std::size_t label_bytes_in(Word const* words) noexcept {
    return static_cast<std::size_t>(words[4] >> 32U);
  }

  /// Pairs: a datum's key, its bytes and the mode.
  [[nodiscard]] static std::span<Word const> accesses_in(Word const* words) noexcept {
    auto const label_words = (label_bytes_in(words) + sizeof(Word) - 1) / sizeof(Word);
    return {words + 6 + label_words, 2 * static_cast<std::size_t>(words[5])};
  }

  [[nodiscard]] static bool accesses(Word const* words, Word datum) noexcept {
    auto const all = accesses_in(words);
    for (std::size_t k = 0; k < all.size(); k += 2) {
      if (all[k] == datum) {
        return true;
      }
    }
    return false;
  }

  void add_task(Word const* words) {
    auto const self = static_cast<std::uint32_t>(trace_.tasks.size());
    auto& task = trace_.tasks.emplace_back();
    task.spawned = {number(words[1])};
    task.parent = words[2] == 0 ? Trace::none : find(words[2], task.spawned.ns);
    task.type = static_cast<std::uint32_t>(words[3]);
    task.archs = {static_cast<std::uint8_t>(words[3] >> 32U)};
    task.priority = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[4]));
    if (auto const label_bytes = label_bytes_in(words); label_bytes != 0) {
      std::string label(reinterpret_cast<char const*>(words + 6), label_bytes);
      auto const next = static_cast<std::uint32_t>(trace_.labels.size());
      auto const [known, fresh] = labels_.try_emplace(std::move(label), next);
      if (fresh) {
        trace_.labels.push_back(known->first);
      }
      task.label = known->second;
    }
    task.accesses = trace_.accesses.size();
    auto const all = accesses_in(words);
    for (std::size_t k = 0; k < all.size(); k += 2) {
      auto const datum = datum_of(all[k], all[k + 1] >> 8U);
      trace_.accesses.push_back({datum, static_cast<AccessMode>(all[k + 1] & 0xffU)});
    }
    auto const [known, fresh] = latest_.try_emplace(words[0], self);
    before_.push_back(fresh ? Trace::none : std::exchange(known->second, self));
  }

  /// The last task of that id that was spawned at or before a time; none: it is not known.
  [[nodiscard]] std::uint32_t find(Word id, std::int64_t at) const {
    auto const known = latest_.find(id);
    auto task = known == latest_.end() ? Trace::none : known->second;
    while (task != Trace::none && trace_.tasks[task].spawned.ns > at) {
      task = before_[task];
    }
    return task;
  }

  [[nodiscard]] std::uint32_t datum_of(Word key, std::uint64_t bytes) {
    auto const next = static_cast<std::uint32_t>(trace_.data.size());
    auto const [known, fresh] = data_.try_emplace(key, next);
    if (fresh) {
      trace_.data.push_back({bytes});
    }
    return known->second;
  }

  void add(Event const& event) {
    auto const& words = event.words;
    if (event.kind == EventKind::spawned || number(words[1]) < since_) {
      return;
    }
    if (event.kind == EventKind::moved) {
      trace_.transfers.push_back({datum_of(words[0], words[4]),
                                  words[4],
                                  NodeId{static_cast<std::int32_t>(words[3] >> 32U)},
                                  NodeId{static_cast<std::int32_t>(words[3])},
                                  {number(words[1])},
                                  {number(words[2])}});
      return;
    }
    if (event.kind == EventKind::evicted) {
      trace_.evictions.push_back({datum_of(words[0], words[4]),
                                  NodeId{static_cast<std::int32_t>(words[2])},
                                  {number(words[1])},
                                  words[3] != 0});
      return;
    }
    auto const task = find(words[0], number(words[1]));
    if (task == Trace::none) { // spawned before recording began, or when there was no memory
      trace_.dropped += trace_.dropped != 0 ? 1 : 0;
      return;
    }
    add(event, task);
  }

  /// Of what comes more than once for a task that is run again, the last counts; events of several
  /// lanes come in no order.
  void add(Event const& event, std::uint32_t number_of_task) {
    auto const& words = event.words;
    auto& task = trace_.tasks[number_of_task];
    auto const time = [&](std::size_t k) { return Instant{number(words[k])}; };
    switch (event.kind) {
    case EventKind::ready:
      task.ready = std::max(task.ready, time(1));
      break;
    case EventKind::stolen:
      trace_.steals.push_back({number_of_task, event.on, time(2)});
      [[fallthrough]];
    case EventKind::taken:
      if (time(2) > task.taken) {
        task.asked = time(1);
        task.taken = time(2);
        takers_[number_of_task] = event.on;
      }
      break;
    case EventKind::admitted:
      task.admitted = std::max(task.admitted, time(1));
      break;
    case EventKind::ran:
      if (time(2) >= task.end) {
        task.worker = event.on;
        task.begin = time(1);
        task.end = time(2);
        task.outcome = static_cast<Trace::Outcome>(words[3]);
      }
      break;
    case EventKind::aborted:
      trace_.attempts.push_back({number_of_task, event.on, time(1), time(2)});
      break;
    default:
      break;
    }
  }

  /// Moments by clocks of different threads and devices, as Trace::Task has them. `ready`: when
  /// what it depends on had ended; a scheduler may have had it before.
  void put_in_order(std::uint32_t number_of_task, Instant ready) {
    auto& task = trace_.tasks[number_of_task];
    if (task.end == Trace::never) {
      return;
    }
    auto const taker = takers_[number_of_task];
    task.ready = std::max(task.ready, ready);
    if (taker != task.worker) { // begun anew elsewhere
      task.asked = task.taken = task.admitted = task.begin;
    }
    task.begin = std::max(task.begin, task.ready);
    task.taken = std::min(task.taken, task.begin);
    task.asked = std::min(task.asked, task.taken);
    if (task.taken >= task.ready) {
      task.asked = std::max(task.asked, task.ready);
    }
    task.admitted = std::clamp(task.admitted, task.taken, task.begin);
    task.end = std::max(task.end, task.begin);
  }

  /// By the accesses of each task's children, in the order of their spawns.
  void add_edges() {
    std::unordered_map<Word, std::uint32_t> data; // of a parent's number and a datum's
    std::vector<TaskGraph::Node> nodes(trace_.tasks.size());
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      for (auto const& access : trace_.accesses_of(v)) {
        auto const next = static_cast<std::uint32_t>(data.size());
        auto const its =
            data.try_emplace(Word{trace_.tasks[v].parent} << 32U | access.datum, next).first;
        nodes[v].accesses.push_back({its->second, access.mode, nullptr});
      }
    }
    TaskGraph const graph(std::move(nodes), std::vector<std::size_t>(data.size()));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges; // to, from
    for (std::uint32_t v = 0; v < graph.size(); ++v) {
      for (auto const next : graph.successors(v)) {
        edges.emplace_back(next, v);
      }
    }
    std::sort(edges.begin(), edges.end());
    trace_.edges.reserve(edges.size());
    for (auto const& [to, from] : edges) {
      trace_.edges.push_back({from, to});
    }
  }

  RecordedEvents const& events_;
  std::int64_t const since_;
  Trace trace_;
  std::unordered_map<Word, std::uint32_t> latest_; // task of an id
  std::vector<std::uint32_t> before_;              // the task before each with its id
  std::unordered_map<Word, std::uint32_t> data_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<WorkerId> takers_; // of each task
};

} // namespace hetsched::detail
