// SPDX-License-Identifier: MIT
#pragma once
// HeteroPrio with orders of types that it finds itself, and queues at the memory nodes.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/affinity_queues.hpp>
#include <hetsched/detail/policies/affinity_types.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/detail/policies/type_orders.hpp>
#include <hetsched/detail/policies/wake_idle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <vector>

namespace hetsched::policies {

/// Decides: a queue for each type at each memory node. A task goes to the node that lacks the
///   fewest of its bytes: those it writes count 2 - w/n times, if it writes w of its n data. A
///   worker looks into the queues by its class' order of types (TypeOrders): one that gains much
///   there, and whose end releases much, comes first. A core looks at a type at its node, then at
///   the others. A GPU looks at all types at its node, then on the host, then at other GPUs. Where
///   a GPU is fastest at a type, others take one of its tasks only if for each such GPU as many
///   wait as it runs in that time, or none can run the task now. In a queue the highest priority
///   goes first, then the oldest.
/// Source: AutoHeteroPrio (Flint, Paillat, Bramas 2022) with the locality of LAHP (Bramas 2019), as
///   in StarPU 1.4 with USE_LA: score URT_DOT_DIFF_4, push LS_SDHB. Ours, where these leave it
///   open or need files of earlier runs: the released work is known from the graph, times from the
///   model; busy shares are those seen so far; distances as above; priorities count in a queue.
/// Cost: push O(data x nodes + log Q), each 32nd one O(types^2); pop O(types x nodes + log Q); one
///   lock.
/// Needs: context: predicted times, valid copies; the graph, from Runtime::run.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: asks for no transfer times. Without a graph nothing is known of released work.
class AutoHeteroPrio {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit AutoHeteroPrio(std::span<WorkerInfo const> workers) : types_(workers) {
    for (auto const& info : workers) {
      nodes_ = std::max(nodes_, index_of(info.node) + 1);
    }
  }

  template <context Ctx>
  void prepare(Ctx const& ctx, TaskGraph const& graph, std::span<ExpectedTimes const> times) {
    std::vector<std::size_t> of_node(graph.size());
    types_.learn(graph, times, [&](std::size_t v, std::size_t type) { of_node[v] = type; });
    orders_.learn(graph, of_node, types_.size());
    order_ = {};
    waiting_.assign(types_.size(), 0);
    told_.assign(types_.size(), 0);
    detail::push_again(queues_, [&](TaskId task) { (void)push(ctx, task, no_worker); });
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    auto const type = types_.note(ctx, task, view);
    make_orders(ctx);
    auto const home = worker ? ctx.workers()[worker.index()].node : host_node;
    queues_.push(queue(type, nearest(view, home)), view.priority, task);
    ++waiting_[type];
    auto const fastest = fastest_at(type);
    return detail::wake_idle(
        ctx, task, [&](WorkerInfo const& info) { return info.arch == fastest; });
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const& info = ctx.workers()[worker.index()];
    auto const can_run = [&](TaskId task) { return ctx.can_run(task, worker); };
    return find(info, [&](std::size_t type, std::size_t node) {
      auto const task =
          queues_.take(queue(type, node), allowed(ctx, type, info.arch, waiting_[type], can_run));
      if (task) {
        --waiting_[type];
        orders_.count_taken(type, info.arch);
      }
      return task;
    });
  }

  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const& info = ctx.workers()[worker.index()];
    std::fill(told_.begin(), told_.end(), 0);
    auto const can_run = [&](TaskId task) { return ctx.can_run(task, worker); };
    return detail::peek_each(next, can_run, [&](auto const& accept) {
      return find(info, [&](std::size_t type, std::size_t node) {
        auto const left = waiting_[type] - told_[type];
        auto const task =
            queues_.first(queue(type, node), allowed(ctx, type, info.arch, left, accept));
        told_[type] += task ? 1 : 0;
        return task;
      });
    });
  }

private:
  static constexpr std::uint64_t pushes_between_orders = 32;

  static std::size_t index_of(NodeId node) noexcept { return static_cast<std::size_t>(node.value); }

  [[nodiscard]] std::size_t queue(std::size_t type, std::size_t node) const noexcept {
    return type * nodes_ + node;
  }

  /// Orders the types again if there are new ones, if times have changed, and from time to time.
  template <context Ctx>
  void make_orders(Ctx const& ctx) try {
    bool const changed = types_.take_change();
    if (!changed && pushed_++ % pushes_between_orders != 0) {
      return;
    }
    orders_.count_busy(ctx);
    orders_.make_room(types_.size());
    waiting_.resize(types_.size());
    told_.resize(types_.size());
    order_ = orders_.orders(types_.all(), types_.workers());
  } catch (std::bad_alloc const&) {

    types_.note_change();
    throw;
  }

  /// The node that lacks the fewest bytes, `home` if it is one of these, else the first.
  [[nodiscard]] std::size_t nearest(TaskView const& view, NodeId home) const {
    double written = 0;
    for (std::size_t k = 0; k < view.arguments; ++k) {
      written += writes(view.argument(k).mode) ? 1 : 0;
    }
    auto const weight = view.arguments == 0 ? 1 : 2 - written / static_cast<double>(view.arguments);
    auto const lacks = [&](std::size_t node) {
      double bytes = 0;
      for (std::size_t k = 0; k < view.arguments; ++k) {
        auto const argument = view.argument(k);
        auto const missing =
            argument.valid_at(NodeId{static_cast<std::int32_t>(node)}) ? 0 : argument.bytes;
        bytes += static_cast<double>(missing) * (writes(argument.mode) ? weight : 1);
      }
      return bytes;
    };
    auto best = index_of(home);
    auto least = lacks(best);
    for (std::size_t node = 0; node < nodes_; ++node) {
      auto const bytes = lacks(node);
      if (bytes < least) {
        best = node;
        least = bytes;
      }
    }
    return best;
  }

  /// The class that is fastest at the type, the first of equals. No value if a time is not known.
  [[nodiscard]] std::optional<Arch> fastest_at(std::size_t type) const {
    auto const& times = types_.all()[type];
    std::optional<Arch> fastest;
    for (std::uint8_t c = 0; c < max_archs; ++c) {
      if (!detail::can_run(times, types_.workers(), c)) {
        continue;
      }
      if (times.mean(c) == 0) {
        return std::nullopt;
      }
      fastest = !fastest || times.mean(c) < times.mean(fastest->index) ? Arch{c} : fastest;
    }
    return fastest;
  }

  /// What a worker of the class may take of a type of which so many tasks wait, among those that
  /// `accept` allows.
  template <context Ctx, class Accept>
  [[nodiscard]] auto allowed(Ctx const& ctx,
                             std::size_t type,
                             Arch arch,
                             std::int64_t waiting,
                             Accept const& accept) const {
    auto const fastest = fastest_at(type);
    auto const& times = types_.all()[type];
    bool const any = !fastest || *fastest == ArchHost || *fastest == arch ||
                     static_cast<double>(waiting) * times.mean(fastest->index) >=
                         types_.workers()[fastest->index] * times.mean(arch.index);
    return [&ctx, &accept, fastest, any](TaskId task) {
      auto const workers = ctx.workers();
      return accept(task) &&
             (any || std::none_of(workers.begin(), workers.end(), [&](WorkerInfo const& info) {
                return info.arch == fastest && ctx.can_run(task, info.id);
              }));
    };
  }

  /// The first task that `use(type, node)` answers for the queues, in the worker's order.
  template <class Use>
  [[nodiscard]] TaskId find(WorkerInfo const& info, Use const& use) const {
    auto const own = index_of(info.node);
    auto const others = [&](std::size_t type) {
      auto task = no_task;
      for (std::size_t k = 1; !task && k < nodes_; ++k) {
        task = use(type, (own + k) % nodes_);
      }
      return task;
    };
    auto const each = [&](auto const& look) {
      auto task = no_task;
      for (auto const type : order_[info.arch.index]) {
        if (!task) {
          task = look(type);
        }
      }
      return task;
    };
    auto const here = [&](std::size_t type) { return use(type, own); };
    if (info.arch == ArchHost) {
      return each([&](std::size_t type) {
        auto const task = here(type);
        return task ? task : others(type);
      });
    }
    if (auto const task = each(here)) {
      return task;
    }
    auto const task = each([&](std::size_t type) { return use(type, index_of(host_node)); });
    return task ? task : each(others);
  }

  detail::AffinityTypes types_;
  detail::TypeOrders orders_;
  detail::TypeOrders::Orders order_;
  detail::AffinityQueues queues_;
  std::vector<std::int64_t> waiting_; // of each type
  std::vector<std::int64_t> told_;    // of these, by the present peek
  std::size_t nodes_ = 1;
  std::uint64_t pushed_ = 0;
};

} // namespace hetsched::policies
