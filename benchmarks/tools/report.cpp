// SPDX-License-Identifier: MIT
// Makes one page of traces, with all that it needs in it; and other programs' formats of one trace.
// docs/reports.md says what the page shows.

#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/recording/read_events.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/trace/analysis/merge_ranks.hpp>
#include <hetsched/trace/formats/read_trace.hpp>
#include <hetsched/trace/formats/trace_export.hpp>
#include <hetsched/trace/formats/write_trace.hpp>
#ifdef HETSCHED_HAVE_CLP
#include <hetsched/trace/analysis/trace_transfer_bound.hpp>
#endif

#include "../common/run_program.hpp"
#include "gantt.hpp"
#include "report/page.hpp"
#include "report/page_data.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace hs = hetsched;
using benchmarks::ordered_json;
using hs::detail::TextWriter;

struct Options {
  std::vector<std::string> traces;
  std::string page;
  std::string merged;
  std::string chrome;
  std::string paje;
  std::string csv;
  std::string dot;
  std::string svg;
  std::string platform;
  std::size_t tasks = 40'000;
};

/// What a trace is called: its scheduler, without our namespaces, else its file.
std::string name_of(hs::Trace const& trace, std::string const& path) {
  auto name = trace.scheduler;
  for (std::string_view const space : {"hetsched::policies::", "hetsched::"}) {
    for (auto at = name.find(space); at != std::string::npos; at = name.find(space, at)) {
      name.erase(at, space.size());
    }
  }
  return name.empty() ? std::filesystem::path(path).stem().string() : name;
}

std::string drawn(hs::Trace const& trace, std::string const& name) {
  benchmarks::Gantt gantt;
  auto const [begin, end] = hs::span_of(trace);
  auto const add = [&, from = begin](std::uint32_t v,
                                     hs::WorkerId worker,
                                     hs::Instant its_begin,
                                     hs::Instant its_end,
                                     bool aborted) {
    hs::SimulatedTask execution;
    execution.type = trace.types[trace.tasks[v].type].name;
    execution.worker = worker;
    execution.begin = {(its_begin - from).ns};
    execution.end = {(its_end - from).ns};
    execution.aborted = aborted;
    gantt.add(execution);
  };
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    if (task.worker && task.begin != hs::Trace::never && task.end != hs::Trace::never) {
      add(v, task.worker, task.begin, task.end, false);
    }
  }
  for (auto const& part : trace.parts) {
    add(part.task, part.worker, part.begin, part.end, false);
  }
  for (auto const& attempt : trace.attempts) {
    add(attempt.task, attempt.worker, attempt.begin, attempt.end, true);
  }
  std::vector<std::string> workers;
  for (auto const& worker : trace.workers) {
    workers.push_back(worker.name);
  }
  auto title = name;
  for (auto const& [key, value] : trace.about) {
    title += ", " + key + " " + value;
  }
  title += trace.simulated ? ", virtual time" : "";
  std::vector<std::pair<std::string, hs::Duration>> marks;
  for (auto const& bound : hs::bounds_of(trace, hs::time_spreads(trace))) {
    if (marks.empty() || bound.second > marks.front().second) {
      marks = {{"lower bound", bound.second}};
    }
  }
  return gantt.svg(title, workers, end - begin, marks);
}

/// The runs in files, with what to call them: the traces of several ranks are those of one run.
std::vector<std::pair<std::string, hs::Trace>> read_runs(std::vector<std::string> const& paths) {
  std::vector<std::pair<std::string, hs::Trace>> runs;
  bool of_ranks = false;
  for (auto const& path : paths) {
    auto& trace = runs.emplace_back(path, hs::detail::read_trace_or_events(path)).second;
    of_ranks = of_ranks || hs::rank_of(trace) != hs::Trace::none;
  }
  if (!of_ranks || paths.size() == 1) {
    return runs;
  }
  std::vector<hs::Trace> ranks;
  for (auto& [path, trace] : runs) {
    if (hs::rank_of(trace) == hs::Trace::none) {
      throw hs::Error(hs::ErrorCode::bad_input,
                      path,
                      "is not of one rank of several, as other files are: give those of one run");
    }
    ranks.push_back(std::move(trace));
  }
  auto const first = paths.front();
  runs.clear();
  runs.emplace_back(first, hs::merge_ranks(std::move(ranks)));
  return runs;
}

/// The page's data of all traces, which share its room.
ordered_json data_of(std::vector<std::pair<std::string, hs::Trace>> const& traces,
                     std::vector<std::string> const& files,
                     std::size_t most_tasks) {
  std::size_t tasks = 0;
  std::size_t transfers = 0;
  for (auto const& [name, trace] : traces) {
    tasks += trace.tasks.size();
    transfers += trace.transfers.size();
  }
  benchmarks::PageShare share(most_tasks / traces.size());
  if (tasks <= most_tasks) {
    share.tasks = most_tasks;
  }
  if (transfers <= most_tasks / 2) {
    share.transfers = most_tasks / 2;
  }
  ordered_json data;
  data["traces"] = ordered_json::array();
  for (std::size_t k = 0; k < traces.size(); ++k) {
    data["traces"].push_back(
        benchmarks::PageData(traces[k].second, share).json(traces[k].first, files[k]));
  }
  return data;
}

/// JSON within a page: no text in it may end the element that it is in.
std::string for_page(ordered_json const& data) {
  auto const text = data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (char const c : text) {
    c == '<' ? safe += "\\u003c" : safe += c;
  }
  return safe;
}

/// Adds the bound with transfers on that machine to a trace without one, or says why not.
void add_transfer_bound([[maybe_unused]] hs::Trace& trace,
                        [[maybe_unused]] std::string const& path,
                        [[maybe_unused]] hs::Platform const& platform) {
#ifdef HETSCHED_HAVE_CLP
  auto const spreads = hs::time_spreads(trace);
  auto bounds = hs::bounds_of(trace, spreads);
  if (std::any_of(bounds.begin(), bounds.end(), [](auto const& bound) {
        return bound.first == "transfer";
      })) {
    return;
  }
  if (auto const bound = hs::transfer_bound_of(trace, spreads, platform)) {
    bounds.emplace_back("transfer", *bound);
    trace.bounds = std::move(bounds);
  } else {
    std::fprintf(
        stderr,
        "hetsched-report: %s: no bound with transfers: a time is unknown, the trace is not "
        "complete, tasks are nested, or data were partitioned\n",
        path.c_str());
  }
#else
  throw hs::Error(
      hs::ErrorCode::bad_input,
      "--platform",
      "is for the bound with transfers, which needs Clp; this program was built without");
#endif
}

void report(Options const& options) {
  bool const other_forms = !options.merged.empty() || !options.chrome.empty() ||
                           !options.paje.empty() || !options.csv.empty() || !options.dot.empty() ||
                           !options.svg.empty();
  if (options.page.empty() && !other_forms) {
    throw hs::Error(hs::ErrorCode::bad_input, "-o", "is missing: what is to be written?");
  }
  std::optional<hs::Platform> platform;
  if (!options.platform.empty()) {
    platform = hs::read_platform(options.platform);
  }
  std::vector<std::pair<std::string, hs::Trace>> traces;
  std::vector<std::string> files; // of these
  for (auto& [path, trace] : read_runs(options.traces)) {
    if (platform) {
      add_transfer_bound(trace, path, *platform);
    }
    files.push_back(path);
    auto name = name_of(trace, path);
    for (int k = 2; std::any_of(
             traces.begin(), traces.end(), [&](auto const& other) { return other.first == name; });
         ++k) {
      name = name_of(trace, path) + " (" + std::to_string(k) + ")";
    }
    traces.emplace_back(std::move(name), std::move(trace));
  }
  if (other_forms && traces.size() != 1) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    "--merged, --chrome, --paje, --csv, --dot, --svg",
                    "are for one run, and these are " + std::to_string(traces.size()));
  }
  // All are written before any is replaced.
  std::vector<std::unique_ptr<TextWriter>> written;
  auto const make = [&](std::string const& path, std::function<void(TextWriter&)> const& write) {
    if (!path.empty()) {
      written.push_back(std::make_unique<TextWriter>(path));
      write(*written.back());
      written.back()->flush();
    }
  };
  make(options.page, [&](TextWriter& out) {
    for (auto const part : benchmarks::page_before_data) {
      out << part;
    }
    out << for_page(data_of(traces, files, options.tasks));
    for (auto const part : benchmarks::page_after_data) {
      out << part;
    }
  });
  auto const& [name, trace] = traces.front();
  make(options.svg, [&](TextWriter& out) { out << drawn(trace, name); });
  make(options.merged,
       [&](TextWriter& out) { hs::detail::TraceText<hs::Trace>(trace, out).write(); });
  make(options.chrome, [&](TextWriter& out) { hs::write_chrome(trace, out); });
  make(options.paje, [&](TextWriter& out) { hs::write_paje(trace, out); });
  make(options.csv, [&](TextWriter& out) { hs::write_csv(trace, out); });
  make(options.dot, [&](TextWriter& out) { hs::write_trace_dot(trace, out); });
  for (auto const& file : written) {
    file->close();
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Makes a page of traces: where the time of runs went.");
  app.add_option("traces",
                 options.traces,
                 "trace files of runs, side by side in one page, or of all ranks of one run")
      ->required();
  app.add_option("-o,--out", options.page, "the page, HTML that needs nothing else");
  app.add_option("--platform",
                 options.platform,
                 "file that describes the machine: its links count for the bound with transfers");
  app.add_option("--tasks",
                 options.tasks,
                 "how many tasks the page has one by one; of more it has sums (default 40000)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--merged", options.merged, "also the trace, one of all ranks of a run");
  app.add_option("--chrome", options.chrome, "also for Perfetto and chrome://tracing");
  app.add_option("--paje", options.paje, "also for ViTE and pajeng");
  app.add_option("--csv", options.csv, "also as a table of tasks");
  app.add_option("--dot", options.dot, "also the graph, for Graphviz");
  app.add_option("--svg", options.svg, "also a Gantt chart, for papers");
  return benchmarks::run_program("hetsched-report", app, argc, argv, [&] { report(options); });
}
