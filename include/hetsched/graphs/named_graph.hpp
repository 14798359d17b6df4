// SPDX-License-Identifier: MIT
#pragma once
// A task graph together with the names of its task types.

#include <hetsched/graphs/task_graph.hpp>

#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>

namespace hetsched {

/// A graph, and the names to which its nodes' types point. Movable.
struct NamedGraph {
  NamedGraph() = default;
  NamedGraph(NamedGraph const&) = delete;
  NamedGraph& operator=(NamedGraph const&) = delete;
  NamedGraph(NamedGraph&&) = default;
  NamedGraph& operator=(NamedGraph&&) = default;

  /// The one copy of a name.
  [[nodiscard]] std::string_view name(std::string_view text) {
    auto const found = known.find(text);
    return found != known.end() ? found->second
                                : known.emplace(text, names.emplace_back(text)).first->second;
  }

  std::list<std::string> names;
  std::map<std::string, std::string_view, std::less<>> known;
  TaskGraph graph;
};

} // namespace hetsched
