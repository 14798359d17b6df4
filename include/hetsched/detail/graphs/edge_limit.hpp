// SPDX-License-Identifier: MIT
#pragma once
// How many edges the graph in a file may have.

#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

/// Counts the edges that TaskGraph would make of accesses, before it makes them. N tasks that read
/// a datum and N that commute on it have N * N edges, so a small file could ask for any memory. The
/// limit leaves room for programs that do that: 1,000 contributions, and 1,000 readers of the sum,
/// 30 times. An edge takes 8 bytes.
class EdgeLimit {
public:
  static constexpr char const* exceeded =
      "has more dependencies than 33554432 and 16 for each access";

  /// The next access in program order. Returns false if there are too many edges with it.
  [[nodiscard]] bool take(GraphAccess const& access) {
    if (access.data >= data_.size()) {
      data_.resize(access.data + std::size_t{1});
    }
    auto& datum = data_[access.data];
    if (!joins_group(datum.mode, datum.reduction, access)) {
      datum = {access.mode, access.reduction, 0, datum.last};
    }
    ++datum.last;
    edges_ += datum.before;
    most_ += 16;
    return edges_ <= most_;
  }

private:
  struct Datum {
    AccessMode mode = AccessMode::value;
    void const* reduction = nullptr;
    std::size_t last = 0;   // tasks in the latest group of compatible accesses
    std::size_t before = 0; // in the group before it
  };

  std::vector<Datum> data_;
  std::uint64_t edges_ = 0;
  std::uint64_t most_ = 33554432;
};

} // namespace hetsched::detail
