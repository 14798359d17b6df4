// SPDX-License-Identifier: MIT
#pragma once
// Task graphs in files of Graphviz's language; docs/platforms.md says what is read of them.

#include <hetsched/access.hpp>
#include <hetsched/detail/text_file.hpp>
#include <hetsched/error.hpp>
#include <hetsched/named_graph.hpp>
#include <hetsched/task_graph.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {
namespace detail {

/// Cuts a text into tokens: names, numbers and quoted strings, which are all names to Graphviz, and
/// punctuation. Comments are left out.
class DotTokens {
public:
  enum class Kind : std::uint8_t { end, name, mark };

  DotTokens(std::string_view text, std::string const& file) : text_(text), file_(file) { next(); }

  [[nodiscard]] bool is(std::string_view mark) const noexcept {
    return kind_ == Kind::mark && token_ == mark;
  }

  /// A word of the language, in any case, not quoted.
  [[nodiscard]] bool is_word(std::string_view word) const {
    auto const same = [](char a, char b) {
      return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
    };
    return kind_ == Kind::name && !quoted_ &&
           std::equal(token_.begin(), token_.end(), word.begin(), word.end(), same);
  }

  [[nodiscard]] bool at_end() const noexcept { return kind_ == Kind::end; }

  /// Steps over a mark if it is there.
  bool take(std::string_view mark) {
    auto const there = is(mark);
    if (there) {
      next();
    }
    return there;
  }

  void expect(std::string_view mark) {
    if (!take(mark)) {
      refuse("'" + std::string(mark) + "' is missing before " + shown());
    }
  }

  [[nodiscard]] std::string take_name() {
    if (kind_ != Kind::name) {
      refuse("a name is missing before " + shown());
    }
    auto name = token_;
    next();
    return name;
  }

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, file_, "line " + std::to_string(line_) + ": " + why);
  }

private:
  [[nodiscard]] std::string shown() const {
    return kind_ == Kind::end ? "the end" : "'" + token_.substr(0, 40) + "'";
  }

  [[nodiscard]] static bool in_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  }

  [[nodiscard]] bool starts(std::string_view what) const noexcept {
    return text_.substr(at_, what.size()) == what;
  }

  void next() {
    skip();
    token_.clear();
    quoted_ = false;
    line_ = here_;
    if (at_ == text_.size()) {
      kind_ = Kind::end;
    } else if (text_[at_] == '"') {
      take_string();
    } else if (in_name(text_[at_]) || text_[at_] == '.' ||
               (text_[at_] == '-' && !starts("->") && !starts("--"))) {
      kind_ = Kind::name;
      do {
        token_ += text_[at_++];
      } while (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.'));
    } else {
      take_mark();
    }
  }

  void take_mark() {
    kind_ = Kind::mark;
    auto const known =
        starts("->") || std::string_view("{}[];,=:").find(text_[at_]) != std::string_view::npos;
    if (!known) {
      refuse(starts("--")        ? "'--': the edges of a task graph have a direction"
             : text_[at_] == '<' ? "'<': labels in HTML are not read"
                                 : "there is a character that does not belong here");
    }
    token_ = text_.substr(at_, starts("->") ? 2 : 1);
    at_ += token_.size();
  }

  void take_string() {
    kind_ = Kind::name;
    quoted_ = true;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        refuse("a string does not end");
      }
      if (text_[at_] == '"') {
        ++at_;
        return;
      }
      if (starts("\\\"") || starts("\\\n")) { // a quote; a line that goes on
        ++at_;
      }
      here_ += text_[at_] == '\n' ? 1 : 0;
      token_ += text_[at_] == '\n' ? ' ' : text_[at_];
    }
  }

  /// Space, comments, and lines of a preprocessor.
  void skip() {
    auto const to = [&](std::string_view end) {
      auto const found = text_.find(end, at_);
      auto const stop = found == std::string_view::npos ? text_.size() : found + end.size();
      here_ +=
          static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                              text_.begin() + static_cast<std::ptrdiff_t>(stop),
                                              '\n'));
      at_ = stop;
      return found != std::string_view::npos;
    };
    for (;;) {
      bool const first = at_ == 0 || text_[at_ - 1] == '\n';
      if (at_ < text_.size() &&
          std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
        here_ += text_[at_++] == '\n' ? 1 : 0;
      } else if (starts("//") || (first && starts("#"))) {
        to("\n");
      } else if (starts("/*")) {
        line_ = here_;
        at_ += 2;
        if (!to("*/")) {
          refuse("a comment does not end");
        }
      } else {
        return;
      }
    }
  }

  std::string_view const text_;
  std::string const& file_;
  std::size_t at_ = 0;
  std::size_t here_ = 1; // line
  std::size_t line_ = 1; // of the token
  Kind kind_ = Kind::end;
  bool quoted_ = false;
  std::string token_;
};

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
    std::size_t before = 0;        // how many edges lead here
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
    if (tokens_.take("=")) { // of the graph
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

  /// By its name, of which a port is no part; a new one has what holds for all.
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

  /// Tasks in an order that edges keep to; in that of the file where they leave a choice. Each edge
  /// is a datum that its first task writes.
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
/// `type`, else its label, else its name; `priority` is its priority. An edge is a datum, of as
/// many `bytes` as it says, that one task writes and the other reads. Other attributes and the
/// ports of nodes are left aside. `file`: what errors call it. Throws Error(bad_input) with the
/// line: what is no digraph, subgraphs, labels in HTML, and tasks that come after themselves are
/// refused.
[[nodiscard]] inline NamedGraph parse_dot(std::string const& text, std::string const& file) {
  return detail::DotReader(text, file).read();
}

/// The same of a file.
[[nodiscard]] inline NamedGraph read_dot(std::string const& path) {
  return parse_dot(detail::read_text_file(path), path);
}

} // namespace hetsched
