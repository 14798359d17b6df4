// SPDX-License-Identifier: MIT
#pragma once
// Several streams for one body of a GPU, so that its kernels may run at the same time.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

#include <cstddef>
#include <span>

namespace hetsched {

/// Streams beside the one that a body is given. What is launched in one of them comes after what
/// the body's stream was given before, and may run at the same time as what is launched in the
/// others; each keeps its own order. What the body's stream is given after `join` comes after all
/// of it, as does whatever uses the task's results.
///
///     hs::GpuBranches branches(stream, 4);
///     for (std::size_t k = 0; k < blocks.size(); ++k) {
///       hs::gpu::gemm(branches[k], 'N', 'N', -1.0, left[k], right[k], 1.0, blocks[k]);
///     }
///
/// For small kernels, of which one alone leaves most of a GPU idle. The streams are made at their
/// first use and belong to the device: bodies that ask one after the other share them, so their
/// kernels may wait for each other. One at a time in a body.
class GpuBranches {
public:
  /// Throws Error(bad_call) if `count` is 0 or `stream` is a branch itself, Error(device_failed) if
  /// the device has no more streams.
  GpuBranches(GpuStream& stream, std::size_t count)
      : source_(source_of(stream, count)), handles_(count), streams_(fork(), [&](std::size_t k) {
          return GpuStream(stream.driver(), handles_[k], stream.places());
        }) {}

  GpuBranches(GpuBranches const&) = delete;
  GpuBranches& operator=(GpuBranches const&) = delete;

  /// Joins, if that was not done.
  ~GpuBranches() { join(); }

  [[nodiscard]] std::size_t size() const noexcept { return streams_.size(); }

  /// Stream number k modulo their number.
  [[nodiscard]] GpuStream& operator[](std::size_t k) const noexcept {
    return streams_[k % streams_.size()];
  }

  /// From now on the body's stream waits for the branches, which are not to be used any more.
  void join() noexcept {
    if (source_ != nullptr) {
      source_->join({handles_.begin(), handles_.size()});
      source_ = nullptr;
    }
  }

private:
  [[nodiscard]] static detail::BranchSource* source_of(GpuStream const& stream, std::size_t count) {
    if (count == 0 || stream.branches() == nullptr) {
      throw Error(ErrorCode::bad_call,
                  "GpuBranches",
                  count == 0 ? "asks for no stream" : "a branch has no branches of its own");
    }
    return stream.branches();
  }

  /// Fills in the streams; their number.
  [[nodiscard]] std::size_t fork() {
    source_->fork({handles_.begin(), handles_.size()});
    return handles_.size();
  }

  detail::BranchSource* source_; // null: joined
  detail::FixedArray<hs_stream*> handles_;
  detail::FixedArray<GpuStream> streams_;
};

} // namespace hetsched
