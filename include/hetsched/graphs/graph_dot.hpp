// SPDX-License-Identifier: MIT
#pragma once
// Task graphs in files of Graphviz's language. docs/platforms.md says which parts are read.

#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/graphs/dot_tokens.hpp>
#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// Makes a graph of what a file says.
class DotReader {
public:
  DotReader(std::string_view text, std::string const& file) : file_(file), tokens_(text, file) {}

  [[nodiscard]] NamedGraph read() {
    if (tokens_.is_word("strict")) {
      (void)tokens_.take_name();
    }
    if (!tokens_.is_word("digraph")) {
      tokens_.refuse("is no 'digraph'");
    }
    (void)tokens_.take_name();
    if (!tokens_.is("{")) {
      (void)tokens_.take_name();
    }
    tokens_.expect("{");
    while (!tokens_.is("}")) {
      read_statement();
      tokens_.take(";");
    }
    tokens_.expect("}");
    if (!tokens_.at_end()) {
      tokens_.refuse("there is something behind the graph");
    }
    return finish();
  }

private:
  using Attributes = std::map<std::string, std::string, std::less<>>;

  struct Task {
    std::string id;
    Attributes attributes;
    std::vector<std::size_t> next; // edges
    std::size_t before = 0;        // number of edges that lead here
  };

  struct Edge {
    std::size_t from;
    std::size_t to;
    std::size_t bytes;
  };

  void read_statement() {
    if (tokens_.is("{") || tokens_.is_word("subgraph")) {
      tokens_.refuse("subgraphs are not read");
    }
    for (auto const* const what : {"graph", "node", "edge"}) {
      if (tokens_.is_word(what)) {
        auto const name = tokens_.take_name();
        read_attributes(*what == 'n' ? node_defaults_ : *what == 'e' ? edge_defaults_ : ignored_);
        check_priority(node_defaults_);
        return;
      }
    }
    auto const id = tokens_.take_name();
    if (tokens_.take("=")) { // an attribute of the graph
      (void)tokens_.take_name();
      return;
    }
    auto from = task_of(id);
    if (!tokens_.is("->")) {
      read_attributes(tasks_[from].attributes);
      check_priority(tasks_[from].attributes);
      return;
    }
    auto const first = edges_.size();
    while (tokens_.take("->")) {
      auto const to = task_of(tokens_.take_name());
      if (to == from) {
        tokens_.refuse("task '" + tasks_[to].id + "' comes after itself");
      }
      edges_.push_back({from, to, 0});
      from = to;
    }
    auto attributes = edge_defaults_;
    read_attributes(attributes);
    auto const bytes = number(attributes, "bytes", 0, std::int64_t{1} << 50U);
    for (auto e = first; e < edges_.size(); ++e) {
      edges_[e].bytes = static_cast<std::size_t>(bytes);
    }
  }

  void check_priority(Attributes const& attributes) const { (void)priority_of(attributes); }

  [[nodiscard]] std::int32_t priority_of(Attributes const& attributes) const {
    return static_cast<std::int32_t>(number(attributes, "priority", INT32_MIN, INT32_MAX));
  }

  /// The node of a name, without its port. A new node gets the attributes that hold for all.
  [[nodiscard]] std::size_t task_of(std::string const& id) {
    if (id.empty()) {
      tokens_.refuse("the name of a task is empty");
    }
    while (tokens_.take(":")) {
      (void)tokens_.take_name();
    }
    auto const [found, fresh] = numbers_.try_emplace(id, tasks_.size());
    if (fresh) {
      tasks_.push_back({id, node_defaults_, {}, 0});
    }
    return found->second;
  }

  /// Any number of lists in brackets.
  void read_attributes(Attributes& into) {
    while (tokens_.take("[")) {
      while (!tokens_.take("]")) {
        auto const key = tokens_.take_name();
        tokens_.expect("=");
        into[key] = tokens_.take_name();
        if (!tokens_.take(",")) {
          tokens_.take(";");
        }
      }
    }
  }

  [[nodiscard]] std::int64_t number(Attributes const& attributes,
                                    std::string const& key,
                                    std::int64_t least,
                                    std::int64_t most) const {
    auto const found = attributes.find(key);
    if (found == attributes.end()) {
      return 0;
    }
    auto const& text = found->second;
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      tokens_.refuse(key + " '" + text.substr(0, 40) + "' is no whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }

  /// The tasks in a topological order; where edges leave a choice, in the order of the file. Each
  /// edge is a datum that its first task writes.
  [[nodiscard]] NamedGraph finish() {
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      tasks_[edges_[e].from].next.push_back(e);
      ++tasks_[edges_[e].to].before;
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t v = 0; v < tasks_.size(); ++v) {
      if (tasks_[v].before == 0) {
        ready.push(v);
      }
    }
    NamedGraph result;
    std::vector<std::size_t> place(tasks_.size());
    std::vector<TaskGraph::Node> nodes;
    while (!ready.empty()) {
      auto const v = ready.top();
      ready.pop();
      place[v] = nodes.size();
      nodes.push_back(node_of(tasks_[v], result));
      for (auto const e : tasks_[v].next) {
        if (--tasks_[edges_[e].to].before == 0) {
          ready.push(edges_[e].to);
        }
      }
    }
    for (auto const& task : tasks_) {
      if (task.before != 0) {
        throw Error(ErrorCode::bad_input,
                    file_,
                    "task '" + task.id + "' comes after itself, by way of others");
      }
    }
    std::vector<std::size_t> bytes;
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      bytes.push_back(edges_[e].bytes);
      nodes[place[edges_[e].from]].accesses.push_back({e, AccessMode::write, nullptr});
      nodes[place[edges_[e].to]].accesses.push_back({e, AccessMode::read, nullptr});
    }
    result.graph = TaskGraph(std::move(nodes), std::move(bytes));
    return result;
  }

  [[nodiscard]] TaskGraph::Node node_of(Task const& task, NamedGraph& names) const {
    auto const find = [&](char const* key) {
      auto const found = task.attributes.find(key);
      return found != task.attributes.end() && !found->second.empty() ? &found->second : nullptr;
    };
    auto const* const type = find("type");
    auto const* const label = find("label");
    TaskGraph::Node node;
    node.type = names.name(type != nullptr ? *type : label != nullptr ? *label : task.id);
    node.label = type != nullptr && label != nullptr ? *label : task.id;
    node.archs = ArchMask{0xff};
    node.priority = priority_of(task.attributes);
    return node;
  }

  std::string const& file_;
  DotTokens tokens_;
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::map<std::string, std::size_t> numbers_;
  Attributes node_defaults_;
  Attributes edge_defaults_;
  Attributes ignored_;
};

} // namespace detail

/// The graph that `text` describes: a digraph whose nodes are tasks. A task's type is its attribute
/// `type`, otherwise its label, otherwise its name. Its priority is the attribute `priority`. An
/// edge is a datum of `bytes` bytes that one task writes and the other reads. Other attributes and
/// the ports of nodes are ignored. `file` is the name that errors use. Throws Error(bad_input) with
/// the line. Refused are texts that are not digraphs, subgraphs, labels in HTML, and cycles.
[[nodiscard]] inline NamedGraph parse_dot(std::string const& text, std::string const& file) {
  return detail::DotReader(text, file).read();
}

/// The graph that a file describes.
[[nodiscard]] inline NamedGraph read_dot(std::string const& path) {
  return parse_dot(detail::read_text_file(path), path);
}

} // namespace hetsched
