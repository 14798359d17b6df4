// SPDX-License-Identifier: MIT
#pragma once
// Files with performance models, kept from run to run. Needs nlohmann-json.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/detail/core/fnv_hash.hpp>
#include <hetsched/detail/files/json_file.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/policies/perf_models/history.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hetsched::detail {

using KeptTimes = std::vector<policies::History::Samples>;

/// The contents of one file: times of one class of workers on one machine.
struct TimesFile {
  std::string machine;
  Site::Class workers;
  KeptTimes kinds;
};

/// The number as 16 hexadecimal digits, because JSON's numbers are exact up to 2^53 only.
[[nodiscard]] inline std::string in_hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, number);
  return text;
}

[[nodiscard]] inline std::uint64_t read_footprint(JsonValue const& value) {
  auto const text = value.text();
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    value.refuse("is no hexadecimal number");
  }
  return number;
}

/// Reads the contents of a file. Throws an Error(bad_input) that names file and place.
[[nodiscard]] inline TimesFile parse_times(std::string const& text, std::string const& path) {
  auto const json = parse_json(text, path);
  JsonValue const root(json, path, "");
  root.only({"format", "machine", "class", "hardware", "kinds"});
  if (root["format"].text() != "times-1") {
    root["format"].refuse("is not \"times-1\"");
  }
  TimesFile content;
  content.machine = root["machine"].text();
  content.workers = {ArchHost, root["class"].text(), root["hardware"].text()};
  if (content.workers.name != "cpu" && content.workers.name != "cuda") {
    root["class"].refuse("is neither \"cpu\" nor \"cuda\"");
  }
  if (content.workers.name == "cuda") {
    content.workers.arch = ArchCUDA;
  }
  constexpr auto most = policies::History::window;
  constexpr std::int64_t year = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
  for (auto const& value : root["kinds"].elements()) {
    value.only(
        {"type", "footprint", "data_bytes", "flops", "count", "mean_ns", "drifts", "newest_ns"});
    policies::History::Samples kind;
    kind.type = value["type"].text();
    kind.footprint = read_footprint(value["footprint"]);
    kind.arch = content.workers.arch;
    kind.bytes = value["data_bytes"].integer(0, SIZE_MAX);
    if (auto const flops = value.find("flops")) {
      kind.flops = static_cast<float>(flops->number(0, std::numeric_limits<float>::max()));
    }
    kind.count = value["count"].integer(1, policies::History::most_counted);
    kind.mean_ns = value["mean_ns"].number(0, static_cast<double>(year));
    kind.drifts = value["drifts"].integer(0, kind.count);
    auto const newest = value["newest_ns"];
    for (auto const& time : newest.elements()) {
      kind.newest.push_back({time.signed_integer(0, year)});
    }
    if (kind.newest.empty() || kind.newest.size() > std::min<std::uint64_t>(most, kind.count)) {
      newest.refuse("has " + std::to_string(kind.newest.size()) + " elements of " +
                    std::to_string(kind.count));
    }
    content.kinds.push_back(std::move(kind));
  }
  return content;
}

[[nodiscard]] inline std::string text_of(TimesFile const& content) {
  nlohmann::ordered_json root;
  root["format"] = "times-1";
  root["machine"] = content.machine;
  root["class"] = content.workers.name;
  root["hardware"] = content.workers.hardware;
  root["kinds"] = nlohmann::ordered_json::array();
  for (auto const& kind : content.kinds) {
    nlohmann::ordered_json value;
    value["type"] = kind.type;
    value["footprint"] = in_hex(kind.footprint);
    value["data_bytes"] = kind.bytes;
    if (kind.flops > 0) {
      value["flops"] = kind.flops;
    }
    value["count"] = kind.count;
    value["mean_ns"] = kind.mean_ns;
    value["drifts"] = kind.drifts;
    for (auto const time : kind.newest) {
      value["newest_ns"].push_back(time.ns);
    }
    root["kinds"].push_back(std::move(value));
  }
  return root.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// The folder of one machine under Config::model_dir. Any number of processes may use it at once.
class ModelFolder {
public:
  /// Makes the folder if it does not exist. Throws Error(bad_config).
  explicit ModelFolder(Site const& site)
      : machine_(site.machine), folder_(site.model_dir + "/" + file_name(site.machine)) {
    make_folders();
    auto const lock = folder_ + "/.lock";
    lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) {
      refuse(lock);
    }
  }

  ModelFolder(ModelFolder const&) = delete;
  ModelFolder& operator=(ModelFolder const&) = delete;

  ~ModelFolder() { close(lock_); }

  /// The file for some hardware.
  [[nodiscard]] std::string path(std::string const& hardware, char const* ending) const {
    return folder_ + "/" + file_name(hardware) + ending;
  }

  /// The times of a class of workers. A file that cannot be used is named on stderr and set aside.
  [[nodiscard]] KeptTimes load(Site::Class const& workers) {
    auto const file = path(workers.hardware, times_ending);
    Locked const locked(lock_); // so a new file of another process is not mistaken for a bad one
    return load_locked(file, workers);
  }

  /// Adds times to those in the file. Throws Error(bad_input) if the file cannot be written. It is
  /// then unchanged.
  void add(Site::Class const& workers, KeptTimes const& fresh) {
    auto const file = path(workers.hardware, times_ending);
    Locked const locked(lock_);
    std::map<std::pair<std::string, std::uint64_t>, policies::History::Samples> kinds;
    auto const merge = [&](KeptTimes const& times) {
      for (auto const& samples : times) {
        if (samples.type.empty() || samples.type.size() > JsonValue::longest_text) {
          continue; // a name that cannot be in a file
        }
        auto const [known, first] = kinds.try_emplace({samples.type, samples.footprint}, samples);
        if (!first) {
          known->second.append(samples);
        }
      }
    };
    merge(load_locked(file, workers));
    merge(fresh);
    TimesFile all{machine_, workers, {}};
    for (auto& [key, samples] : kinds) {
      all.kinds.push_back(std::move(samples));
    }
    replace_file(file, text_of(all));
  }

  /// Calls `read(path)`; if it throws Error(bad_input), the file is named and set aside. Nothing
  /// happens if there is no file.
  template <class Read>
  static void read_or_set_aside(std::string const& file, Read&& read) {
    struct stat found{};
    if (stat(file.c_str(), &found) != 0 && errno == ENOENT) {
      return;
    }
    try {
      read(file);
    } catch (Error const& error) {
      auto aside = file + ".bad";
      for (int k = 2; stat(aside.c_str(), &found) == 0; ++k) {
        aside = file + ".bad" + std::to_string(k);
      }
      bool const done = std::rename(file.c_str(), aside.c_str()) == 0;
      std::fprintf(stderr,
                   "%s; %s%s, going on without\n",
                   error.what(),
                   done ? "set aside as " : "cannot be set aside",
                   done ? aside.c_str() : "");
    }
  }

  static constexpr char times_ending[] = ".times.json";
  static constexpr char platform_ending[] = ".platform.json";

private:
  /// While it is held, no other process and no other runtime changes the folder.
  class Locked {
  public:
    explicit Locked(int file) : file_(file) {
      while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
      }
    }

    Locked(Locked const&) = delete;
    Locked& operator=(Locked const&) = delete;

    ~Locked() { flock(file_, LOCK_UN); }

  private:
    int file_;
  };

  /// A file name that is valid on every system. Different names stay different.
  [[nodiscard]] static std::string file_name(std::string_view name) {
    std::string safe;
    FnvHash hash;
    hash.add(name);
    for (char const c : name) {
      bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || c == '+' ||
                         (c == '.' && !safe.empty());
      safe += plain ? c : '_';
    }
    if (safe == name && safe.size() <= 100) {
      return safe;
    }
    return safe.substr(0, 80) + "-" + in_hex(hash.value());
  }

  void make_folders() const {
    for (std::size_t at = 1; at <= folder_.size(); ++at) {
      if (at == folder_.size() || folder_[at] == '/') {
        auto const part = folder_.substr(0, at);
        if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
          refuse(part);
        }
      }
    }
  }

  [[noreturn]] static void refuse(std::string const& path) {
    throw Error(ErrorCode::bad_config,
                "HETSCHED_MODEL_DIR",
                "'" + path + "' cannot be made: " + std::strerror(errno));
  }

  [[nodiscard]] KeptTimes load_locked(std::string const& file, Site::Class const& workers) const {
    KeptTimes times;
    read_or_set_aside(file, [&](std::string const& path) {
      auto content = parse_times(read_text_file(path), path);
      if (content.machine != machine_ || content.workers.name != workers.name ||
          content.workers.hardware != workers.hardware) {
        throw Error(ErrorCode::bad_input,
                    path,
                    "is of machine '" + content.machine + "', " + content.workers.name + " '" +
                        content.workers.hardware + "'");
      }
      times = std::move(content.kinds);
    });
    return times;
  }

  std::string machine_;
  std::string folder_;
  int lock_ = -1;
};

} // namespace hetsched::detail
