// SPDX-License-Identifier: MIT
#pragma once
// Tasks of a collection as bytes, which may move to another rank.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What precedes the arguments.
struct PackedHead {
  static constexpr std::uint16_t cpu = 1;
  static constexpr std::uint16_t gpu = 2;

  std::uint16_t type = 0;  // its place among the collection's types
  std::uint16_t archs = 0; // cpu | gpu: the bodies that it has
  float cpu_ns = 0;        // expected times; 0: not known
  float gpu_ns = 0;
  std::int32_t near = 0; // the rank that has the most bytes of the patches, if thieves want to know

  /// The time on a core through that on a GPU: above 1 for tasks that are better on a GPU.
  [[nodiscard]] float ratio() const noexcept {
    if (archs != (cpu | gpu)) {
      return archs == gpu ? most : 0;
    }
    return cpu_ns > 0 && gpu_ns > 0 ? cpu_ns / gpu_ns : 1;
  }

  [[nodiscard]] bool is_gpu() const noexcept { return ratio() > 1; }

  /// On its kind of worker.
  [[nodiscard]] std::int64_t ns(bool on_gpu) const noexcept {
    return static_cast<std::int64_t>(on_gpu ? gpu_ns : cpu_ns);
  }

  static constexpr float most = 1e30F;
};

/// Of one task's patches.
class BytesByRank {
public:
  void add(std::int32_t rank, std::size_t bytes) {
    auto at = std::find_if(
        all_.begin(), all_.end(), [rank](auto const& one) { return one.first == rank; });
    if (at == all_.end()) {
      at = all_.insert(at, {rank, 0});
    }
    at->second += bytes;
  }

  /// The rank with the most, of several the first that was added; `none` if there is none.
  [[nodiscard]] std::int32_t most(std::int32_t none) const noexcept {
    auto const at = std::max_element(
        all_.begin(), all_.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
    return at == all_.end() ? none : at->first;
  }

private:
  std::vector<std::pair<std::int32_t, std::size_t>> all_;
};

/// One task: a head and the arguments.
class PackedTask {
public:
  PackedTask() = default;

  explicit PackedTask(std::size_t bytes) : bytes_(new std::byte[bytes]()) {}

  PackedTask(std::byte const* from, std::size_t bytes) : bytes_(new std::byte[bytes]) {
    std::memcpy(bytes_.get(), from, bytes);
  }

  [[nodiscard]] PackedHead head() const noexcept {
    PackedHead head;
    std::memcpy(&head, bytes_.get(), sizeof head);
    return head;
  }

  void set_head(PackedHead const& head) noexcept { std::memcpy(bytes_.get(), &head, sizeof head); }

  [[nodiscard]] std::byte* arguments() const noexcept { return bytes_.get() + sizeof(PackedHead); }

  [[nodiscard]] std::byte const* bytes() const noexcept { return bytes_.get(); }

private:
  std::unique_ptr<std::byte[]> bytes_;
};

} // namespace hetsched::detail
