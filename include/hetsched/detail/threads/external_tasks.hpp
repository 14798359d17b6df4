// SPDX-License-Identifier: MIT
#pragma once
// Tasks that something outside the engine ends, such as the arrival of a message, and who looks
// whether it has happened.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/threads/thread_state.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>

namespace hetsched::detail {

class ThreadCore;

/// External tasks' uses that hold their data. A Use has a member `Use* next`. Any thread adds, one
/// at a time takes all.
template <class Use>
class GrantedUses {
public:
  /// Release: who takes the use sees it, and the value that its task waited for.
  void add(Use& use) noexcept {
    use.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(
        use.next, &use, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

  /// The last one to be added first, linked by `next`. Acquire pairs with `add`.
  [[nodiscard]] Use* take() noexcept {
    return first_.load(std::memory_order_relaxed) == nullptr
               ? nullptr
               : first_.exchange(nullptr, std::memory_order_acquire);
  }

private:
  Atomic<Use*> first_{nullptr};
};

inline constexpr TaskType external_type =
    laid_out({"hetsched external", TaskKind::external, {}, {}, nullptr, nullptr, nullptr}, false);

/// What a runtime on threads offers to whoever ends tasks from outside: one OutsideLook at a time.
class ExternalTasks {
public:
  /// From now on workers call `look.look`: busy ones between tasks, as often as it asks for; of
  /// those without work one, which sleeps in between. No thread of its own.
  static void begin_to_look(ThreadCore& core, OutsideLook& look);

  /// No thread is in `look.look` when this returns, and none comes any more.
  static void end_looking(ThreadCore& core) noexcept;

  /// Ends an external task that holds its datum. `failed`: a datum that it was to write is
  /// poisoned. Any thread; not from `look.look` with a lock that `granted` takes.
  static void end(ThreadCore& core, TaskRecord& task, bool failed);

  /// Before the program reads, or overwrites, the memory of an external task's datum on the host:
  /// its value is there. Throws what the loss of a device throws.
  static void bring_home(TaskRecord& task);

  /// While it lives, what the calling thread spawns in `look` is spawned outside of any task,
  /// though a body may wait in this thread, and without regard to Config::max_live_tasks: a worker
  /// that looks may have announced sleep, so it must not run tasks there.
  class Outside {
  public:
    Outside() noexcept;

  private:
    ThreadStateGuard state_;
  };

  /// Works until `done()`, which any thread may call. Whoever makes it true calls `wake_waiters`.
  static void await(ThreadCore& core, Condition const& done);

  static void wake_waiters(ThreadCore& core);

  /// Calls `look`, if there is one and nobody has done so lately.
  static void look_if_due(ThreadCore& core);

  /// A worker without work. While it has this it may be the one that looks.
  class Watch {
  public:
    explicit Watch(ThreadCore& core) noexcept : core_(core) {}

    Watch(Watch const&) = delete;
    Watch& operator=(Watch const&) = delete;

    /// If this worker is the one, another becomes it.
    ~Watch();

    /// Looks, and sleeps a little if nothing has happened. Returns false, at once, if another
    /// worker looks or there is nothing to look at: then the worker may sleep until it is woken.
    bool looks_instead();

  private:
    [[nodiscard]] bool begin() noexcept;
    void end() noexcept;
    [[nodiscard]] bool look();

    ThreadCore& core_;
    bool watches_ = false;
    int idle_rounds_ = 0;
  };
};

} // namespace hetsched::detail
