// SPDX-License-Identifier: MIT
#pragma once
// What MpiTransport sends, and what it knows of each message.

#include <hetsched/detail/cluster/check_send.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::detail {

inline constexpr int mpi_head_tag = 1;
inline constexpr int mpi_payload_tag = 2;
/// A payload up to this goes with its head, in less than the 4096 bytes that Open MPI 4.1 sends at
/// once in shared memory (btl_vader_eager_limit). Measured on a busy VM with 2 cores: its MPI_Send
/// of 2000 bytes took 3 us, of 4096 bytes 28 us.
inline constexpr std::size_t mpi_small_bytes = 3072;

/// In front of each head.
struct MpiEnvelope {
  std::uint32_t head_bytes = 0;
  std::uint32_t number = 0; // of the pair's messages, from 0, modulo 2^32
  std::uint64_t payload_bytes = 0;
};

/// A large payload on its way to another rank.
struct MpiSending {
  std::uint64_t cookie = 0;
  std::size_t parts = 0;
};

/// A part of it that MPI has not been given yet.
struct MpiWaitingPart {
  int to = 0;
  std::span<std::byte const> bytes;
  std::shared_ptr<MpiSending> whole;
};

/// What a send of MPI's is.
struct MpiSendInfo {
  int to = 0;
  std::unique_ptr<std::vector<std::byte>> buffer = {}; // of a head; otherwise:
  std::shared_ptr<MpiSending> whole = {};
};

/// A large payload on its way here.
struct MpiReceiving {
  int from = 0;
  std::size_t head_bytes = 0;
  std::array<std::byte, max_head_bytes> head{};
  std::byte* place = nullptr;
  std::size_t bytes = 0;
  std::size_t parts = 0;
};

/// What a receive of MPI's is.
struct MpiReceiveInfo {
  std::shared_ptr<MpiReceiving> whole;
  std::size_t bytes = 0; // of this part
};

/// A message in a slot.
struct MpiMessage {
  std::span<std::byte const> head;
  std::span<std::byte const> payload; // what came with the head
  std::size_t bytes = 0;              // of the whole payload
};

} // namespace hetsched::detail
