// SPDX-License-Identifier: MIT
#pragma once
// The format of trace files, "trace-4", as a table that writers and readers use.

#include <hetsched/core/access.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/trace/trace.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

inline constexpr std::int64_t trace_year = std::int64_t{366} * 24 * 3600 * 1'000'000'000; // in ns

/// One column: the same member of each row.
struct TraceColumn {
  enum class Holds : std::uint8_t { number, truth, mode, node };

  using Get = std::int64_t (*)(Trace const& trace, std::size_t row);

  char const* name; // "" if the group is one column
  Holds holds;      // truth: 1 and 0, or true and false; mode: its to_string; node: one of those
  std::int64_t low;
  std::int64_t high;
  Get get;
  void (*set)(Trace& trace, std::size_t row, std::int64_t value);

  /// Written as `other` says.
  [[nodiscard]] constexpr TraceColumn got_by(Get other) const {
    auto column = *this;
    column.get = other;
    return column;
  }
};

/// Columns of one length.
struct TraceGroup {
  char const* name;
  std::span<TraceColumn const> columns;
  std::size_t (*size)(Trace const& trace);
  void (*grow)(Trace& trace); // by one row
};

/// A list of objects, each with a "name" and a member for each column.
struct TraceList : TraceGroup {
  std::string const& (*label)(Trace const& trace, std::size_t row); // its "name"
  void (*set_label)(Trace& trace, std::size_t row, std::string label);
  bool has_expected; // its times on each class of worker, in "expected_ns"
};

/// Where a member of a row has its number. Trace::none is -1 in files.
template <class Member>
[[nodiscard]] constexpr auto& trace_number(Member& member) noexcept {
  if constexpr (std::is_same_v<Member, Instant> || std::is_same_v<Member, Duration>) {
    return member.ns;
  } else if constexpr (std::is_same_v<Member, WorkerId> || std::is_same_v<Member, NodeId>) {
    return member.value;
  } else if constexpr (std::is_same_v<Member, ArchMask>) {
    return member.bits;
  } else if constexpr (std::is_same_v<Member, Arch>) {
    return member.index;
  } else {
    return member;
  }
}

template <auto Rows>
struct TraceRows {
  static std::size_t size(Trace const& trace) { return (trace.*Rows).size(); }

  static void grow(Trace& trace) { (trace.*Rows).emplace_back(); }

  template <auto Member>
  static std::int64_t get(Trace const& trace, std::size_t row) {
    auto member = (trace.*Rows)[row].*Member;
    auto const number = trace_number(member);
    if constexpr (std::is_same_v<decltype(number), std::uint32_t const>) {
      return static_cast<std::int32_t>(number);
    } else {
      return static_cast<std::int64_t>(number);
    }
  }

  template <auto Member>
  static void set(Trace& trace, std::size_t row, std::int64_t value) {
    auto& number = trace_number((trace.*Rows)[row].*Member);
    number = static_cast<std::remove_reference_t<decltype(number)>>(value);
  }

  template <auto Member>
  [[nodiscard]] static constexpr TraceColumn
  column(char const* name,
         std::int64_t low,
         std::int64_t high,
         TraceColumn::Holds holds = TraceColumn::Holds::number) {
    return {name, holds, low, high, get<Member>, set<Member>};
  }

  [[nodiscard]] static constexpr TraceGroup group(char const* name,
                                                  std::span<TraceColumn const> columns) {
    return {name, columns, size, grow};
  }

  [[nodiscard]] static constexpr TraceList
  list(char const* name, std::span<TraceColumn const> columns, bool has_expected = false) {
    return {group(name, columns),
            [](Trace const& trace, std::size_t row) -> std::string const& {
              return (trace.*Rows)[row].name;
            },
            [](Trace& trace, std::size_t row, std::string label) {
              (trace.*Rows)[row].name = std::move(label);
            },
            has_expected};
  }
};

/// The table. A template, so that programs that write and read no traces do not compile it.
template <class Its = Trace>
struct TraceTable {
  /// In the order in which they are written.
  [[nodiscard]] static std::span<TraceList const> lists() {
    using Worker = typename Its::Worker;
    using WorkerRows = TraceRows<&Its::workers>;
    static constexpr std::array workers{
        WorkerRows::template column<&Worker::arch>("arch", 0, max_archs - 1),
        WorkerRows::template column<&Worker::node>("node", 0, most, Holds::node),
        WorkerRows::template column<&Worker::cores>("cores", 1, 1'000'000)};
    using Node = typename Its::Node;
    using NodeRows = TraceRows<&Its::nodes>;
    static constexpr std::array nodes{
        NodeRows::template column<&Node::bytes>("bytes", 0, std::int64_t{1} << 60U)};
    static constexpr std::array lists{WorkerRows::list("workers", workers),
                                      NodeRows::list("nodes", nodes),
                                      TraceRows<&Its::types>::list("types", {}, true)};
    return lists;
  }

  /// In the order in which they are written.
  [[nodiscard]] static std::span<TraceGroup const> groups() {
    using Datum = typename Its::Datum;
    using DatumRows = TraceRows<&Its::data>;
    static constexpr std::array data{DatumRows::template column<&Datum::bytes>("", 0, most_bytes)};
    using Task = typename Its::Task;
    using TaskRows = TraceRows<&Its::tasks>;
    static constexpr std::array tasks{
        TaskRows::template column<&Task::type>("type", 0, most),
        TaskRows::template column<&Task::label>("label", 0, most),
        TaskRows::template column<&Task::priority>("priority", INT32_MIN, most),
        TaskRows::template column<&Task::parent>("parent", -1, most),
        TaskRows::template column<&Task::archs>("archs", 0, 255),
        TaskRows::template column<&Task::outcome>("outcome", 0, 3),
        TaskRows::template column<&Task::worker>("worker", -1, most),
        TaskRows::template column<&Task::spawned>("spawned", -1, trace_year),
        TaskRows::template column<&Task::ready>("ready", -1, trace_year),
        TaskRows::template column<&Task::asked>("asked", -1, trace_year),
        TaskRows::template column<&Task::taken>("taken", -1, trace_year),
        TaskRows::template column<&Task::admitted>("admitted", -1, trace_year),
        TaskRows::template column<&Task::begin>("begin", -1, trace_year),
        TaskRows::template column<&Task::end>("end", -1, trace_year),
        TaskRows::template column<&Task::accesses>("accesses", 0, most).got_by(count_of_accesses)};
    using OneAccess = typename Its::Access;
    using AccessRows = TraceRows<&Its::accesses>;
    static constexpr std::array accesses{
        AccessRows::template column<&OneAccess::datum>("datum", 0, most),
        AccessRows::template column<&OneAccess::mode>("mode", 0, 5, Holds::mode)};
    using Edge = typename Its::Edge;
    using EdgeRows = TraceRows<&Its::edges>;
    static constexpr std::array edges{EdgeRows::template column<&Edge::from>("from", 0, most),
                                      EdgeRows::template column<&Edge::to>("to", 0, most)};
    using AttemptRows = TraceRows<&Its::attempts>;
    static constexpr auto attempts = executions<AttemptRows, typename Its::Attempt>();
    using PartRows = TraceRows<&Its::parts>;
    static constexpr auto parts = executions<PartRows, typename Its::Part>();
    using WaitRows = TraceRows<&Its::waits>;
    static constexpr auto waits = executions<WaitRows, typename Its::Wait>();
    using Sync = typename Its::Sync;
    using SyncRows = TraceRows<&Its::syncs>;
    static constexpr std::array syncs{
        SyncRows::template column<&Sync::worker>("worker", 0, most),
        SyncRows::template column<&Sync::begin>("begin", 0, trace_year),
        SyncRows::template column<&Sync::end>("end", 0, trace_year)};
    using Transfer = typename Its::Transfer;
    using TransferRows = TraceRows<&Its::transfers>;
    static constexpr std::array transfers{
        TransferRows::template column<&Transfer::datum>("datum", 0, most),
        TransferRows::template column<&Transfer::bytes>("bytes", 0, most_bytes),
        TransferRows::template column<&Transfer::from>("from", 0, most),
        TransferRows::template column<&Transfer::to>("to", 0, most),
        TransferRows::template column<&Transfer::begin>("begin", 0, trace_year),
        TransferRows::template column<&Transfer::end>("end", 0, trace_year)};
    using Eviction = typename Its::Eviction;
    using EvictionRows = TraceRows<&Its::evictions>;
    static constexpr std::array evictions{
        EvictionRows::template column<&Eviction::datum>("datum", 0, most),
        EvictionRows::template column<&Eviction::node>("node", 0, most),
        EvictionRows::template column<&Eviction::at>("at", 0, trace_year),
        EvictionRows::template column<&Eviction::dirty>("dirty", 0, 1, Holds::truth)};
    using Steal = typename Its::Steal;
    using StealRows = TraceRows<&Its::steals>;
    static constexpr std::array steals{StealRows::template column<&Steal::task>("task", 0, most),
                                       StealRows::template column<&Steal::thief>("thief", 0, most),
                                       StealRows::template column<&Steal::at>("at", 0, trace_year)};
    using Message = typename Its::Message;
    using MessageRows = TraceRows<&Its::messages>;
    static constexpr std::array messages{
        MessageRows::template column<&Message::datum>("datum", 0, most),
        MessageRows::template column<&Message::number>("number", 0, 2 * (most + 1) * 2 - 1),
        MessageRows::template column<&Message::from>("from", 0, most),
        MessageRows::template column<&Message::to>("to", 0, most),
        MessageRows::template column<&Message::tasks>("tasks", 0, most),
        MessageRows::template column<&Message::asked>("asked", -1, trace_year),
        MessageRows::template column<&Message::begin>("begin", -1, trace_year),
        MessageRows::template column<&Message::end>("end", -1, trace_year)};
    using Rank = typename Its::Rank;
    using RankRows = TraceRows<&Its::ranks>;
    static constexpr std::array ranks{RankRows::template column<&Rank::workers>("workers", 0, most),
                                      RankRows::template column<&Rank::nodes>("nodes", 0, most)};
    using Clock = typename Its::Clock;
    using ClockRows = TraceRows<&Its::clocks>;
    static constexpr std::array clocks{
        ClockRows::template column<&Clock::at>("at", 0, trace_year),
        ClockRows::template column<&Clock::offset>("offset", -trace_year, trace_year),
        ClockRows::template column<&Clock::error>("error", 0, trace_year)};
    static constexpr std::array groups{DatumRows::group("data_bytes", data),
                                       TaskRows::group("tasks", tasks),
                                       AccessRows::group("accesses", accesses),
                                       EdgeRows::group("edges", edges),
                                       AttemptRows::group("attempts", attempts),
                                       PartRows::group("parts", parts),
                                       WaitRows::group("waits", waits),
                                       SyncRows::group("syncs", syncs),
                                       TransferRows::group("transfers", transfers),
                                       EvictionRows::group("evictions", evictions),
                                       StealRows::group("steals", steals),
                                       MessageRows::group("messages", messages),
                                       RankRows::group("ranks", ranks),
                                       ClockRows::group("clocks", clocks)};
    return groups;
  }

private:
  using Holds = TraceColumn::Holds;

  static constexpr std::int64_t most = INT32_MAX; // a place
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 50U;

  /// Of what a task does on a worker.
  template <class Rows, class Row>
  [[nodiscard]] static constexpr auto executions() {
    return std::array{Rows::template column<&Row::task>("task", 0, most),
                      Rows::template column<&Row::worker>("worker", 0, most),
                      Rows::template column<&Row::begin>("begin", 0, trace_year),
                      Rows::template column<&Row::end>("end", 0, trace_year)};
  }

  /// Trace::Task::accesses is its first.
  static std::int64_t count_of_accesses(Trace const& trace, std::size_t row) {
    return static_cast<std::int64_t>(trace.accesses_of(row).size());
  }
};

/// The group of columns of that name; null if there is none.
[[nodiscard]] inline TraceGroup const* find_trace_group(std::string_view name) {
  for (auto const& group : TraceTable<>::groups()) {
    if (group.name == name) {
      return &group;
    }
  }
  return nullptr;
}

} // namespace hetsched::detail
