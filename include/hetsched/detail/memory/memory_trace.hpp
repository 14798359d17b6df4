// SPDX-License-Identifier: MIT
#pragma once
// Writes the events that decide which bytes move to a file, for people and for
// tests/programs/replay_memory.py.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/memory/memory_events.hpp>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>

namespace hetsched::detail {

/// Comma-separated values with a header line; docs/gpu.md says what each line means. Used under the
/// lock of the memory nodes.
class MemoryTrace final : public MemoryObserver {
public:
  /// Throws Error(bad_config) naming the option.
  MemoryTrace(std::string const& path, char const* option) : file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) {
      throw Error(ErrorCode::bad_config, option, "cannot write '" + path + "'");
    }
    std::fputs("event,datum,node,to,how,bytes\n", file_.get());
  }

  void peers(NodeId from, NodeId to) {
    std::fprintf(file_.get(), "peers,0,%d,%d,,0\n", from.value, to.value);
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
    std::fprintf(file_.get(),
                 "moved,%" PRIu64 ",%d,%d,,%zu\n",
                 datum.number,
                 from.value,
                 to.value,
                 datum.bytes());
  }

  void forget(Replicas const& datum) override { line("forget", datum, host_node); }

private:
  [[nodiscard]] static char const* mode(bool reads, bool writes) noexcept {
    return reads ? writes ? "RW" : "R" : "W";
  }

  void line(char const* event, Replicas const& datum, NodeId at, char const* how = "") {
    std::fprintf(file_.get(),
                 "%s,%" PRIu64 ",%d,,%s,%zu\n",
                 event,
                 datum.number,
                 at.value,
                 how,
                 datum.bytes());
  }

  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> file_;
};

} // namespace hetsched::detail
