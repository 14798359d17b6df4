// SPDX-License-Identifier: MIT
#pragma once
// The traces of the ranks of one run, made one trace by one clock.

#include <hetsched/core/error.hpp>
#include <hetsched/core/explanation.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/trace/analysis/message_sources.hpp>
#include <hetsched/detail/trace/analysis/rank_clock.hpp>
#include <hetsched/detail/trace/sort_rows.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// Makes one trace of those of the ranks 0, 1, ...
class RanksMerger {
public:
  explicit RanksMerger(std::span<Trace const> ranks) : ranks_(ranks), parts_(ranks.size()) {}

  [[nodiscard]] Trace merge() {
    set_clocks();
    describe();
    MessageSources const sources(ranks_);
    number_tasks(sources);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      add_rows(r);
    }
    add_messages(sources);
    add_edges(sources);
    sort_rows(all_);
    std::sort(all_.messages.begin(), all_.messages.end(), [](auto const& a, auto const& b) {
      return std::tie(a.begin, a.datum, a.end) < std::tie(b.begin, b.datum, b.end);
    });
    return std::move(all_);
  }

private:
  /// A rank's.
  struct Part {
    RankClock clock;
    std::int32_t first_worker = 0;
    std::int32_t first_node = 0;
    std::uint32_t first_datum = 0;
    std::vector<std::uint32_t> types;   // in the whole, by number here
    std::vector<std::uint32_t> labels;  //
    std::vector<std::uint32_t> numbers; // of its tasks
  };

  /// All moments come to be 0 or later.
  void set_clocks() {
    std::int64_t first = 0;
    Duration error;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      parts_[r].clock = RankClock(ranks_[r].clocks);
      first = std::min(first, parts_[r].clock.unshifted({}));
      error = std::max(error, parts_[r].clock.error());
    }
    for (auto& part : parts_) {
      part.clock.shift({-first});
    }
    all_.about.emplace_back("ranks", std::to_string(ranks_.size()));
    if (error.ns != 0) {
      all_.about.emplace_back("clocks agree to", to_text(error));
    }
  }

  using Numbers = std::unordered_map<std::string, std::uint32_t>;

  /// Of what has that name in the whole, to which `what` is added if it is new there.
  template <class What>
  [[nodiscard]] static std::uint32_t
  number_of(std::string const& name, What const& what, Numbers& numbers, std::vector<What>& whole) {
    auto const [known, fresh] = numbers.try_emplace(name, static_cast<std::uint32_t>(whole.size()));
    if (fresh) {
      whole.push_back(what);
    }
    return known->second;
  }

  void describe() {
    all_.simulated = ranks_.front().simulated;
    all_.scheduler = ranks_.front().scheduler;
    Numbers types;
    Numbers labels{{std::string(), 0}};
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto const& rank = ranks_[r];
      auto& part = parts_[r];
      auto const name = "rank " + std::to_string(r) + " ";
      part.first_worker = static_cast<std::int32_t>(all_.workers.size());
      part.first_node = static_cast<std::int32_t>(all_.nodes.size());
      part.first_datum = static_cast<std::uint32_t>(all_.data.size());
      for (auto const& worker : rank.workers) {
        auto& own = all_.workers.emplace_back(worker);
        own.name = name + worker.name;
        own.node.value += part.first_node;
      }
      for (auto const& node : rank.nodes) {
        all_.nodes.push_back({name + node.name, node.bytes});
      }
      for (auto const& type : rank.types) {
        part.types.push_back(number_of(type.name, type, types, all_.types));
      }
      for (auto const& label : rank.labels) {
        part.labels.push_back(number_of(label, label, labels, all_.labels));
      }
      for (auto const& fact : rank.about) {
        if (std::none_of(all_.about.begin(), all_.about.end(), [&](auto const& known) {
              return known.first == fact.first;
            })) {
          all_.about.push_back(fact);
        }
      }
      all_.data.insert(all_.data.end(), rank.data.begin(), rank.data.end());
      all_.dropped += rank.dropped;
      all_.ranks.push_back({static_cast<std::uint32_t>(rank.workers.size()),
                            static_cast<std::uint32_t>(rank.nodes.size())});
    }
  }

  /// By the times of their spawns, as far as each comes behind the tasks of its rank before it and
  /// those of other ranks that it waits for.
  void number_tasks(MessageSources const& sources) {
    using Head = std::tuple<Instant, std::size_t, std::uint32_t>; // spawned, rank, task
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    std::vector<std::vector<std::uint32_t>> missing(ranks_.size()); // tasks that each waits for
    std::vector<std::vector<std::vector<RankTask>>> waiting(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      missing[r].assign(ranks_[r].tasks.size(), 0);
      waiting[r].resize(ranks_[r].tasks.size());
    }
    sources.for_each_edge([&](RankTask from, RankTask to) {
      ++missing[to.rank][to.task];
      waiting[from.rank][from.task].push_back(to);
    });
    std::vector<std::uint32_t> next(ranks_.size(), 0);
    auto const offer = [&](std::size_t r) {
      if (next[r] < ranks_[r].tasks.size() && missing[r][next[r]] == 0) {
        heads.emplace(parts_[r].clock.at(ranks_[r].tasks[next[r]].spawned), r, next[r]);
      }
    };
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      parts_[r].numbers.resize(ranks_[r].tasks.size());
      offer(r);
    }
    for (; !heads.empty();) {
      auto const [at, r, v] = heads.top();
      heads.pop();
      parts_[r].numbers[v] = static_cast<std::uint32_t>(order_.size());
      order_.push_back({static_cast<std::uint32_t>(r), v});
      ++next[r];
      offer(r);
      for (auto const& other : waiting[r][v]) {
        if (--missing[other.rank][other.task] == 0 && next[other.rank] == other.task &&
            other.rank != r) {
          offer(other.rank);
        }
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (next[r] != ranks_[r].tasks.size()) {
        throw Error(ErrorCode::bad_input,
                    text("rank %zu", r),
                    "is not of the same run as the others: its messages make a circle");
      }
    }
  }

  void add_rows(std::size_t r) {
    auto const& rank = ranks_[r];
    auto const& part = parts_[r];
    auto const at = [&](Instant moment) { return part.clock.at(moment); };
    auto const number = [&](std::uint32_t v) { return v == Trace::none ? v : part.numbers[v]; };
    auto const worker = [&](WorkerId id) {
      return id ? WorkerId{id.value + part.first_worker} : id;
    };
    auto const node = [&](NodeId id) { return NodeId{id.value + part.first_node}; };
    for (auto row : rank.attempts) {
      all_.attempts.push_back({number(row.task), worker(row.worker), at(row.begin), at(row.end)});
    }
    for (auto row : rank.parts) {
      all_.parts.push_back({number(row.task), worker(row.worker), at(row.begin), at(row.end)});
    }
    for (auto row : rank.waits) {
      all_.waits.push_back({number(row.task), worker(row.worker), at(row.begin), at(row.end)});
    }
    for (auto row : rank.syncs) {
      all_.syncs.push_back({worker(row.worker), at(row.begin), at(row.end)});
    }
    for (auto row : rank.transfers) {
      all_.transfers.push_back({row.datum + part.first_datum,
                                row.bytes,
                                node(row.from),
                                node(row.to),
                                at(row.begin),
                                at(row.end)});
    }
    for (auto row : rank.evictions) {
      all_.evictions.push_back(
          {row.datum + part.first_datum, node(row.node), at(row.at), row.dirty});
    }
    for (auto row : rank.steals) {
      all_.steals.push_back({number(row.task), worker(row.thief), at(row.at)});
    }
    for (auto const& edge : rank.edges) {
      all_.edges.push_back({number(edge.from), number(edge.to)});
    }
    if (r + 1 == ranks_.size()) {
      add_tasks();
    }
  }

  void add_tasks() {
    for (auto const& [r, v] : order_) {
      auto const& part = parts_[r];
      auto task = ranks_[r].tasks[v];
      task.type = part.types[task.type];
      task.label = part.labels[task.label];
      if (task.parent != Trace::none) {
        task.parent = part.numbers[task.parent];
      }
      if (task.worker) {
        task.worker.value += part.first_worker;
      }
      for (auto* const moment : {&task.spawned,
                                 &task.ready,
                                 &task.asked,
                                 &task.taken,
                                 &task.admitted,
                                 &task.begin,
                                 &task.end}) {
        *moment = part.clock.at(*moment);
      }
      task.accesses = all_.accesses.size();
      for (auto const& access : ranks_[r].accesses_of(v)) {
        all_.accesses.push_back({access.datum + part.first_datum, access.mode});
      }
      all_.tasks.push_back(task);
    }
  }

  /// Each once, with what both ends know of it, also as a transfer between the nodes of hosts.
  void add_messages(MessageSources const& sources) {
    sources.for_each_message([&](Trace::Message const& sent, Trace::Message const& received) {
      auto const& from = parts_[sent.from];
      auto const& to = parts_[received.to];
      Trace::Message message = received;
      message.tasks = 0;
      message.datum += to.first_datum;
      message.end = to.clock.at(received.end);
      message.begin = from.clock.at(sent.begin);
      message.asked = to.clock.at(received.asked);
      if (message.end == Trace::never || message.begin == Trace::never) {
        return; // the run ended before
      }
      message.begin = std::min(message.begin, message.end); // by two clocks
      message.asked = std::min(message.asked, message.begin);
      all_.transfers.push_back({message.datum,
                                all_.data[message.datum].bytes,
                                NodeId{from.first_node},
                                NodeId{to.first_node},
                                message.begin,
                                message.end});
      all_.messages.push_back(message);
    });
  }

  /// A task that waits for a message waits for the tasks that made it.
  void add_edges(MessageSources const& sources) {
    sources.for_each_edge([&](RankTask from, RankTask to) {
      all_.edges.push_back(
          {parts_[from.rank].numbers[from.task], parts_[to.rank].numbers[to.task]});
    });
    auto const key = [](Trace::Edge const& edge) { return std::pair(edge.to, edge.from); };
    std::sort(all_.edges.begin(), all_.edges.end(), [&](auto const& a, auto const& b) {
      return key(a) < key(b);
    });
    all_.edges.erase(std::unique(all_.edges.begin(),
                                 all_.edges.end(),
                                 [&](auto const& a, auto const& b) { return key(a) == key(b); }),
                     all_.edges.end());
    sources.for_each_arrival([&](RankTask to, Trace::Message const& received) {
      auto& task = all_.tasks[parts_[to.rank].numbers[to.task]];
      if (received.end != Trace::never && task.ready != Trace::never) {
        auto const there = parts_[to.rank].clock.at(received.end);
        task.ready =
            std::max(task.ready, task.begin != Trace::never ? std::min(there, task.begin) : there);
      }
    });
  }

  std::span<Trace const> const ranks_;
  std::vector<Part> parts_;
  std::vector<RankTask> order_; // the tasks by number
  Trace all_;
};

} // namespace detail

/// The rank that a trace is of, or none: it is not of one among several.
[[nodiscard]] inline std::uint32_t rank_of(Trace const& trace) noexcept {
  auto found = Trace::none;
  for (std::uint32_t r = 0; r < trace.ranks.size(); ++r) {
    if (trace.ranks[r].workers != 0) {
      if (found != Trace::none) {
        return Trace::none; // of all
      }
      found = r;
    }
  }
  return trace.ranks.size() > 1 ? found : Trace::none;
}

/// One trace of those of all ranks of a run, in any order. Its times are by one clock
/// (Trace::Clock), its workers and nodes are called after their ranks, and a task that waits for a
/// message has edges from the tasks that made the value. Data are those of the ranks: a copy on
/// another rank is a datum of its own. Each message is in `messages`, with the moments of both
/// ends, and a transfer between the host memories of its ranks. O(n log n). Throws
/// Error(bad_input): a rank is missing, there twice, or of another run.
[[nodiscard]] inline Trace merge_ranks(std::vector<Trace> traces) {
  auto const refuse = [](std::size_t rank, char const* why) {
    throw Error(ErrorCode::bad_input, detail::text("rank %zu", rank), why);
  };
  auto const ranks = traces.empty() ? std::size_t{0} : traces.front().ranks.size();
  std::vector<Trace> ordered(ranks);
  std::vector<bool> there(ranks, false);
  for (auto& trace : traces) {
    auto const rank = rank_of(trace);
    if (rank == Trace::none) {
      throw Error(ErrorCode::bad_input, "merge_ranks", "a trace is not of one rank of several");
    }
    if (trace.ranks.size() != ranks) {
      refuse(rank, "is of a run with another number of ranks than the others");
    }
    if (there[rank]) {
      refuse(rank, "is there twice");
    }
    there[rank] = true;
    ordered[rank] = std::move(trace);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!there[r]) {
      refuse(r, "has no trace here");
    }
  }
  if (ranks == 0) {
    throw Error(ErrorCode::bad_input, "merge_ranks", "is given no trace");
  }
  return detail::RanksMerger(ordered).merge();
}

} // namespace hetsched
