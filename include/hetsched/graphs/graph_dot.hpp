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
#include <deque>
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
  /// What is known of a task or an edge. Texts are kept once, however many tasks have them.
  struct Attributes {
    std::string const* type = nullptr; // null: none, or empty
    std::string const* label = nullptr;
    bool own_label = false; // not of all tasks
    std::int32_t priority = 0;
    std::size_t bytes = 0;
  };

  enum class Of : std::uint8_t { graph, node, edge };

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
    if (tokens_.is_word("graph")) {
      read_defaults(Of::graph, ignored_);
      return;
    }
    if (tokens_.is_word("node")) {
      read_defaults(Of::node, node_defaults_);
      node_defaults_.own_label = false;
      return;
    }
    if (tokens_.is_word("edge")) {
      read_defaults(Of::edge, edge_defaults_);
      return;
    }
    auto const id = tokens_.take_name();
    if (tokens_.take("=")) { // an attribute of the graph
      (void)tokens_.take_name();
      return;
    }
    auto from = task_of(id);
    if (!tokens_.is("->")) {
      read_attributes(Of::node, tasks_[from].attributes);
      return;
    }
    auto const first = edges_.size();
    while (tokens_.take("->")) {
      auto const to = task_of(tokens_.take_name());
      if (to == from) {
        tokens_.refuse("task '" + shown(tasks_[to].id) + "' comes after itself");
      }
      edges_.push_back({from, to, 0});
      from = to;
    }
    auto attributes = edge_defaults_;
    read_attributes(Of::edge, attributes);
    for (auto e = first; e < edges_.size(); ++e) {
      edges_[e].bytes = attributes.bytes;
    }
  }

  void read_defaults(Of what, Attributes& into) {
    (void)tokens_.take_name();
    read_attributes(what, into);
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
  void read_attributes(Of what, Attributes& into) {
    while (tokens_.take("[")) {
      while (!tokens_.take("]")) {
        auto const key = tokens_.take_name();
        tokens_.expect("=");
        auto value = tokens_.take_name();
        if (what == Of::node && (key == "type" || key == "label")) {
          auto& text = key == "type" ? into.type : into.label;
          text = value.empty() ? nullptr : &texts_.emplace_back(std::move(value));
          into.own_label |= key == "label";
        } else if (what == Of::node && key == "priority") {
          into.priority = static_cast<std::int32_t>(number(key, value, INT32_MIN, INT32_MAX));
        } else if (what == Of::edge && key == "bytes") {
          into.bytes = static_cast<std::size_t>(number(key, value, 0, std::int64_t{1} << 50U));
        }
        if (!tokens_.take(",")) {
          tokens_.take(";");
        }
      }
    }
  }

  [[nodiscard]] std::int64_t number(std::string const& key,
                                    std::string const& text,
                                    std::int64_t least,
                                    std::int64_t most) const {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      tokens_.refuse(key + " '" + shown(text) + "' is no whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }

  /// Of a text that may be long.
  [[nodiscard]] static std::string shown(std::string const& text) { return text.substr(0, 40); }

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
                    "task '" + shown(task.id) + "' comes after itself, by way of others");
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
    auto const& its = task.attributes;
    TaskGraph::Node node;
    node.type = names.name(its.type != nullptr    ? *its.type
                           : its.label != nullptr ? *its.label
                                                  : task.id);
    node.label =
        its.type != nullptr && its.label != nullptr && its.own_label ? *its.label : task.id;
    node.archs = ArchMask{0xff};
    node.priority = its.priority;
    return node;
  }

  std::string const& file_;
  DotTokens tokens_;
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::map<std::string, std::size_t> numbers_;
  std::deque<std::string> texts_; // types and labels; they stay where they are
  Attributes node_defaults_;
  Attributes edge_defaults_;
  Attributes ignored_;
};

} // namespace detail

/// The graph that `text` describes: a digraph whose nodes are tasks. A task's type is its attribute
/// `type`, otherwise its label, otherwise its name. A label that all tasks get (`node [label=...]`)
/// names their type, but no single task. A task's priority is the attribute `priority`. An edge is
/// a datum of `bytes` bytes that one task writes and the other reads. Other attributes and the
/// ports of nodes are ignored. `file` is the name that errors use. Throws Error(bad_input) with the
/// line. Refused are texts that are not digraphs, subgraphs, labels in HTML, and cycles.
[[nodiscard]] inline NamedGraph parse_dot(std::string const& text, std::string const& file) {
  return detail::DotReader(text, file).read();
}

/// The graph that a file describes.
[[nodiscard]] inline NamedGraph read_dot(std::string const& path) {
  return parse_dot(detail::read_text_file(path), path);
}

} // namespace hetsched
