// SPDX-License-Identifier: MIT
#pragma once
// Writes the events that decide which bytes move to a file, for people and for
// tests/programs/replay_memory.py.

#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/memory/memory_events.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace hetsched::detail {

/// Comma-separated values with a header line; docs/gpu.md says what each line means. Used under the
/// lock of the memory nodes. The file is replaced at the end. If that fails, one line on stderr
/// says so: nobody could catch an exception.
class MemoryTrace final : public MemoryObserver {
public:
  /// Throws Error(bad_config) naming the option.
  MemoryTrace(std::string const& path, char const* option) : out_(std::in_place, path, option) {
    *out_ << "event,datum,node,to,how,bytes\n";
  }

  MemoryTrace(MemoryTrace const&) = delete;
  MemoryTrace& operator=(MemoryTrace const&) = delete;

  ~MemoryTrace() {
    write([&] { out_->close(); });
  }

  void peers(NodeId from, NodeId to) {
    write([&] { *out_ << "peers,0," << from.value << ',' << to.value << ",,0\n"; });
  }

  void admit(Replicas const& datum, NodeId at, bool reads, bool writes) override {
    line("admit", datum, at, mode(reads, writes));
  }

  void begin(Replicas const& datum, NodeId at, bool reads, bool writes) override {
    line("begin", datum, at, mode(reads, writes));
  }

  void end(Replicas const& datum, NodeId at, bool writes, bool done) override {
    line("end", datum, at, !writes ? "R" : done ? "W" : "failed");
  }

  void cancel(Replicas const& datum, NodeId at, bool writes) override {
    line("cancel", datum, at, writes ? "W" : "R");
  }

  void evict(Replicas const& datum, NodeId at) override { line("evict", datum, at); }

  void write_back(Replicas const& datum, NodeId at) override { line("write_back", datum, at); }

  void prefetch(Replicas const& datum, NodeId at) override { line("prefetch", datum, at); }

  void moved(Replicas const& datum, NodeId from, NodeId to) override {
    write([&] {
      *out_ << "moved," << datum.number << ',' << from.value << ',' << to.value << ",,"
            << datum.bytes() << '\n';
    });
  }

  void forget(Replicas const& datum) override { line("forget", datum, host_node); }

private:
  [[nodiscard]] static char const* mode(bool reads, bool writes) noexcept {
    return reads ? writes ? "RW" : "R" : "W";
  }

  void line(char const* event, Replicas const& datum, NodeId at, char const* how = "") {
    write([&] {
      *out_ << event << ',' << datum.number << ',' << at.value << ",," << how << ','
            << datum.bytes() << '\n';
    });
  }

  template <class Write>
  void write(Write const& its) noexcept {
    if (out_) {
      try {
        its();
      } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        out_.reset();
      }
    }
  }

  std::optional<TextWriter> out_; // empty: it could not be written
};

} // namespace hetsched::detail
