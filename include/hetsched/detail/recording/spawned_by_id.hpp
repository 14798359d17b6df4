// SPDX-License-Identifier: MIT
#pragma once
// What the id of a task meant at a time: ids recur after some ten thousand spawns.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Spawns in the order of time, numbered from 0.
class SpawnedById {
public:
  static constexpr std::uint32_t none = 0xffffffff;

  void add(std::uint64_t id, std::int64_t at) {
    auto const self = static_cast<std::uint32_t>(spawns_.size());
    auto const [known, fresh] = latest_.try_emplace(id, self);
    spawns_.push_back({at, fresh ? none : std::exchange(known->second, self)});
  }

  /// The last one with that id at or before a time; none if it is not known.
  [[nodiscard]] std::uint32_t find(std::uint64_t id, std::int64_t at) const {
    auto const known = latest_.find(id);
    auto number = known == latest_.end() ? none : known->second;
    while (number != none && spawns_[number].at > at) {
      number = spawns_[number].before;
    }
    return number;
  }

private:
  struct Spawn {
    std::int64_t at;
    std::uint32_t before; // with the same id
  };

  std::unordered_map<std::uint64_t, std::uint32_t> latest_;
  std::vector<Spawn> spawns_;
};

} // namespace hetsched::detail
