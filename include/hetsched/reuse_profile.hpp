// SPDX-License-Identifier: MIT
#pragma once
// Profiles of reuse, for a program that has this header in one of its files: Config::reuse_profile,
// HETSCHED_REUSE_PROFILE and Simulation::reuse_profile work there (docs/caches.md).

#include <hetsched/core/version.hpp>
#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/recording.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace hetsched {

/// How often the tasks of a run used each datum.
/// Source: the multi-grained sparse LU on CPU and GPU, sec. 4.1: indices from "a preliminary step
/// that profiles the first execution". What an index counts is left open there.
struct ReuseProfile {
  /// A region, or a part of one.
  struct Datum {
    std::uint64_t rows = 0;
    std::uint64_t cols = 0;
    std::uint64_t element_bytes = 0;
    std::uint64_t uses = 0; // tasks that name it, merges of reductions not among them

    friend bool operator==(Datum const&, Datum const&) = default;
  };

  /// In the order in which the program registered them, outside of bodies.
  std::vector<Datum> data;

  friend bool operator==(ReuseProfile const&, ReuseProfile const&) = default;
};

namespace detail {

/// A profile's text, line by line.
class ReuseReader {
public:
  ReuseReader(std::string_view text, std::string const& name) : text_(text), name_(name) {}

  [[nodiscard]] ReuseProfile read() {
    constexpr std::size_t shortest = 8; // "0 0 0 0\n"
    if (!next() || line_ != "hetsched reuse 1") {
      fail("this is no profile of reuse");
    }
    if (!next() || !take("data ")) {
      fail("the number of data is missing");
    }
    auto const count = number();
    end_of_line();
    if (count > text_.size() / shortest) {
      fail("the file is too short for " + std::to_string(count) + " data");
    }
    ReuseProfile profile;
    profile.data.reserve(count);
    while (profile.data.size() < count) {
      if (!next()) {
        fail("the file ends here; expected datum " + std::to_string(profile.data.size() + 1) +
             " of " + std::to_string(count));
      }
      auto& datum = profile.data.emplace_back();
      for (auto* const field : {&datum.rows, &datum.cols, &datum.element_bytes, &datum.uses}) {
        *field = number();
        if (field != &datum.uses && !take(" ")) {
          fail("rows, columns, bytes of an element and uses are expected");
        }
      }
      end_of_line();
    }
    if (next()) {
      fail("there is text behind the last datum");
    }
    return profile;
  }

private:
  [[noreturn]] void fail(std::string const& reason) const {
    throw Error(
        ErrorCode::bad_input, name_, "line " + std::to_string(line_number_) + ": " + reason);
  }

  /// False at the end, or if the line is not whole.
  bool next() {
    ++line_number_;
    auto const end = text_.find('\n');
    if (end == std::string_view::npos) {
      if (!text_.empty()) {
        fail("the line has no end");
      }
      line_ = {};
      return false;
    }
    line_ = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }

  bool take(std::string_view word) {
    bool const found = line_.starts_with(word);
    line_.remove_prefix(found ? word.size() : 0);
    return found;
  }

  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    auto const [end, error] = std::from_chars(line_.data(), line_.data() + line_.size(), value);
    if (error != std::errc()) {
      fail("a number is missing, or too large");
    }
    line_.remove_prefix(static_cast<std::size_t>(end - line_.data()));
    return value;
  }

  void end_of_line() const {
    if (!line_.empty()) {
      fail("there is text behind the number");
    }
  }

  std::string_view text_;
  std::string const& name_;
  std::string_view line_;
  std::size_t line_number_ = 0;
};

} // namespace detail

/// Throws Error(bad_input) with the path, "line N: reason".
[[nodiscard]] inline ReuseProfile read_reuse_profile(std::string const& path) {
  auto const text = detail::read_text_file(path);
  return detail::ReuseReader(text, path).read();
}

/// Replaces the file as a whole. Throws Error(bad_input) if it cannot be written.
inline void write_reuse_profile(ReuseProfile const& profile, std::string const& path) {
  detail::TextWriter file(path);
  file << "hetsched reuse 1\ndata " << profile.data.size() << '\n';
  for (auto const& datum : profile.data) {
    file << datum.rows << ' ' << datum.cols << ' ' << datum.element_bytes << ' ' << datum.uses
         << '\n';
  }
  file.close();
}

namespace detail {

/// A profile has data in the order in which the program registers them. What bodies register is not
/// among them: their order may be another in each run.
[[nodiscard]] inline bool is_registered_in_body(DataRecord const& record) noexcept {
  return record.home.domain->owner != nullptr;
}

/// Watches that one thread registers all data, so that their order is the same in the next run.
class RegistrationOrder {
public:
  /// Whether the thread that calls has registered all so far. False from then on that it has not.
  [[nodiscard]] bool one_thread() noexcept {
    thread_local char const here = 0;
    thread_ = thread_ == nullptr ? &here : thread_;
    one_ = one_ && thread_ == &here;
    return one_;
  }

private:
  void const* thread_ = nullptr;
  bool one_ = true;
};

inline constexpr char const* several_threads =
    "several threads of the program registered data, and their order may be another in each run";

/// A recorder that counts the uses of each datum.
class UseCounter final : public EventRecorder, public DataObserver {
public:
  UseCounter(RecorderSetup const& setup, std::size_t workers)
      : EventRecorder(setup, workers), profile_path_(setup.reuse_profile) {
    NewFile const trial(profile_path_, "HETSCHED_REUSE_PROFILE"); // whether it can be written
  }

  DataObserver* observer() noexcept override { return this; }

  void registered(DataRecord& record) override {
    std::lock_guard const guard(lock_);
    numbers_.erase(&record); // of one that is gone
    if (is_registered_in_body(record)) {
      return;
    }
    one_thread_ = order_.one_thread();
    make_room_in_each(profile_.data.size() + 1, profile_.data, last_);
    numbers_[&record] = profile_.data.size(); // the last that may throw
    last_.push_back(0);
    profile_.data.push_back({record.shape.rows, record.shape.cols, record.element_bytes, 0});
  }

  void spawned(WorkerId by, TaskRecord const& task, Instant at) override {
    if (task.type_of().kind == TaskKind::user) {
      count(task);
    }
    EventRecorder::spawned(by, task, at);
  }

  void ended() noexcept override {
    if (profile_.data.empty()) {
      return; // a runtime beside the one that matters
    }
    try {
      if (!one_thread_) {
        throw Error(
            ErrorCode::bad_input, profile_path_, std::string("not written: ") + several_threads);
      }
      write_reuse_profile(profile_, profile_path_);
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }

private:
  void count(TaskRecord const& task) {
    std::lock_guard const guard(lock_);
    ++tasks_;
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      auto const it = numbers_.find(access.queue->data);
      if (it != numbers_.end() && last_[it->second] != tasks_) { // once for each task
        last_[it->second] = tasks_;
        ++profile_.data[it->second].uses;
      }
    }
  }

  std::string const profile_path_;
  SpinLock lock_;
  RegistrationOrder order_;
  bool one_thread_ = true;
  std::unordered_map<DataRecord const*, std::size_t> numbers_;
  ReuseProfile profile_;
  std::vector<std::uint64_t> last_; // the last task that used each datum
  std::uint64_t tasks_ = 0;
};

/// Gives each datum its uses in an earlier run as reuse index.
class ReuseIndices final : public DataObserver {
public:
  explicit ReuseIndices(std::string const& path)
      : path_(path), profile_(read_reuse_profile(path)) {}

  void registered(DataRecord& record) override {
    if (is_registered_in_body(record)) {
      return;
    }
    if (!order_.one_thread()) {
      throw Error(ErrorCode::bad_input, path_, std::string("not used: ") + several_threads);
    }
    if (next_ == profile_.data.size()) {
      refuse("has " + std::to_string(next_) + " data, and this program registers more");
    }
    auto const& datum = profile_.data[next_];
    if (datum.rows != record.shape.rows || datum.cols != record.shape.cols ||
        datum.element_bytes != record.element_bytes) {
      refuse("datum " + std::to_string(next_ + 1) + " is " +
             in_words(datum.rows, datum.cols, datum.element_bytes) + " there and " +
             in_words(record.shape.rows, record.shape.cols, record.element_bytes) + " here");
    }
    ++next_;
    record.reuse = static_cast<std::int32_t>(std::min<std::uint64_t>(datum.uses, INT32_MAX));
  }

  void ended() noexcept override {
    if (next_ != 0 && next_ != profile_.data.size()) {
      std::fprintf(stderr,
                   "hetsched: %s: has %zu data, and this program registered %zu: the profile is of "
                   "another program\n",
                   path_.c_str(),
                   profile_.data.size(),
                   next_);
    }
  }

private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input,
                path_,
                why + ": the profile is of another program; without the file a new one is made");
  }

  static std::string in_words(std::uint64_t rows, std::uint64_t cols, std::uint64_t element_bytes) {
    return std::to_string(rows) + " x " + std::to_string(cols) + " of " +
           std::to_string(element_bytes) + " bytes";
  }

  std::string const path_;
  ReuseProfile const profile_;
  RegistrationOrder order_;
  std::size_t next_ = 0;
};

inline constexpr ReuseProfiles these_reuse_profiles{
    [](RecorderSetup const& setup, std::size_t workers) -> Recorder* {
      std::error_code ignored;
      bool const there = std::filesystem::exists(setup.reuse_profile, ignored);
      return there ? nullptr : new UseCounter(setup, workers);
    },
    [](std::string const& path) -> DataObserver* { return new ReuseIndices(path); }};

inline bool const reuse_profiles_are_there = [] {
  reuse_profiles = &these_reuse_profiles;
  return true;
}();

} // namespace detail

} // namespace hetsched
