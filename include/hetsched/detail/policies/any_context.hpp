// SPDX-License-Identifier: MIT
#pragma once
// Any context, without its type.

#include <hetsched/concepts/context.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

namespace hetsched::detail {

/// Hooks that are compiled for this context serve every engine. concepts/context.hpp says what the
/// members answer.
class AnyContext {
public:
  AnyContext() = default;
  AnyContext(AnyContext const&) = delete;
  AnyContext& operator=(AnyContext const&) = delete;

  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual std::span<WorkerInfo const> workers() const = 0;
  [[nodiscard]] virtual bool can_run(TaskId task, WorkerId worker) const = 0;
  [[nodiscard]] virtual std::uint64_t random(WorkerId worker) const = 0;
  [[nodiscard]] virtual TaskView task(TaskId task) const = 0;
  [[nodiscard]] virtual std::optional<Prediction> predicted(TaskId task, WorkerId worker) const = 0;
  [[nodiscard]] virtual Duration transfer(TaskId task, WorkerId worker) const = 0;
  [[nodiscard]] virtual TaskId running(WorkerId worker) const = 0;
  [[nodiscard]] virtual Instant busy_until(WorkerId worker) const = 0;

  /// Always false if the context has no explanations.
  [[nodiscard]] virtual bool explains(TaskId task) const = 0;

  virtual void
  explain(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) const = 0;

  /// If the context is no memory_context, there are no nodes and no valid bytes, and free bytes
  /// have no limit.
  [[nodiscard]] virtual std::span<NodeInfo const> nodes() const = 0;
  [[nodiscard]] virtual std::size_t valid_bytes(TaskId task, NodeId node) const = 0;
  [[nodiscard]] virtual std::size_t free_bytes(NodeId node) const = 0;

protected:
  ~AnyContext() = default;
};

static_assert(explaining_context<AnyContext> && memory_context<AnyContext>);

/// Made for one hook call, as the context that it passes on.
template <context Ctx>
class AnyContextOf final : public AnyContext {
public:
  explicit AnyContextOf(Ctx const& ctx) noexcept : ctx_(ctx) {}

  [[nodiscard]] Instant now() const override { return ctx_.now(); }

  [[nodiscard]] std::span<WorkerInfo const> workers() const override { return ctx_.workers(); }

  [[nodiscard]] bool can_run(TaskId task, WorkerId worker) const override {
    return ctx_.can_run(task, worker);
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const override { return ctx_.random(worker); }

  [[nodiscard]] TaskView task(TaskId task) const override { return ctx_.task(task); }

  [[nodiscard]] std::optional<Prediction> predicted(TaskId task, WorkerId worker) const override {
    return ctx_.predicted(task, worker);
  }

  [[nodiscard]] Duration transfer(TaskId task, WorkerId worker) const override {
    return ctx_.transfer(task, worker);
  }

  [[nodiscard]] TaskId running(WorkerId worker) const override { return ctx_.running(worker); }

  [[nodiscard]] Instant busy_until(WorkerId worker) const override {
    return ctx_.busy_until(worker);
  }

  [[nodiscard]] bool explains([[maybe_unused]] TaskId task) const override {
    if constexpr (explaining_context<Ctx>) {
      return ctx_.explains(task);
    } else {
      return false;
    }
  }

  void explain([[maybe_unused]] TaskId task,
               [[maybe_unused]] WorkerId chosen,
               [[maybe_unused]] std::span<Duration const> waits,
               [[maybe_unused]] char const* why) const override {
    if constexpr (explaining_context<Ctx>) {
      ctx_.explain(task, chosen, waits, why);
    }
  }

  [[nodiscard]] std::span<NodeInfo const> nodes() const override {
    if constexpr (memory_context<Ctx>) {
      return ctx_.nodes();
    } else {
      return {};
    }
  }

  [[nodiscard]] std::size_t valid_bytes([[maybe_unused]] TaskId task,
                                        [[maybe_unused]] NodeId node) const override {
    if constexpr (memory_context<Ctx>) {
      return ctx_.valid_bytes(task, node);
    } else {
      return 0;
    }
  }

  [[nodiscard]] std::size_t free_bytes([[maybe_unused]] NodeId node) const override {
    if constexpr (memory_context<Ctx>) {
      return ctx_.free_bytes(node);
    } else {
      return std::numeric_limits<std::size_t>::max();
    }
  }

private:
  Ctx const& ctx_;
};

/// Calls `hook` with the context as AnyContext.
template <class Ctx, class Hook>
decltype(auto) with_any_context(Ctx const& ctx, Hook const& hook) {
  if constexpr (std::is_base_of_v<AnyContext, Ctx>) {
    return hook(static_cast<AnyContext const&>(ctx));
  } else {
    return hook(static_cast<AnyContext const&>(AnyContextOf<Ctx>(ctx)));
  }
}

} // namespace hetsched::detail
