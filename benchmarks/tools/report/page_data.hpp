// SPDX-License-Identifier: MIT
#pragma once
// What a report's page shows, as JSON: the page draws and formats, everything else is done here.

#include <hetsched/detail/trace/analysis/time_pieces.hpp>
#include <hetsched/trace/analysis/merge_ranks.hpp>
#include <hetsched/trace/analysis/rank_report.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/analysis/trace_series.hpp>
#include <hetsched/trace/analysis/trace_times.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>
#include <hetsched/trace/trace.hpp>

#include "rank_data.hpp"
#include "task_choice.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;
using nlohmann::ordered_json;

/// How much of a page one trace may take, by the number of tasks that it may have one by one.
struct PageShare {
  std::size_t tasks;       // with more, times are summed up in bins; half as many are kept
  std::size_t transfers;   // with more, the same
  std::size_t pieces;      // of idle time; with more, none is in the page
  std::size_t cells;       // bins, of all workers together
  std::size_t label_bytes; // of the tasks that are kept

  explicit PageShare(std::size_t its_tasks)
      : tasks(its_tasks), transfers(its_tasks / 2), pieces(its_tasks * 3 / 2),
        cells(its_tasks * 5 / 2), label_bytes(its_tasks * 30) {}
};

/// One trace's part of a page. Times are nanoseconds from the run's begin, in columns; those of
/// tasks before their begin are lengths of time until it, -1 where they are not known.
class PageData {
public:
  PageData(hs::Trace const& trace, PageShare share)
      : trace_(trace), share_(share), span_(hs::span_of(trace)),
        path_(hs::run_critical_path(trace)), spreads_(hs::time_spreads(trace)) {}

  [[nodiscard]] ordered_json json(std::string const& name, std::string const& file) {
    ordered_json run;
    run["name"] = name;
    run["file"] = file;
    run["scheduler"] = trace_.scheduler;
    run["simulated"] = trace_.simulated;
    run["about"] = ordered_json::array();
    for (auto const& [key, value] : trace_.about) {
      run["about"].push_back({key, value});
    }
    run["dropped"] = trace_.dropped;
    run["makespan"] = length();
    add_bounds(run);
    add_machine(run);
    add_counts(run);
    add_idle(run);
    add_tasks(run);
    add_path(run);
    add_transfers(run);
    add_times(run);
    add_label_times(run);
    add_series(run);
    return run;
  }

private:
  [[nodiscard]] std::int64_t length() const { return (span_.second - span_.first).ns; }

  [[nodiscard]] std::int64_t since_begin(hs::Instant at) const { return (at - span_.first).ns; }

  void add_bounds(ordered_json& run) const {
    run["bounds"] = ordered_json::array();
    for (auto const& [name, time] : hs::bounds_of(trace_, spreads_)) {
      run["bounds"].push_back({name, time.ns});
    }
    run["bounds_known"] = !trace_.bounds.empty(); // else they follow from this run's times
  }

  void add_machine(ordered_json& run) const {
    run["workers"] = ordered_json::array();
    for (auto const& worker : trace_.workers) {
      run["workers"].push_back({{"name", worker.name},
                                {"class", worker.arch.index},
                                {"node", worker.node.value},
                                {"cores", worker.cores}});
    }
    run["nodes"] = ordered_json::array();
    for (auto const& node : trace_.nodes) {
      run["nodes"].push_back({{"name", node.name}, {"bytes", node.bytes}});
    }
    run["types"] = ordered_json::array();
    for (auto const& type : trace_.types) {
      run["types"].push_back(type.name);
    }
  }

  void add_counts(ordered_json& run) const {
    std::array<std::size_t, 4> outcomes{};
    for (auto const& task : trace_.tasks) {
      ++outcomes[static_cast<std::size_t>(task.outcome)];
    }
    run["counts"] = {{"tasks", trace_.tasks.size()},
                     {"done", outcomes[0]},
                     {"failed", outcomes[1]},
                     {"cancelled", outcomes[2]},
                     {"unfinished", outcomes[3]},
                     {"edges", trace_.edges.size()},
                     {"attempts", trace_.attempts.size()},
                     {"parts", trace_.parts.size()},
                     {"transfers", trace_.transfers.size()},
                     {"messages", trace_.messages.size()},
                     {"evictions", trace_.evictions.size()},
                     {"steals", trace_.steals.size()}};
  }

  void add_idle(ordered_json& run) const {
    std::vector<std::array<std::int64_t, 4>> pieces;
    bool const keep = trace_.tasks.size() <= share_.tasks;
    auto const times = hs::attribute_idle_time(
        trace_, [&](hs::WorkerId worker, hs::Instant begin, hs::Instant end, hs::IdleCause cause) {
          if (keep) {
            pieces.push_back({worker.value,
                              since_begin(begin),
                              (end - begin).ns,
                              static_cast<std::int64_t>(cause)});
          }
        });
    hs::Verdict verdict;
    run["ranks"] = ordered_json::array();
    if (trace_.ranks.size() > 1 && hs::rank_of(trace_) == hs::Trace::none) {
      auto const report = hs::report_ranks(trace_);
      run["ranks"] = rank_rows(trace_, report);
      run["chain"] = {report.chain.ns, report.chain_messages.ns};
      verdict = report.verdict;
    } else {
      verdict = hs::verdict_of(trace_, times, path_);
    }
    run["verdict"] = {{"why", hs::to_string(verdict.why)}, {"text", verdict.text}};
    run["causes"] = ordered_json::array();
    for (std::size_t c = 0; c < hs::idle_causes; ++c) {
      run["causes"].push_back(hs::to_string(static_cast<hs::IdleCause>(c)));
    }
    run["workers_time"] = ordered_json::array(); // busy, wasted, idle by cause
    for (auto const& worker : times) {
      ordered_json row{worker.busy.ns, worker.wasted.ns};
      for (auto const part : worker.idle) {
        row.push_back(part.ns);
      }
      run["workers_time"].push_back(std::move(row));
    }
    ordered_json columns{{"worker", ordered_json::array()},
                         {"begin", ordered_json::array()},
                         {"length", ordered_json::array()},
                         {"cause", ordered_json::array()}};
    if (pieces.size() <= share_.pieces) {
      for (auto const& piece : pieces) {
        std::size_t k = 0;
        for (auto& column : columns) {
          column.push_back(piece[k++]);
        }
      }
    }
    run["idle_pieces"] = std::move(columns);
  }

  void add_tasks(ordered_json& run) {
    bool const all = trace_.tasks.size() <= share_.tasks;
    run["whole"] = all;
    kept_ = choose_tasks(trace_, path_, all ? trace_.tasks.size() : share_.tasks / 2);
    LabelTable labels(trace_, kept_, share_.label_bytes);
    std::map<std::string, std::vector<std::int64_t>> columns;
    for (auto const v : kept_) {
      auto const& task = trace_.tasks[v];
      auto const begin = task.begin;
      auto const before = [&](hs::Instant at) {
        return at == hs::Trace::never ? -1 : std::max<std::int64_t>((begin - at).ns, 0);
      };
      columns["number"].push_back(v);
      columns["type"].push_back(task.type);
      columns["label"].push_back(labels.place_of(task.label));
      columns["worker"].push_back(task.worker.value);
      columns["priority"].push_back(task.priority);
      columns["outcome"].push_back(static_cast<std::int64_t>(task.outcome));
      columns["begin"].push_back(since_begin(begin));
      auto const end = task.end != hs::Trace::never ? task.end : std::max(begin, span_.second);
      columns["length"].push_back((end - begin).ns);
      columns["spawned"].push_back(before(task.spawned));
      columns["ready"].push_back(before(task.ready));
      columns["asked"].push_back(before(task.asked));
      columns["taken"].push_back(before(task.taken));
      columns["admitted"].push_back(before(task.admitted));
    }
    run["tasks"] = ordered_json::object();
    for (auto const* const name : {"number",
                                   "type",
                                   "label",
                                   "worker",
                                   "priority",
                                   "outcome",
                                   "begin",
                                   "length",
                                   "spawned",
                                   "ready",
                                   "asked",
                                   "taken",
                                   "admitted"}) {
      run["tasks"][name] = columns[name];
    }
    run["labels"] = labels.texts();
    auto const most = all ? share_.tasks : 0;
    run["attempts"] = executions(trace_.attempts, most);
    run["parts"] = executions(trace_.parts, most);
    if (!all) {
      add_busy_bins(run);
    }
  }

  /// The first rows of what tasks did beside their executions.
  template <class Row>
  [[nodiscard]] ordered_json executions(std::vector<Row> const& rows, std::size_t most) const {
    ordered_json columns = {{"task", ordered_json::array()},
                            {"type", ordered_json::array()},
                            {"worker", ordered_json::array()},
                            {"begin", ordered_json::array()},
                            {"length", ordered_json::array()}};
    for (std::size_t k = 0; k < std::min(rows.size(), most); ++k) {
      auto const& row = rows[k];
      columns["task"].push_back(row.task);
      columns["type"].push_back(trace_.tasks[row.task].type);
      columns["worker"].push_back(row.worker.value);
      columns["begin"].push_back(since_begin(row.begin));
      columns["length"].push_back((row.end - row.begin).ns);
    }
    return columns;
  }

  /// How long each worker ran each type in each bin: triples of bin, type, time; of fewer bins
  /// where these are too many.
  void add_busy_bins(ordered_json& run) const {
    using Cells = std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t>;
    std::vector<Cells> cells;
    std::size_t count = 2 * bins_for(trace_.workers.size());
    std::size_t filled = 0;
    do {
      count = std::max<std::size_t>(count / 2, 1);
      filled = 0;
      hs::TimeBins const bins(trace_, count);
      cells.assign(trace_.workers.size(), {});
      auto const add = [&](auto const& row, std::uint32_t type) {
        bins.cut(row.begin, row.end, [&](std::size_t k, hs::Instant from, hs::Instant to) {
          auto const [cell, is_new] = cells[row.worker.index()].try_emplace({k, type}, 0);
          cell->second += (to - from).ns;
          filled += is_new ? 1 : 0;
        });
      };
      for (auto const& task : trace_.tasks) {
        if (task.worker && task.begin != hs::Trace::never && task.end != hs::Trace::never) {
          add(task, task.type);
        }
      }
      for (auto const& part : trace_.parts) {
        add(part, trace_.tasks[part.task].type);
      }
    } while (filled > 2 * share_.cells && count > 1);
    run["busy_bins"] = {{"count", count}, {"workers", ordered_json::array()}};
    for (auto const& worker : cells) {
      std::vector<std::int64_t> triples;
      for (auto const& [place, time] : worker) {
        triples.insert(triples.end(), {static_cast<std::int64_t>(place.first), place.second, time});
      }
      run["busy_bins"]["workers"].push_back(triples);
    }
  }

  [[nodiscard]] std::size_t bins_for(std::size_t rows) const {
    return std::clamp<std::size_t>(share_.cells / std::max<std::size_t>(rows, 1), 50, 4000);
  }

  /// Of the tasks that are kept: their places in "tasks".
  void add_path(ordered_json& run) const {
    ordered_json path{{"task", ordered_json::array()},
                      {"waited", ordered_json::array()},
                      {"since", ordered_json::array()}};
    std::map<std::uint32_t, std::size_t> places;
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      places[kept_[k]] = k;
    }
    std::array<std::int64_t, 5> sums{}; // executions; until tasks were taken, admitted, begun;
                                        // until the program spawned them
    for (std::size_t k = 0; k < path_.size(); ++k) {
      auto const& step = path_[k];
      auto const& task = trace_.tasks[step.task];
      hs::detail::KnownMoments const known(task, span_.second);
      auto const taken = std::max(step.since, std::min(known.taken, task.begin));
      auto const admitted = std::max(taken, std::min(known.admitted, task.begin));
      sums[0] += (task.end - task.begin).ns;
      sums[1] += (taken - step.since).ns;
      sums[2] += (admitted - taken).ns;
      sums[3] += (task.begin - admitted).ns;
      if (step.waited == hs::WaitedFor::program) {
        sums[4] += (step.since - (k > 0 ? trace_.tasks[path_[k - 1].task].end : span_.first)).ns;
      }
      if (step.waited == hs::WaitedFor::spawn) { // it began within the task before it
        sums[0] -= (trace_.tasks[path_[k - 1].task].end - step.since).ns;
      }
      if (auto const place = places.find(step.task); place != places.end()) {
        path["task"].push_back(place->second);
        path["waited"].push_back(static_cast<int>(step.waited));
        path["since"].push_back(since_begin(step.since));
      }
    }
    path["length"] = path_.size();
    path["executing"] = sums[0];
    path["waiting"] = {
        {"taken", sums[1]}, {"memory", sums[2]}, {"data", sums[3]}, {"program", sums[4]}};
    run["path"] = std::move(path);
  }

  void add_transfers(ordered_json& run) const {
    bool const all = trace_.transfers.size() <= share_.transfers;
    auto& columns = run["transfers"];
    for (auto const* const name : {"datum", "bytes", "from", "to", "begin", "length"}) {
      columns[name] = ordered_json::array();
    }
    for (std::size_t k = 0; all && k < trace_.transfers.size(); ++k) {
      auto const& transfer = trace_.transfers[k];
      columns["datum"].push_back(transfer.datum);
      columns["bytes"].push_back(transfer.bytes);
      columns["from"].push_back(transfer.from.value);
      columns["to"].push_back(transfer.to.value);
      columns["begin"].push_back(since_begin(transfer.begin));
      columns["length"].push_back((transfer.end - transfer.begin).ns);
    }
    if (all) {
      return;
    }
    // How long something moves into or out of each device's node, in each bin.
    hs::TimeBins const bins(trace_, bins_for(4 * trace_.nodes.size()));
    std::map<std::tuple<std::int32_t, bool>, std::vector<hs::detail::TimePiece>> pieces;
    for (auto const& transfer : trace_.transfers) {
      pieces[{transfer.to.value, true}].emplace_back(transfer.begin, transfer.end);
      pieces[{transfer.from.value, false}].emplace_back(transfer.begin, transfer.end);
    }
    run["transfer_bins"] = {{"count", bins.count()}, {"rows", ordered_json::array()}};
    for (auto& [row, times] : pieces) {
      if (std::get<0>(row) == 0) {
        continue;
      }
      hs::detail::unite(times);
      std::vector<std::int64_t> busy(bins.count());
      for (auto const& [begin, end] : times) {
        bins.cut(begin, end, [&](std::size_t k, hs::Instant from, hs::Instant to) {
          busy[k] += (to - from).ns;
        });
      }
      run["transfer_bins"]["rows"].push_back(
          {{"node", std::get<0>(row)}, {"in", std::get<1>(row)}, {"time", busy}});
    }
  }

  void add_times(ordered_json& run) const {
    run["times"] = ordered_json::array();
    for (auto const& spread : spreads_) {
      run["times"].push_back({{"type", spread.type},
                              {"class", spread.arch.index},
                              {"count", spread.count},
                              {"min", spread.shortest.ns},
                              {"q1", spread.lower_quartile.ns},
                              {"median", spread.median.ns},
                              {"q3", spread.upper_quartile.ns},
                              {"max", spread.longest.ns},
                              {"mean", spread.mean.ns}});
    }
    run["accelerations"] = ordered_json::array();
    for (auto const& of : hs::equivalent_accelerations(trace_, spreads_)) {
      auto const factor = of.factor();
      run["accelerations"].push_back({{"class", of.arch.index},
                                      {"tasks", of.tasks},
                                      {"compared", of.compared},
                                      {"factor", factor ? ordered_json(*factor) : nullptr}});
    }
  }

  /// Of the labels with the most time, if any task has one.
  void add_label_times(ordered_json& run) const {
    constexpr std::size_t most = 200;

    struct Sum {
      std::int64_t time = 0;
      std::size_t count = 0;
    };

    std::map<std::array<std::uint32_t, 3>, Sum> sums; // by label, type and class
    auto const times = hs::execution_times(trace_);
    for (std::size_t v = 0; v < trace_.tasks.size(); ++v) {
      auto const& task = trace_.tasks[v];
      if (task.label != 0 && task.outcome == hs::Trace::Outcome::done && task.worker) {
        auto& sum = sums[{task.label, task.type, trace_.workers[task.worker.index()].arch.index}];
        sum.time += times[v].ns;
        ++sum.count;
      }
    }
    std::vector<std::pair<std::array<std::uint32_t, 3>, Sum>> rows(sums.begin(), sums.end());
    std::sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) {
      return std::tuple(-a.second.time, a.first) < std::tuple(-b.second.time, b.first);
    });
    run["label_count"] = rows.size();
    rows.resize(std::min(rows.size(), most));
    run["label_times"] = ordered_json::array();
    for (auto const& [of, sum] : rows) {
      run["label_times"].push_back({{"label", trace_.labels[of[0]]},
                                    {"type", of[1]},
                                    {"class", of[2]},
                                    {"count", sum.count},
                                    {"sum", sum.time}});
    }
  }

  void add_series(ordered_json& run) const {
    hs::TimeBins const bins(trace_, 400);
    auto const ready = hs::ready_series(trace_, bins);
    std::vector<std::int64_t> edges;
    for (std::size_t k = 0; k <= bins.count(); ++k) {
      edges.push_back(since_begin(bins.edge(k)));
    }
    std::vector<std::int64_t> total;
    for (auto const time : ready.total) {
      total.push_back(time.ns);
    }
    run["bins"] = edges;
    run["ready"] = {{"total", total}, {"most", ready.most}};
    // Beside many nodes nobody tells one from the other.
    bool const few = trace_.nodes.size() <= 5;
    auto const node = [&](hs::NodeId id) {
      return few || id == hs::host_node ? trace_.nodes[static_cast<std::size_t>(id.value)].name
                                        : std::string("devices");
    };
    std::map<std::string, std::vector<std::uint64_t>> bytes;
    for (auto const& series : hs::byte_series(trace_, bins)) {
      add_to(bytes[node(series.from) + " \u2192 " + node(series.to)], series.bytes);
    }
    run["bytes"] = ordered_json::array();
    for (auto const& [name, sums] : bytes) {
      run["bytes"].push_back({{"name", name}, {"bytes", sums}});
    }
    std::map<std::string, hs::HitSeries> uses;
    for (auto const& series : hs::hit_series(trace_, bins)) {
      auto& sum = uses[node(series.node)];
      add_to(sum.hits, series.hits);
      add_to(sum.misses, series.misses);
      sum.bytes_in_vain += series.bytes_in_vain;
    }
    run["hits"] = ordered_json::array();
    for (auto const& [name, of] : uses) {
      run["hits"].push_back({{"name", name},
                             {"hits", of.hits},
                             {"misses", of.misses},
                             {"in_vain", of.bytes_in_vain}});
    }
  }

  template <class Number>
  static void add_to(std::vector<Number>& sums, std::vector<Number> const& more) {
    sums.resize(more.size());
    for (std::size_t k = 0; k < more.size(); ++k) {
      sums[k] += more[k];
    }
  }

  hs::Trace const& trace_;
  PageShare share_;
  std::pair<hs::Instant, hs::Instant> span_;
  std::vector<hs::PathStep> path_;
  std::vector<hs::TimeSpread> spreads_;
  std::vector<std::uint32_t> kept_; // tasks that are in the page one by one, by begin
};

} // namespace benchmarks
