// SPDX-License-Identifier: MIT
#pragma once
// Makes a Trace of recorded events.

#include <hetsched/detail/recording/recorded_events.hpp>
#include <hetsched/detail/recording/spawn_event.hpp>
#include <hetsched/detail/recording/spawned_by_id.hpp>
#include <hetsched/detail/recording/trace_edges.hpp>
#include <hetsched/detail/trace/sort_rows.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Makes a Trace of the events recorded from a moment on. An event belongs to the last task
/// with its id that was spawned before the event.
class TraceBuilder {
public:
  TraceBuilder(RecordedEvents const& events, std::int64_t since) : events_(events), since_(since) {}

  [[nodiscard]] Trace build(bool simulated) {
    trace_.simulated = simulated;
    for (auto const& name : events_.names()) {
      trace_.types.push_back({name, {}});
    }
    trace_.dropped = events_.dropped();
    add_tasks();
    for (std::size_t lane = 0; lane < events_.lanes(); ++lane) {
      events_.each(lane, [&](RecordedEvents::Event const& event) { add(event); });
    }
    TraceEdges(trace_, divisions_).add();
    auto edge = trace_.edges.begin();
    for (std::uint32_t v = 0; v < trace_.tasks.size(); ++v) {
      auto ready = trace_.tasks[v].spawned;
      for (; edge != trace_.edges.end() && edge->to == v; ++edge) {
        ready = std::max(ready, trace_.tasks[edge->from].end);
      }
      put_in_order(v, ready);
    }
    sort_rows(trace_);
    if (!simulated) {
      add_last_sync();
    }
    return std::move(trace_);
  }

private:
  using Word = RecordedEvents::Word;
  using Event = RecordedEvents::Event;

  struct Spawn {
    std::int64_t at;
    std::size_t lane;
    std::size_t turn; // in the lane
    Event event;      // may divide a region instead
  };

  static std::int64_t number(Word word) noexcept { return static_cast<std::int64_t>(word); }

  /// Numbers the tasks by the times of their spawns. If one thread spawns, this is program order.
  /// The merge of a reduction comes before the task that asked for it, although the spawn of that
  /// task was recorded earlier.
  void add_tasks() {
    std::vector<Spawn> spawns;
    for (std::size_t lane = 0; lane < events_.lanes(); ++lane) {
      std::optional<Spawn> latest; // in the lane, of the program's own
      events_.each(lane, [&](Event const& event) {
        bool const spawns_task = event.kind == EventKind::spawned;
        if ((!spawns_task && event.kind != EventKind::divided &&
             event.kind != EventKind::message) ||
            number(event.words[1]) < since_) {
          return;
        }
        Spawn noted{number(event.words[1]), lane, 2 * spawns.size() + 1, event};
        SpawnEvent const spawn(event);
        if (spawns_task && trace_.types[spawn.type()].name != merge_task_name) {
          latest = noted;
        } else if (spawns_task && latest && !spawn.accesses().empty() &&
                   SpawnEvent(latest->event).accesses(spawn.accesses()[0])) {
          noted.at = latest->at;
          noted.turn = latest->turn - 1;
        }
        spawns.push_back(noted);
      });
    }
    std::sort(spawns.begin(), spawns.end(), [](Spawn const& a, Spawn const& b) {
      return std::tie(a.at, a.lane, a.turn) < std::tie(b.at, b.lane, b.turn);
    });
    for (auto const& spawn : spawns) {
      if (spawn.event.kind == EventKind::divided) {
        add_division(spawn.event);
      } else if (spawn.event.kind == EventKind::message) {
        add_message(spawn.event);
      } else {
        add_task(SpawnEvent(spawn.event));
      }
    }
    takers_.resize(trace_.tasks.size());
  }

  void add_task(SpawnEvent const& spawn) {
    auto& task = trace_.tasks.emplace_back();
    task.spawned = {spawn.at()};
    task.parent = spawn.parent() == 0 ? Trace::none : ids_.find(spawn.parent(), spawn.at());
    task.type = spawn.type();
    task.archs = spawn.archs();
    task.priority = spawn.priority();
    if (!spawn.label().empty()) {
      auto const next = static_cast<std::uint32_t>(trace_.labels.size());
      auto const [known, fresh] = labels_.try_emplace(std::string(spawn.label()), next);
      if (fresh) {
        trace_.labels.push_back(known->first);
      }
      task.label = known->second;
    }
    task.accesses = trace_.accesses.size();
    auto const all = spawn.accesses();
    for (std::size_t k = 0; k < all.size(); k += 2) {
      auto const datum = datum_of(all[k], all[k + 1] >> 8U);
      trace_.accesses.push_back({datum, static_cast<AccessMode>(all[k + 1] & 0xffU)});
    }
    ids_.add(spawn.task(), spawn.at());
  }

  void add_message(Event const& event) {
    auto const& words = event.words;
    auto& message = trace_.messages.emplace_back();
    message.datum = datum_of(words[2], words[3]);
    message.number = words[4];
    message.from = static_cast<std::uint32_t>(words[5] >> 32U);
    message.to = static_cast<std::uint32_t>(words[5]);
    message.tasks = static_cast<std::uint32_t>(trace_.tasks.size());
    messages_.add(words[0], number(words[1]));
  }

  void add_division(Event const& event) {
    auto const& words = event.words;
    auto const self = static_cast<std::uint32_t>(divisions_.size());
    auto const parent = words[0] == 0 ? Trace::none : ids_.find(words[0], number(words[1]));
    std::vector<std::uint32_t> data;
    for (std::size_t k = 2; k < words.size(); k += 2) {
      data.push_back(datum_of(words[k], words[k + 1]));
    }
    auto const known = opened_.try_emplace(TraceEdges::among(parent, data[0]), Trace::none).first;
    auto const opened = std::exchange(known->second, event.detail == 0 ? self : Trace::none);
    divisions_.push_back({static_cast<std::uint32_t>(trace_.tasks.size()),
                          parent,
                          event.detail == 0 ? Trace::none : opened,
                          std::move(data),
                          {}});
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
    if (event.kind == EventKind::seated) {
      add_seated(event.detail != 0, {number(words[0])});
      return;
    }
    if (event.kind == EventKind::of_rank) {
      trace_.ranks.resize(words[1] & UINT32_MAX);
      trace_.ranks[words[1] >> 32U] = {1, 1}; // workers and nodes follow
      return;
    }
    if (event.kind == EventKind::clocks) {
      trace_.clocks.push_back({{number(words[0])}, {number(words[1])}, {number(words[2])}});
      return;
    }
    if (event.kind == EventKind::spawned || event.kind == EventKind::divided ||
        event.kind == EventKind::message || number(words[1]) < since_) {
      return;
    }
    if (event.kind == EventKind::passed) {
      if (auto const k = messages_.find(words[0], number(words[1])); k != Trace::none) {
        auto& message = trace_.messages[k];
        message.asked = {number(words[1])};
        message.begin = {number(words[2])};
        message.end = {number(words[3])};
      }
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
    auto const task = ids_.find(words[0], number(words[1]));
    if (task == Trace::none) { // spawned before recording began, or when there was no memory
      trace_.dropped += trace_.dropped != 0 ? 1 : 0;
      return;
    }
    add(event, task);
  }

  /// A task that runs again has several events of a kind: the last one counts. Events of several
  /// lanes come in no order.
  void add(Event const& event, std::uint32_t number_of_task) {
    auto const& words = event.words;
    auto& task = trace_.tasks[number_of_task];
    auto const time = [&](std::size_t k) { return Instant{number(words[k])}; };
    switch (event.kind) {
    case EventKind::ready:
      task.ready = std::max(task.ready, time(1));
      break;
    case EventKind::taken:
      add_taken(number_of_task, event.on, time(1), time(2), event.detail != 0);
      break;
    case EventKind::admitted:
      task.admitted = std::max(task.admitted, time(1));
      break;
    case EventKind::ran:
    case EventKind::left:
      if (words.size() > 3) {
        add_taken(number_of_task,
                  event.on,
                  time(3),
                  time(words.size() > 4 ? 4 : 1),
                  (event.detail & RecordedEvents::stole) != 0);
      }
      if (event.kind == EventKind::left) {
        trace_.parts.push_back({number_of_task, event.on, time(1), time(2)});
        task.ready = std::max(task.ready, time(2));
      } else if (time(2) >= task.end) {
        task.worker = event.on;
        task.begin = time(1);
        task.end = time(2);
        task.outcome = static_cast<Trace::Outcome>(event.detail & ~RecordedEvents::stole);
      }
      break;
    case EventKind::waited:
      trace_.waits.push_back({number_of_task, event.on, time(1), time(2)});
      break;
    case EventKind::aborted:
      trace_.attempts.push_back({number_of_task, event.on, time(1), time(2)});
      break;
    default:
      break;
    }
  }

  /// A thread may wait still. If none ever did, a row without length says so.
  void add_last_sync() {
    if (sitting_ > 0 || trace_.syncs.empty()) {
      auto const [begin, end] = span_of(trace_);
      auto const from = sitting_ > 0 ? sat_down_ : begin;
      trace_.syncs.push_back({WorkerId{0}, from, sitting_ > 0 ? std::max(from, end) : from});
    }
  }

  /// Threads may wait in each other's way: the last to get up leaves nobody.
  void add_seated(bool sits, Instant at) {
    if (sits && sitting_++ == 0) {
      sat_down_ = at;
    } else if (!sits && sitting_ > 0 && --sitting_ == 0 && at.ns >= since_) {
      trace_.syncs.push_back({WorkerId{0}, {std::max(sat_down_.ns, since_)}, at});
    }
  }

  void
  add_taken(std::uint32_t number_of_task, WorkerId by, Instant asked, Instant taken, bool stolen) {
    auto& task = trace_.tasks[number_of_task];
    if (stolen) {
      trace_.steals.push_back({number_of_task, by, taken});
    }
    if (taken > task.taken) {
      task.asked = asked;
      task.taken = taken;
      takers_[number_of_task] = by;
    }
  }

  /// Puts a task's times, which are by clocks of different threads and devices, in the order of
  /// Trace::Task. `ready`: when its predecessors had ended. The scheduler may have had the task
  /// earlier.
  void put_in_order(std::uint32_t number_of_task, Instant ready) {
    auto& task = trace_.tasks[number_of_task];
    if (task.end == Trace::never) {
      return;
    }
    auto const taker = takers_[number_of_task];
    task.ready = std::max(task.ready, ready);
    if (taker != task.worker) { // it began anew on another worker
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

  RecordedEvents const& events_;
  std::int64_t const since_;
  Trace trace_;
  SpawnedById ids_;      // of the trace's tasks
  SpawnedById messages_; // the same of those that carry messages
  std::unordered_map<Word, std::uint32_t> data_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<WorkerId> takers_;                   // of each task
  int sitting_ = 0;                                // threads in worker 0
  Instant sat_down_;                               // the first of them
  std::vector<TraceDivision> divisions_;           // in the order of the tasks
  std::unordered_map<Word, std::uint32_t> opened_; // divisions, of a parent's number and a datum's
};

} // namespace hetsched::detail
