// SPDX-License-Identifier: MIT
#pragma once
// Streams of emulated devices: a queue and a thread each; and what events point to.
//
// The first event recorded after a failed operation in its stream reports the failure, at every
// query. Later events are fine again. Of several failures before one event, the first is reported.
// stream_synchronize counts as an event.

#include <hetsched/detail/engine/access_check.hpp>
#include <hetsched/gpu/device.h>

#include "device.hpp"
#include "threads.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace hetsched::emulated {

/// One recording of an event. Shared by the event, the stream that is to reach it and the streams
/// that wait for it.
class Record {
public:
  /// Only the first call has an effect.
  void reach(hs_status status, std::string why);
  /// Returns hs_not_ready, or the status with which it was reached. A failure is then in
  /// last_error.
  [[nodiscard]] hs_status query() const;
  [[nodiscard]] hs_status synchronize() const;
  void wait() const;

  /// When it was reached. It must have been reached.
  [[nodiscard]] Clock::time_point time() const;

private:
  Mutex mutable mutex_;
  Condition mutable reached_;
  hs_status status_ = hs_not_ready;
  std::string why_;
  Clock::time_point time_;
};

struct Operation {
  enum class What { work, record, wait };

  What what = What::work;
  std::shared_ptr<Record> record{};    // to reach or to wait for
  std::function<std::string()> work{}; // returns what went wrong; "" if nothing
  char const* name = "";
  Effect effect = Effect::none;
  std::chrono::nanoseconds least{0};                 // the shortest time that it takes
  std::shared_ptr<detail::CheckedKernels> kernels{}; // whose it is, if their accesses are checked
};

class Stream {
public:
  /// Starts the stream's thread. Throws std::system_error if that fails.
  explicit Stream(Device& device);
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  /// Waits for all operations that the stream was given.
  ~Stream();

  [[nodiscard]] Device& device() const noexcept { return device_; }

  /// Returns hs_lost if the device is lost, and then drops the operation.
  [[nodiscard]] hs_status give(Operation operation);

  /// Gives an operation that reaches a new record. If the device is lost, the record is reached at
  /// once, with hs_lost.
  [[nodiscard]] std::shared_ptr<Record> record();

  /// Without memory.
  void wait_until_idle();

  /// The device is lost: moves the operations that have not begun to `abandoned`, and takes no
  /// more.
  void abandon(std::list<Operation>& abandoned) noexcept;

private:
  void serve();
  void execute(Operation& operation);
  void work(Operation& operation);
  std::string result_of(Operation& operation);
  std::string watched_result_of(Operation& operation);
  void sleep_until(Clock::time_point end);

  Device& device_;
  Mutex mutex_;
  Condition changed_;
  std::list<Operation> queue_;
  bool works_ = false; // at an operation that is not in the queue any more
  bool ends_ = false;
  bool lost_ = false;
  // Used by its thread only:
  hs_status failure_ = hs_ok; // not reported yet
  std::string why_;
  Thread thread_;
};

/// What hs_event stands for.
struct Event {
  explicit Event(Device& owner) : device(owner) {}

  [[nodiscard]] std::shared_ptr<Record> latest() {
    std::lock_guard const lock(mutex);
    return record;
  }

  Device& device;
  Mutex mutex;
  std::shared_ptr<Record> record; // null: never recorded
};

} // namespace hetsched::emulated
