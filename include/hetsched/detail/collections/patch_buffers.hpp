// SPDX-License-Identifier: MIT
#pragma once
// Host memory for patches, as data of the node's runtime.

#include <hetsched/detail/collections/array_layout.hpp>
#include <hetsched/detail/collections/task_node.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Buffers, of which those that hold a patch which was read serve further tasks that read it, until
/// `forget`. Memory of unused ones is kept for others of the same shape, up to a limit.
class PatchBuffers {
public:
  PatchBuffers(TaskNode& node, std::size_t most_bytes) : node_(node), most_bytes_(most_bytes) {}

  PatchBuffers(PatchBuffers const&) = delete;
  PatchBuffers& operator=(PatchBuffers const&) = delete;

  /// The one that holds the patch, or will, with one more user; null: none does.
  [[nodiscard]] PatchBuffer* find(PatchOf const& patch) {
    auto const found = held_.find(patch);
    if (found == held_.end()) {
      return nullptr;
    }
    use(found->second);
    return &*found->second;
  }

  /// A buffer with one user, whose contents are of no meaning. `holds`: tasks may find it.
  [[nodiscard]] PatchBuffer& make(PatchOf const& patch, WindowElement element, bool holds) {
    auto const at = take(patch, element);
    at->patch = patch;
    at->holds = holds;
    at->users = 1;
    if (holds) {
      held_.emplace(patch, at);
    }
    return *at;
  }

  /// One user less. If `bad`, it does not hold what it should.
  void release(PatchBuffer& buffer, bool bad = false) {
    if (bad && buffer.holds) {
      held_.erase(buffer.patch);
      buffer.holds = false;
    }
    if (--buffer.users != 0) {
      return;
    }
    if (buffer.holds) {
      unused_.splice(unused_.end(), used_, buffer.at);
    } else {
      spare_[shape_of(buffer.patch, buffer.element)].push_back(buffer.at);
    }
    shrink();
  }

  /// The arrays may change: none holds anything any more. Nothing is in use.
  void forget() {
    held_.clear();
    while (!unused_.empty()) {
      auto& buffer = unused_.front();
      buffer.holds = false;
      used_.splice(used_.end(), unused_, buffer.at);
      spare_[shape_of(buffer.patch, buffer.element)].push_back(buffer.at);
    }
  }

private:
  using Buffers = std::list<PatchBuffer>;
  using At = Buffers::iterator;
  using Shape = std::tuple<WindowElement, std::uint32_t, std::uint32_t>;

  struct PatchHash {
    [[nodiscard]] std::size_t operator()(PatchOf const& p) const noexcept {
      auto hash = (p.row * 0x9fb21c651e98df25U) ^ p.column;
      hash = (hash * 0x9fb21c651e98df25U) ^ (std::uint64_t{p.rows} << 32U | p.columns);
      return (hash * 0x9fb21c651e98df25U) ^ p.array;
    }
  };

  [[nodiscard]] static Shape shape_of(PatchOf const& patch, WindowElement element) noexcept {
    return {element, patch.rows, patch.columns};
  }

  void use(At at) {
    if (at->users++ == 0 && at->holds) {
      used_.splice(used_.end(), unused_, at);
    }
  }

  /// One of that shape that nobody needs, or a new one.
  At take(PatchOf const& patch, WindowElement element) {
    auto const shape = shape_of(patch, element);
    if (auto const spare = spare_.find(shape); spare != spare_.end() && !spare->second.empty()) {
      auto const at = spare->second.back();
      spare->second.pop_back();
      return at;
    }
    bool const full = bytes_ + patch.bytes() > most_bytes_ && !unused_.empty();
    if (full && shape_of(unused_.front().patch, unused_.front().element) == shape) {
      auto const at = unused_.begin();
      held_.erase(at->patch);
      used_.splice(used_.end(), unused_, at);
      return at;
    }
    return allocate(patch, element);
  }

  At allocate(PatchOf const& patch, WindowElement element) {
    auto const at = used_.emplace(used_.end());
    try {
      at->patch = patch;
      at->element = element;
      at->at = at;
      node_.attach(*at);
    } catch (...) {
      used_.erase(at);
      throw;
    }
    bytes_ += patch.bytes();
    return at;
  }

  /// Gives memory of unused ones back while there is too much.
  void shrink() {
    while (bytes_ > most_bytes_ && !unused_.empty()) {
      held_.erase(unused_.front().patch);
      bytes_ -= unused_.front().patch.bytes();
      unused_.pop_front();
    }
    if (bytes_ > most_bytes_) {
      for (auto& [shape, all] : spare_) {
        for (auto const at : all) {
          bytes_ -= at->patch.bytes();
          used_.erase(at);
        }
      }
      spare_.clear();
    }
  }

  TaskNode& node_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Buffers used_;                           // and spare ones
  Buffers unused_;                         // that hold something; not used for longest first
  std::map<Shape, std::vector<At>> spare_; // that hold nothing
  std::unordered_map<PatchOf, At, PatchHash> held_;
};

} // namespace hetsched::detail
