// SPDX-License-Identifier: MIT
#pragma once
// HETSCHED_CHECK=access: watches one body at a time.
//
// Pages that hold registered data alone are closed for the body as far as it did not declare them.
// Of all other registered data that it may not write, a copy is compared when it has ended.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/checking/access_reports.hpp>
#include <hetsched/detail/checking/page_guard.hpp>
#include <hetsched/detail/checking/turns.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

inline constinit thread_local Watched* this_watched = nullptr;

class AccessChecker {
public:
  [[nodiscard]] static AccessChecker& get() {
    static auto* const checker = new AccessChecker; // threads may need it until the process ends
    return *checker;
  }

  [[nodiscard]] Turns& turns() noexcept { return turns_; }

  /// Calls `f()` while this thread is watched. Throws what it throws, or Error(undeclared_access).
  template <class F>
  void watch(Watched& watched, F&& f) {
    WatchPause const of_outer;
    std::exception_ptr error;
    watched.outer = std::exchange(this_watched, &watched);
    begin(watched);
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    end(watched);
    this_watched = watched.outer;
    if (!watched.wrong.empty()) {
      throw Error(ErrorCode::undeclared_access, watched.culprit, watched.wrong.front());
    }
    if (error != nullptr) {
      std::rethrow_exception(error);
    }
  }

  void pause() noexcept {
    if (auto* const watched = this_watched) {
      end(*watched);
    }
  }

  void resume() noexcept {
    if (auto* const watched = this_watched) {
      begin(*watched);
    }
  }

  /// Of the registry that is being looked at. Its lock is held.
  void forget(DataRecord const& record) noexcept {
    if (record.registry != active_) {
      return;
    }
    auto const region = WatchedRegion::of(record, record.home.base, record.home.ld);
    if (!region.empty()) {
      page_guard.open({region.base, region.end()});
      try {
        region.add_to(forgotten_);
      } catch (std::bad_alloc const&) {
        compared_.clear();
      }
    }
  }

private:
  AccessChecker() = default;

  void begin(Watched& watched) noexcept {
    if (!turns_.take(*watched.type)) {
      watched.state = Watched::State::loose;
      this_watch = &watched; // so waits end it
      return;
    }
    watched.program_waits = turns_.await_program();
    watched.gone_on = turns_.gone_on();
    watched.loosened = turns_.loosened();
    watched.any_loose = turns_.any_loose();
    page_guard.install();
    watched.registry->under_lock([&] {
      forgotten_.clear();
      try {
        prepare(watched);
      } catch (std::bad_alloc const&) { // this body is not watched
        none_.clear();
        read_.clear();
        compared_.clear();
      }
      active_ = watched.registry;
      page_guard.close(none_, read_, &watched);
    });
    watched.state = Watched::State::on;
    this_watch = &watched;
  }

  void end(Watched& watched) noexcept {
    this_watch = nullptr;
    if (std::exchange(watched.state, Watched::State::off) == Watched::State::loose) {
      turns_.end_loose();
      return;
    }
    watched.registry->under_lock([&] {
      page_guard.open();
      active_ = nullptr;
      try {
        for (std::size_t k = 0; k < page_guard.noted(); ++k) {
          auto const note = page_guard.note(k);
          report(watched, note.at, note.write);
        }
        compare(watched);
      } catch (std::bad_alloc const&) { // what is known by now is told
      }
    });
    turns_.give();
  }

  // ---- what is closed, and what is copied ----

  /// Under the registry's lock.
  void prepare(Watched& watched) {
    none_.clear();
    read_.clear();
    compared_.clear();
    if (is_left_out()) {
      return;
    }
    find_data(*watched.registry);
    ByteSet readable;
    ByteSet writable;
    for (auto const& argument : watched.arguments) {
      if (argument.reads()) {
        argument.region.add_to(readable);
      }
      if (argument.may_write()) {
        argument.region.add_to(writable);
      }
    }
    add_own_data(watched, readable, writable);
    normalise(readable);
    normalise(writable);
    auto const* all = &data_;
    if (!watched.blocks.empty()) {
      with_blocks_ = data_;
      for (auto const& block : watched.blocks) {
        auto const begin = reinterpret_cast<std::uintptr_t>(block.begin);
        with_blocks_.push_back({begin, begin + block.bytes});
      }
      normalise(with_blocks_);
      all = &with_blocks_;
    }
    auto closed = without(pages_filled(*all), pages_touched(writable));
    none_ = without(closed, pages_touched(readable));
    read_ = without(closed, none_);
    if (none_.size() + read_.size() > PageGuard::most_runs) {
      none_.clear();
      read_.clear();
      closed.clear();
    }
    compared_ = without(without(*all, writable), closed);
    copy();
    in_use_.clear();
    if (!watched.program_waits) {
      watched.registry->for_each_locked([&](DataRecord& record) {
        if (is_used(record)) {
          in_use_.push_back(&record);
        }
      });
      std::sort(in_use_.begin(), in_use_.end());
    }
  }

  /// A body costs time for each datum. After many of both, a part of the bodies only is watched:
  /// one in a tenth of as many as there are data.
  [[nodiscard]] bool is_left_out() {
    constexpr std::uint64_t enough = 30'000'000; // some 20 s
    if (looked_at_ > enough && ++left_out_ < data_.size() / 10) {
      if (!std::exchange(said_, true)) {
        std::fprintf(stderr,
                     "hetsched: HETSCHED_CHECK: there are %zu data: from now on some bodies only "
                     "are checked\n",
                     data_.size());
      }
      return true;
    }
    left_out_ = 0;
    looked_at_ += data_.size();
    return false;
  }

  /// All data of the registry, if they have changed since the last time.
  void find_data(DataRegistry& registry) {
    if (known_ == registry.changes()) {
      return;
    }
    known_ = 0;
    data_.clear();
    registry.for_each_locked([&](DataRecord const& record) {
      if (is_there(record)) {
        WatchedRegion::of(record, record.home.base, record.home.ld).add_to(data_);
      }
    });
    normalise(data_);
    known_ = registry.changes();
  }

  [[nodiscard]] static bool is_used(DataRecord& record) noexcept {
    std::lock_guard const guard(record.home.lock);
    return record.home.in_use();
  }

  /// Data that the body, or the coroutine that it is a part of, registered.
  static void add_own_data(Watched const& watched, ByteSet& readable, ByteSet& writable) {
    auto const any_own = [](TaskRecord const* task) {
      return task->domain.load(std::memory_order_acquire) != nullptr;
    };
    if (std::none_of(watched.tasks.begin(), watched.tasks.end(), any_own)) {
      return;
    }
    watched.registry->for_each_locked([&](DataRecord const& record) {
      auto const* const owner = record.home.domain->owner;
      if (std::find(watched.tasks.begin(), watched.tasks.end(), owner) != watched.tasks.end()) {
        auto const region = WatchedRegion::of(record, record.home.base, record.home.ld);
        region.add_to(readable);
        region.add_to(writable);
      }
    });
  }

  void copy() {
    std::size_t bytes = 0;
    for (auto const& range : compared_) {
      bytes += range.end - range.begin;
    }
    if (copies_.size() < bytes) {
      copies_.resize(bytes);
    }
    auto* to = copies_.data();
    for (auto const& range : compared_) {
      std::memcpy(
          to, reinterpret_cast<void const*>(range.begin), range.end - range.begin); // NOLINT
      to += range.end - range.begin;
    }
  }

  // ---- what is told ----

  /// Under the registry's lock.
  void compare(Watched& watched) {
    if (watched.any_loose || turns_.loosened() != watched.loosened ||
        (watched.program_waits && turns_.gone_on() != watched.gone_on)) {
      return; // others may have written, too
    }
    normalise(forgotten_);
    auto const* copied = copies_.data();
    for (auto const& range : compared_) {
      for (auto const& part : without({range}, forgotten_)) {
        compare(watched, part, copied + (part.begin - range.begin));
      }
      copied += range.end - range.begin;
    }
  }

  void compare(Watched& watched, ByteRange const& range, std::byte const* copied) {
    auto const* const begin = reinterpret_cast<std::byte const*>(range.begin); // NOLINT
    auto const bytes = range.end - range.begin;
    for (std::size_t k = 0; std::memcmp(begin + k, copied + k, bytes - k) != 0;) {
      while (begin[k] == copied[k]) {
        ++k;
      }
      auto const at = range.begin + k;
      auto const* const record = datum_at(*watched.registry, at);
      bool const by_program = !watched.program_waits && record != nullptr &&
                              !std::binary_search(in_use_.begin(), in_use_.end(), record);
      if (!by_program) {
        report(watched, at, true);
      }
      k = std::min(bytes, record == nullptr ? k + 1 : column_end(*record, at) - range.begin);
    }
  }

  Turns turns_;
  // of who has the turn; also under the registry's lock
  DataRegistry* active_ = nullptr; // whose body is watched now
  std::uint64_t known_ = 0;        // DataRegistry::changes of `data_`
  ByteSet data_;
  std::uint64_t looked_at_ = 0; // so many data, for all bodies
  std::size_t left_out_ = 0;    // bodies since the last that was watched
  bool said_ = false;
  ByteSet with_blocks_;
  ByteSet none_; // pages that are closed altogether, and for writes
  ByteSet read_;
  ByteSet compared_;
  ByteSet forgotten_;
  std::vector<std::byte> copies_; // of `compared_`, one behind the other
  std::vector<DataRecord const*> in_use_;
};

} // namespace hetsched::detail
