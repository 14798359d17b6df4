// SPDX-License-Identifier: MIT
#pragma once
// The tested transports behind virtual functions, and what the kit knows of each message.

#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/testing/subject_base.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::testing::detail {

class TransportDriver;

/// One rank's inbox, which tells the driver.
struct JudgingInbox {
  std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes);
  void arrived(int from, std::span<std::byte const> head, std::byte* place, std::size_t bytes);
  void sent(std::uint64_t cookie);
  void lost(int gone, std::string_view why);

  TransportDriver* driver = nullptr;
  int rank = 0;
  bool told = false; // something in this poll
};

/// All ranks' transports on one network.
class TransportSubject : public SubjectBase {
public:
  virtual void send(int from,
                    int to,
                    std::span<std::byte const> head,
                    std::span<std::byte const> payload,
                    std::uint64_t cookie) = 0;
  virtual bool poll(int rank, JudgingInbox& inbox) = 0;
  [[nodiscard]] virtual bool can_kill() const noexcept = 0;
  virtual void kill(int rank) = 0;
};

using MakeTransports =
    std::function<std::unique_ptr<TransportSubject>(int ranks, std::uint64_t seed)>;

struct SentMessage {
  int from = 0;
  int to = 0;
  std::vector<std::byte> head;
  std::size_t bytes = 0;             // of the payload
  std::vector<std::byte> payload;    // what the transport reads
  std::vector<std::byte> place = {}; // where the receiver wants it
  bool begun = false;
  bool arrived = false;
  bool over = false; // `sent` was reported
};

/// The bytes of the head or payload with this number.
inline std::vector<std::byte> bytes_of(std::uint64_t number, std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint64_t state = scramble(number + 1);
  for (auto& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return bytes;
}

/// "message 3 from rank 0 to rank 1 (head 8, payload 0 bytes)"
inline std::string describe(std::uint64_t cookie, SentMessage const& message) {
  return hetsched::detail::text(
      "message %llu from rank %d to rank %d (head %zu, payload %zu bytes)",
      static_cast<unsigned long long>(cookie),
      message.from,
      message.to,
      message.head.size(),
      message.bytes);
}

} // namespace hetsched::testing::detail
