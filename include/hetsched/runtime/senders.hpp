// SPDX-License-Identifier: MIT
#pragma once
// A runtime as a scheduler of senders, and futures as senders.

#ifndef HETSCHED_SENDERS
#error "hetsched: include <hetsched/execution.hpp>"
#endif

#ifndef HETSCHED_SENDER_TAG
#define HETSCHED_SENDER_TAG(name) name##_tag
#endif

#include <hetsched/runtime/coroutine.hpp>
#include <hetsched/runtime/lambda.hpp>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace hetsched {

template <class Rt>
class SenderScheduler;

namespace detail {

/// The library of senders.
namespace senders {
using namespace HETSCHED_SENDERS;
#ifdef __cpp_lib_senders
using std::get_stop_token;
#endif
} // namespace senders

/// How an operation of ours may complete that sends V.
template <class... V>
using Completions = senders::completion_signatures<senders::set_value_t(V...),
                                                   senders::set_error_t(std::exception_ptr),
                                                   senders::set_stopped_t()>;

/// An operation that completes in a task: `Derived::spawn_task` makes that, which calls `complete`.
/// An operation may be gone as soon as it is complete. Not in a capture: a run of the graph would
/// complete it anew.
template <class Derived, class Receiver>
class TaskOperation {
public:
  using operation_state_concept = senders::HETSCHED_SENDER_TAG(operation_state);

  TaskOperation(TaskOperation const&) = delete;
  TaskOperation& operator=(TaskOperation const&) = delete;

  void start() & noexcept {
    try {
      static_cast<Derived&>(*this).spawn_task();
    } catch (...) { // there is no task
      senders::set_error(std::move(receiver_), std::current_exception());
    }
  }

protected:
  explicit TaskOperation(Receiver&& receiver) : receiver_(std::move(receiver)) {}

  ~TaskOperation() = default;

  template <class... V>
  void complete(V&&... values) noexcept {
    if (senders::get_stop_token(senders::get_env(receiver_)).stop_requested()) {
      senders::set_stopped(std::move(receiver_));
    } else {
      senders::set_value(std::move(receiver_), std::forward<V>(values)...);
    }
  }

  Receiver receiver_;
};

template <class Rt>
constexpr void check_senders() noexcept {
  static_assert(Rt::computes,
                "hetsched: senders need a runtime that computes: a SimulatedRuntime runs no "
                "bodies");
}

template <class Rt, class Receiver>
class ScheduleOperation : public TaskOperation<ScheduleOperation<Rt, Receiver>, Receiver> {
public:
  ScheduleOperation(Rt& rt, Receiver&& receiver)
      : TaskOperation<ScheduleOperation, Receiver>(std::move(receiver)), rt_(rt) {}

  void spawn_task() {
    check_outside_capture(&rt_.engine(), "start");
    rt_.spawn(label("schedule"), SetArch(ArchHost))([this] { this->complete(); });
  }

private:
  Rt& rt_;
};

template <class Rt, class T, class Receiver>
class FutureOperation : public TaskOperation<FutureOperation<Rt, T, Receiver>, Receiver> {
public:
  FutureOperation(Rt& rt, Future<T> future, Receiver&& receiver)
      : TaskOperation<FutureOperation, Receiver>(std::move(receiver)), rt_(rt),
        future_(std::move(future)) {}

  void spawn_task() {
    check_outside_capture(&rt_.engine(), "start");
    (void)rt_.async([this] { return send(Unsent(*this)); });
  }

private:
  /// Sends an error if there is no memory for the coroutine, so that it does not begin.
  class Unsent {
  public:
    explicit Unsent(FutureOperation& operation) noexcept : operation_(&operation) {}

    Unsent(Unsent&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}

    Unsent& operator=(Unsent&&) = delete;

    ~Unsent() {
      if (operation_ != nullptr) {
        senders::set_error(std::move(operation_->receiver_),
                           std::make_exception_ptr(std::bad_alloc()));
      }
    }

    [[nodiscard]] FutureOperation& take() noexcept { return *std::exchange(operation_, nullptr); }

  private:
    FutureOperation* operation_;
  };

  /// The future is kept here, too: the value is there until the receiver has returned.
  static Coroutine<> send(Unsent unsent) {
    auto& self = unsent.take();
    auto const future = self.future_;
    std::exception_ptr error;
    try {
      co_await future;
    } catch (...) {
      error = std::current_exception();
    }
    if (error != nullptr) {
      senders::set_error(std::move(self.receiver_), std::move(error));
    } else if constexpr (std::is_void_v<T>) {
      self.complete();
    } else {
      self.complete(future.outcome(nullptr));
    }
  }

  Rt& rt_;
  Future<T> const future_;
};

/// Where the operations of a sender complete.
template <class Rt>
struct SenderAttributes {
  Rt* rt;

  [[nodiscard]] SenderScheduler<Rt>
      query(senders::get_completion_scheduler_t<senders::set_value_t> /*query*/) const noexcept;
  [[nodiscard]] SenderScheduler<Rt>
      query(senders::get_completion_scheduler_t<senders::set_stopped_t> /*query*/) const noexcept;
};

template <class Rt>
class ScheduleSender {
public:
  using sender_concept = senders::HETSCHED_SENDER_TAG(sender);
  using completion_signatures = Completions<>;

  explicit ScheduleSender(Rt& rt) noexcept : rt_(&rt) {}

  template <class Receiver>
  [[nodiscard]] ScheduleOperation<Rt, Receiver> connect(Receiver receiver) const {
    return {*rt_, std::move(receiver)};
  }

  [[nodiscard]] SenderAttributes<Rt> get_env() const noexcept { return {rt_}; }

private:
  Rt* rt_;
};

template <class T>
struct FutureCompletions {
  using type = Completions<T const&>;
};

template <>
struct FutureCompletions<void> {
  using type = Completions<>;
};

template <class Rt, class T>
class FutureSender {
public:
  using sender_concept = senders::HETSCHED_SENDER_TAG(sender);
  using completion_signatures = typename FutureCompletions<T>::type;

  FutureSender(Rt& rt, Future<T> future) noexcept : rt_(&rt), future_(std::move(future)) {}

  template <class Receiver>
  [[nodiscard]] FutureOperation<Rt, T, Receiver> connect(Receiver receiver) const {
    return {*rt_, future_, std::move(receiver)};
  }

  [[nodiscard]] SenderAttributes<Rt> get_env() const noexcept { return {rt_}; }

private:
  Rt* rt_;
  Future<T> future_;
};

} // namespace detail

/// A runtime as a scheduler of std::execution. `schedule(scheduler)` is a sender whose operation
/// spawns a task for cores; what is connected to it runs in the body. Inside a body the task is the
/// body's child. Copies are equal. The runtime must outlive it and all operations. Thread-safe.
///
/// A thread that blocks, as `std::this_thread::sync_wait` does, does not work for the runtime; with
/// one worker it waits for ever. `hetsched::sync_wait` works meanwhile.
template <class Rt>
class SenderScheduler {
public:
  using scheduler_concept = detail::senders::HETSCHED_SENDER_TAG(scheduler);

  explicit SenderScheduler(Rt& rt) noexcept : rt_(&rt) { detail::check_senders<Rt>(); }

  /// Completes in a task, also when stopped; with an error, Error(bad_call) inside `capture` or
  /// what the spawn throws, where it was started.
  [[nodiscard]] auto schedule() const noexcept { return detail::ScheduleSender<Rt>(*rt_); }

  [[nodiscard]] friend bool operator==(SenderScheduler const&,
                                       SenderScheduler const&) noexcept = default;

private:
  Rt* rt_;
};

/// The runtime as a scheduler; see SenderScheduler.
template <class Rt>
[[nodiscard]] SenderScheduler<Rt> scheduler_of(Rt& rt) noexcept {
  return SenderScheduler<Rt>(rt);
}

/// A sender of a future's value, as `T const&` (of a void one: nothing), which is there until the
/// receiver returns and as long as a copy of the future is. Waits without keeping a worker, and
/// completes in a task of `rt`, the future's runtime: with the task's exception if that failed,
/// with Error(cancelled) if it did not run. Each operation may be started once; any number of them.
template <class Rt, class T>
[[nodiscard]] auto as_sender(Rt& rt, Future<T> future) noexcept {
  return detail::FutureSender<Rt, T>(rt, std::move(future));
}

namespace detail {

template <class Rt>
SenderScheduler<Rt> SenderAttributes<Rt>::query(
    senders::get_completion_scheduler_t<senders::set_value_t> /*query*/) const noexcept {
  return scheduler_of(*rt);
}

template <class Rt>
SenderScheduler<Rt> SenderAttributes<Rt>::query(
    senders::get_completion_scheduler_t<senders::set_stopped_t> /*query*/) const noexcept {
  return scheduler_of(*rt);
}

} // namespace detail

} // namespace hetsched
