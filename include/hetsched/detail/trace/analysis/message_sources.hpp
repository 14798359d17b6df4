// SPDX-License-Identifier: MIT
#pragma once
// Which tasks of other ranks made the values that the tasks of a rank got by messages.

#include <hetsched/core/access.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A task of a rank's trace.
struct RankTask {
  std::uint32_t rank;
  std::uint32_t task;
};

/// Follows values through the traces of the ranks 0, 1, ..., which outlive this. Tasks of bodies
/// count as their parents.
class MessageSources {
public:
  explicit MessageSources(std::span<Trace const> ranks)
      : ranks_(ranks), sources_(ranks.size()), made_(ranks.size()) {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      follow(r);
    }
    match();
    for (auto const& [to, message] : arrivals_) {
      find_makers(to.rank, message, 0);
    }
  }

  /// Calls visit(sent, received) with both ends of each message that has two.
  template <class Visit>
  void for_each_message(Visit&& visit) const {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t k = 0; k < ranks_[r].messages.size(); ++k) {
        if (auto const from = senders_[r][k]; from.task != Trace::none) {
          visit(ranks_[from.rank].messages[from.task], ranks_[r].messages[k]);
        }
      }
    }
  }

  /// Calls visit(to, received) for each task that waits for a message.
  template <class Visit>
  void for_each_arrival(Visit&& visit) const {
    for (auto const& [to, message] : arrivals_) {
      visit(to, ranks_[to.rank].messages[message]);
    }
  }

  /// Calls visit(from, to) for tasks of different ranks, the first of which made a value that the
  /// second one waits for; once for each.
  template <class Visit>
  void for_each_edge(Visit&& visit) const {
    std::vector<Maker> makers;
    for (std::size_t k = 0; k < arrivals_.size();) {
      auto const to = arrivals_[k].first;
      makers.clear();
      for (; k < arrivals_.size() && arrivals_[k].first.rank == to.rank &&
             arrivals_[k].first.task == to.task;
           ++k) {
        auto const& made = made_[to.rank][arrivals_[k].second].makers;
        makers.insert(makers.end(), made.begin(), made.end());
      }
      std::sort(makers.begin(), makers.end());
      makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
      for (auto const& [rank, task] : makers) {
        if (rank != to.rank) {
          visit(RankTask{rank, task}, to);
        }
      }
    }
  }

private:
  using Maker = std::pair<std::uint32_t, std::uint32_t>; // rank, task

  /// What made the value of a datum: tasks and messages.
  struct Value {
    std::vector<std::uint32_t> tasks = {};
    std::vector<std::uint32_t> messages = {};
    bool read = false; // since the last message
  };

  /// The tasks that made what a message brought.
  struct Made {
    std::vector<Maker> makers;
    bool known = false;
  };

  static constexpr int most_hops = 100; // of a value; more than the home of its datum is between

  /// Goes through a rank's tasks and messages in the order of the program.
  void follow(std::uint32_t r) {
    auto const& rank = ranks_[r];
    std::unordered_map<std::uint32_t, Value> values; // of data that are in messages
    for (auto const& message : rank.messages) {
      values[message.datum];
    }
    sources_[r].resize(rank.messages.size());
    std::uint32_t next = 0;
    for (std::uint32_t v = 0; v <= rank.tasks.size(); ++v) {
      for (; next < rank.messages.size() && rank.messages[next].tasks <= v; ++next) {
        auto const& message = rank.messages[next];
        auto& value = values[message.datum];
        if (message.to == r && message.number % 2 == 0) {
          value = {{}, {next}};
        } else if (message.to == r) { // contributions are added to what there is
          if (value.read) {
            value.messages.clear();
          }
          value.messages.push_back(next);
          value.read = false;
        } else {
          sources_[r][next] = value;
        }
      }
      if (v == rank.tasks.size() || rank.tasks[v].parent != Trace::none || values.empty()) {
        continue;
      }
      for (auto const& access : rank.accesses_of(v)) {
        if (auto const value = values.find(access.datum); value != values.end()) {
          add_access(r, v, access.mode, value->second);
        }
      }
    }
  }

  void add_access(std::uint32_t r, std::uint32_t v, AccessMode mode, Value& value) {
    for (auto const message : value.messages) {
      arrivals_.push_back({{r, v}, message});
    }
    value.read = true;
    if (mode == AccessMode::read) {
      return;
    }
    if (mode == AccessMode::write || mode == AccessMode::read_write) {
      value.tasks.clear();
      value.messages.clear(); // it waits for them, and what comes for it
    }
    value.tasks.push_back(v);
  }

  /// The k-th that one rank sends by a number to another is the k-th that comes there by it.
  void match() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<std::uint32_t>>
        sent; // by from, to, number
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t k = 0; k < ranks_[r].messages.size(); ++k) {
        auto const& message = ranks_[r].messages[k];
        if (message.from == r) {
          sent[{message.from, message.to, message.number}].push_back(k);
        }
      }
    }
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::size_t> received;
    senders_.resize(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      senders_[r].assign(ranks_[r].messages.size(), {0, Trace::none});
      for (std::uint32_t k = 0; k < ranks_[r].messages.size(); ++k) {
        auto const& message = ranks_[r].messages[k];
        if (message.to != r) {
          continue;
        }
        std::tuple const line{message.from, message.to, message.number};
        auto const found = sent.find(line);
        auto const turn = received[line]++;
        if (found != sent.end() && turn < found->second.size()) {
          senders_[r][k] = {message.from, found->second[turn]};
        }
      }
    }
  }

  /// Of the message that is k-th on rank r.
  std::vector<Maker> const& find_makers(std::uint32_t r, std::uint32_t k, int hops) {
    made_[r].resize(ranks_[r].messages.size());
    auto& made = made_[r][k];
    auto const sender = senders_[r][k];
    if (made.known || sender.task == Trace::none || hops == most_hops) {
      return made.makers;
    }
    made.known = true;
    auto const& source = sources_[sender.rank][sender.task];
    std::vector<Maker> makers;
    for (auto const task : source.tasks) {
      makers.emplace_back(sender.rank, task);
    }
    for (auto const message : source.messages) {
      auto const& before = find_makers(sender.rank, message, hops + 1);
      makers.insert(makers.end(), before.begin(), before.end());
    }
    return made_[r][k].makers = std::move(makers);
  }

  std::span<Trace const> const ranks_;
  std::vector<std::vector<Value>> sources_;    // of each message that a rank sends
  std::vector<std::vector<Made>> made_;        // by each that comes to a rank
  std::vector<std::vector<RankTask>> senders_; // of each that it gets: where it is among `messages`
  std::vector<std::pair<RankTask, std::uint32_t>> arrivals_; // tasks, and messages they wait for
};

} // namespace hetsched::detail
