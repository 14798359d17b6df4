// SPDX-License-Identifier: MIT
#include "stream.hpp"

#include "../last_error.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace hetsched::emulated {

void Record::reach(hs_status status, std::string why) {
  std::lock_guard const lock(mutex_);
  if (status_ == hs_not_ready) {
    status_ = status;
    why_ = std::move(why);
    time_ = Clock::now();
    reached_.notify_all(); // under the lock: a waiter may destroy this once it has the lock
  }
}

hs_status Record::query() const {
  std::lock_guard const lock(mutex_);
  return status_ == hs_ok || status_ == hs_not_ready ? status_ : devices::fail(status_, why_);
}

hs_status Record::synchronize() const {
  wait();
  return query();
}

void Record::wait() const {
  std::unique_lock lock(mutex_);
  reached_.wait(lock, [this] { return status_ != hs_not_ready; });
}

Clock::time_point Record::time() const {
  std::lock_guard const lock(mutex_);
  return time_;
}

Stream::Stream(Device& device) : device_(device), thread_([this] { serve(); }) {
}

Stream::~Stream() {
  {
    std::lock_guard const lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
  device_.remove(*this); // until now the device had to tell it of a loss
}

hs_status Stream::give(Operation operation) {
  if (auto* const kernels = detail::this_launch;
      kernels != nullptr && operation.what == Operation::What::work) [[unlikely]] {
    kernels->retain();
    operation.kernels = {kernels, [](detail::CheckedKernels* all) { all->release(); }};
  }
  {
    std::lock_guard const lock(mutex_);
    if (!lost_) {
      queue_.push_back(std::move(operation));
      changed_.notify_all();
      return hs_ok;
    }
  }
  return device_.check_lost(operation.name);
}

std::shared_ptr<Record> Stream::record() {
  auto record = std::make_shared<Record>();
  Operation operation{.what = Operation::What::record, .record = record, .name = "event_record"};
  if (give(std::move(operation)) == hs_lost) {
    record->reach(hs_lost, device_.why_lost());
  }
  return record;
}

void Stream::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !works_; });
}

void Stream::abandon(std::list<Operation>& abandoned) noexcept {
  std::lock_guard const lock(mutex_);
  lost_ = true;
  abandoned.splice(abandoned.end(), queue_);
  changed_.notify_all();
}

void Stream::serve() {
  for (;;) {
    Operation operation;
    {
      std::unique_lock lock(mutex_);
      if (std::exchange(works_, false)) {
        changed_.notify_all();
      }
      changed_.wait(lock, [this] { return !queue_.empty() || ends_; });
      if (queue_.empty()) {
        return;
      }
      operation = std::move(queue_.front());
      queue_.pop_front();
      works_ = true;
    }
    execute(operation);
  }
}

void Stream::execute(Operation& operation) {
  switch (operation.what) {
  case Operation::What::record:
    operation.record->reach(std::exchange(failure_, hs_ok), std::exchange(why_, {}));
    break;
  case Operation::What::wait:
    operation.record->wait();
    break;
  case Operation::What::work:
    work(operation);
    break;
  }
}

void Stream::work(Operation& operation) {
  bool failed = true;
  try {
    auto const wrong = result_of(operation);
    failed = !wrong.empty();
    if (failed && failure_ == hs_ok) {
      why_ = std::string(operation.name) + ": " + wrong;
    }
  } catch (std::bad_alloc const&) { // without a reason
    if (operation.effect == Effect::loses_device) {
      device_.lose("lost");
      return;
    }
  }
  if (failed) {
    failure_ = hs_failed;
  }
}

/// The same while all memory of the device and of the program is closed that its task did not
/// declare. What it touches of that, its task is told.
std::string Stream::watched_result_of(Operation& operation) {
  std::string wrong;
  auto kernel = [&] { wrong = operation.work(); };
  auto const blocks = device_.blocks();
  operation.kernels->run(
      blocks, [](void* call) { (*static_cast<decltype(kernel)*>(call))(); }, &kernel);
  return wrong;
}

/// What went wrong, or "".
std::string Stream::result_of(Operation& operation) {
  switch (operation.effect) {
  case Effect::loses_device:
    device_.lose(device_.name() + " was told to get lost at " + operation.name);
    return "";
  case Effect::fails:
    return device_.name() + " was told to fail here";
  case Effect::none:
    break;
  }
  auto const begin = Clock::now();
  std::string wrong;
  try {
    if (operation.kernels != nullptr) {
      wrong = watched_result_of(operation);
    } else { // a copy, or what the runtime itself computes
      detail::touch_data([&] { wrong = operation.work(); });
    }
  } catch (std::bad_alloc const&) {
    throw;
  } catch (std::exception const& error) { // a kernel of the program's own
    wrong = error.what();
  }
  auto const took = std::max(Clock::now() - begin, Clock::duration(operation.least));
  auto const slowed = device_.options().slow * std::chrono::duration<double>(took);
  sleep_until(begin + std::chrono::ceil<Clock::duration>(slowed));
  return wrong;
}

void Stream::sleep_until(Clock::time_point end) {
  if (end > Clock::now()) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, end, [this] { return lost_; });
  }
}

} // namespace hetsched::emulated
