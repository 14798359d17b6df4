// SPDX-License-Identifier: MIT
#pragma once
// The programs that `overhead` compares: finding them, running one of them, reading its answer.

#include "../../examples/common/program.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace overhead {

struct Peer {
  std::string name;
  std::string path;
  std::string version;
};

/// What one process said, in order.
struct Answer {
  std::vector<double> seconds; // of each round
  double tasks = 0;
  double bound = 0;     // seconds, of hetsched's Cholesky
  double gemm_rate = 0; // flop/s, as well
};

inline std::string own_folder() {
  char path[4096];
  auto const length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string const self(path, length < 0 ? 0 : static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1);
}

inline std::string quoted(std::string const& text) {
  std::string result = "'";
  for (char const c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

/// The lines a command prints; nothing if it fails.
inline std::optional<std::string> output_of(std::string const& command) {
  std::string text;
  auto* const pipe = ::popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (pipe == nullptr) {
    return std::nullopt;
  }
  char buffer[4096];
  while (auto const got = std::fread(buffer, 1, sizeof buffer, pipe)) {
    text.append(buffer, got);
  }
  return ::pclose(pipe) == 0 ? std::optional(text) : std::nullopt;
}

inline std::vector<Peer> find_peers() {
  std::vector<Peer> peers;
  for (std::string const name :
       {"hetsched", "libgomp", "llvm_openmp", "onetbb", "starpu", "openblas"}) {
    auto const path = own_folder() + "overhead_" + name;
    if (auto version = output_of(quoted(path) + " versions")) {
      while (!version->empty() && std::isspace(static_cast<unsigned char>(version->back()))) {
        version->pop_back();
      }
      peers.push_back({name, path, *version});
    }
  }
  if (peers.empty() || peers.front().name != "hetsched") {
    example::bad_input("overhead_hetsched", "is not beside this program, or does not run");
  }
  return peers;
}

inline std::optional<Answer> ask(Peer const& peer,
                                 std::string_view graph,
                                 std::size_t n,
                                 std::size_t tile,
                                 int workers,
                                 int rounds,
                                 std::string const& scheduler) {
  std::ostringstream command;
  command << quoted(peer.path) << ' ' << graph << ' ' << n << ' ' << tile << ' ' << workers << ' '
          << rounds << ' ' << scheduler;
  auto const text = output_of(command.str());
  if (!text) {
    return std::nullopt;
  }
  Answer answer;
  std::istringstream lines(*text);
  std::string key;
  double value = 0;
  while (lines >> key >> value) {
    if (key == "seconds") {
      answer.seconds.push_back(value);
    } else if (key == "tasks") {
      answer.tasks = value;
    } else if (key == "bound") {
      answer.bound = value;
    } else if (key == "gemm_rate") {
      answer.gemm_rate = value;
    }
  }
  return answer.seconds.empty() ? std::nullopt : std::optional(answer);
}

} // namespace overhead
