// SPDX-License-Identifier: MIT
#pragma once
// Which tasks, and which of their labels, a page holds one by one.

#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// At most `most` tasks that began, by begin: up to half of them the longest of the path's, the
/// rest the longest of all.
inline std::vector<std::uint32_t>
choose_tasks(hs::Trace const& trace, std::vector<hs::PathStep> const& path, std::size_t most) {
  auto const length = [&](std::uint32_t v) {
    auto const& task = trace.tasks[v];
    return task.end != hs::Trace::never ? (task.end - task.begin).ns : INT64_MAX;
  };
  auto const keep_longest = [&](std::vector<std::uint32_t>& tasks, std::size_t count) {
    if (tasks.size() > count) {
      std::nth_element(tasks.begin(),
                       tasks.begin() + static_cast<std::ptrdiff_t>(count),
                       tasks.end(),
                       [&](std::uint32_t u, std::uint32_t v) {
                         return std::tuple(-length(u), u) < std::tuple(-length(v), v);
                       });
      tasks.resize(count);
    }
  };
  std::vector<std::uint32_t> kept;
  for (auto const& step : path) {
    kept.push_back(step.task);
  }
  keep_longest(kept, most / 2);
  std::vector<bool> is_kept(trace.tasks.size());
  for (auto const v : kept) {
    is_kept[v] = true;
  }
  std::vector<std::uint32_t> others;
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    if (!is_kept[v] && trace.tasks[v].begin != hs::Trace::never && trace.tasks[v].worker) {
      others.push_back(v);
    }
  }
  keep_longest(others, most - kept.size());
  kept.insert(kept.end(), others.begin(), others.end());
  std::sort(kept.begin(), kept.end(), [&](std::uint32_t u, std::uint32_t v) {
    return std::tuple(trace.tasks[u].begin, u) < std::tuple(trace.tasks[v].begin, v);
  });
  return kept;
}

/// The labels of some tasks, of which at most so many bytes are kept.
class LabelTable {
public:
  LabelTable(hs::Trace const& trace, std::vector<std::uint32_t> const& tasks, std::size_t bytes)
      : texts_{""}, places_{{0, 0}} {
    std::size_t all = 0;
    for (auto const v : tasks) {
      if (places_.try_emplace(trace.tasks[v].label, texts_.size()).second) {
        texts_.push_back(trace.labels[trace.tasks[v].label]);
        all += texts_.back().size();
      }
    }
    if (all > bytes) {
      for (auto& text : texts_) {
        cut(text, std::max<std::size_t>(bytes / texts_.size(), 8));
      }
    }
  }

  [[nodiscard]] std::int64_t place_of(std::uint32_t label) const {
    return static_cast<std::int64_t>(places_.at(label));
  }

  [[nodiscard]] std::vector<std::string> const& texts() const noexcept { return texts_; }

private:
  /// Not within a character of UTF-8.
  static void cut(std::string& text, std::size_t most) {
    if (text.size() > most) {
      while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) {
        --most;
      }
      text.resize(most);
      text += "\u2026";
    }
  }

  std::vector<std::string> texts_;
  std::unordered_map<std::uint32_t, std::size_t> places_; // by the trace's number of the label
};

} // namespace benchmarks
