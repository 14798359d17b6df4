// SPDX-License-Identifier: MIT
#pragma once
// Task types: signatures, bodies, spawn attributes, and the view of a task that policies get.

#include <hetsched/core/access.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/fnv_hash.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched {

namespace detail {

template <class... Parameters>
struct ParameterList {};

struct GroupState;

} // namespace detail

class GpuStream;

/// Base of a task type. It states the parameters and how each one is accessed (Lima et al. 2015,
/// sec. 3.2).
///
///     struct Gemm : hs::Task<3>::Signature<hs::R<Tile>, hs::R<Tile>, hs::RW<Tile>> {};
///
/// A task type may give itself a name for reports and performance histories by
/// `static constexpr std::string_view name = "gemm";`. One whose body on cores does nothing but
/// spawn tasks, so that it can do so in virtual time, too, says
/// `static constexpr bool only_spawns = true;`.
template <int N>
struct Task {
  template <class... Parameters>
  struct Signature {
    static_assert(sizeof...(Parameters) == static_cast<std::size_t>(N),
                  "hetsched: Task<N>::Signature needs exactly N parameters");
    using hetsched_signature = detail::ParameterList<Parameters...>;
    static constexpr int arity = N;
  };
};

/// The body that runs `T` on a host core. Specialise it with a call operator whose parameters are
/// the views of T's signature. The runtime may come before them, to spawn nested tasks. Or give T a
/// static member function `cpu` with these parameters, and `gpu` with those of TaskBodyGPU.
template <class T>
struct TaskBodyCPU {
  using hetsched_no_body = void; // marks types without a specialisation
};

/// The body that launches `T` on a GPU. Specialise it like `TaskBodyCPU`, optionally with a
/// `GpuStream&` (gpu/gpu_stream.hpp) as first parameter. Its views address device memory and are
/// densely packed: `ld() == rows()`. The body launches kernels and returns. It never waits for them
/// and spawns nothing. Declare the specialisation beside T, in the same header. Its call operator
/// may be defined in any source, compiled by any compiler.
template <class T>
struct TaskBodyGPU {
  using hetsched_no_body = void;
};

template <class T>
concept task_type = requires { typename T::hetsched_signature; };

// ---- attributes given at the spawn; they can be combined in any order ----

/// Restricts a task to one class of worker (Lima et al. 2015, sec. 3.4.1).
template <std::uint8_t Index>
struct SetArch {
  constexpr explicit SetArch(ArchTag<Index>) noexcept {}
};

struct PriorityAttribute {
  std::int32_t value;
};

/// Tasks with a higher value run first, under schedulers that use priorities. 0 when not given.
[[nodiscard]] constexpr PriorityAttribute priority(std::int32_t value) noexcept {
  return {value};
}

struct LabelAttribute {
  std::string_view text;
};

/// A name for reports, copied into the task. A task from a lambda has it for the name of its type,
/// too: performance models learn the times of each label.
[[nodiscard]] constexpr LabelAttribute label(std::string_view text) noexcept {
  return {text};
}

struct ReuseAttribute {
  std::int32_t value;
};

/// How much the task's data will be used again, for caches that use this index (`ReuseGuided`): the
/// blocks with the lowest index leave a device first. Without it the datum's index counts
/// (`Handle::reuse`), or 0 if the datum has none.
[[nodiscard]] constexpr ReuseAttribute reuse(std::int32_t index) noexcept {
  return {index};
}

struct FlopsAttribute {
  float value;
};

/// The work of a task, for types whose data do not tell it, as a task for a subtree of a sparse
/// matrix. Performance models and simulated machines then know that twice the work takes twice the
/// time. Any unit does, if it is the same for all tasks of the type; 7 digits count. 0 or less, and
/// NaN: unknown.
[[nodiscard]] constexpr FlopsAttribute flops(double work) noexcept {
  return {work > 0 ? static_cast<float>(work) : 0.0F};
}

struct AbortableAttribute {};

/// The task may be begun again on another worker before it has ended (spoliation), if the scheduler
/// sees that it would end earlier there. The attempt that ends first has the result. What the
/// others wrote is dropped. Bodies write to memory of their own until then. On a host this costs a
/// copy of what the task writes, in both directions. On a device it costs a copy of the data that
/// are valid nowhere else.
///
/// For tasks that write at least one datum and have no CW access. Their bodies take no runtime and
/// no handles, their values can be copied, and their data have trivially copyable elements.
/// Anything else does not compile. A body may run more than once, also twice at the same time, so
/// it must have no effect but on its data. A body on the host should ask `stop_requested()` and
/// return if it is true. On a core, an attempt that lost reads the task's data until it ends.
/// sync() and tasks that write these data wait for it.
inline constexpr AbortableAttribute abortable;

struct GroupAttribute {
  detail::GroupState* state; // of the TaskGroup given to `in(group)`
};

// ---- what a policy sees ----

/// One datum argument of a task.
struct ArgumentView {
  AccessMode mode = AccessMode::read;
  std::size_t bytes = 0;
  std::uint64_t data = 0;        // identity of the datum: equal for the same datum
  std::uint64_t valid_nodes = 1; // bit k: memory node k holds a valid copy
  std::int32_t reuse = 0;        // its index for caches: see hetsched::reuse

  /// Whether a node holds a valid copy. With more nodes than bits transfers are free, and the
  /// answer is the same for all nodes.
  [[nodiscard]] constexpr bool valid_at(NodeId node) const noexcept {
    return (valid_nodes >> (node.value < 63 ? node.value : 63) & 1U) != 0;
  }
};

/// What a scheduler can say about uses of a datum that are to come. Ordered by how much they count.
struct FutureUses {
  std::size_t planned = 0; // by tasks that the scheduler has planned for a memory node
  std::size_t ready = 0;   // by tasks that are ready, wherever they will run

  friend constexpr auto operator<=>(FutureUses const&, FutureUses const&) = default;
};

/// A task as schedulers and performance models see it. Valid from push until epilogue returns.
class TaskView {
public:
  using ArgumentGetter = ArgumentView (*)(void const* source, std::size_t index);

  std::string_view type;
  std::string_view label;
  std::int32_t priority = 0;
  ArchMask archs;               // classes that have a body and are allowed by SetArch
  std::int32_t graph_node = -1; // position in the captured graph being run; -1: not part of one
  std::size_t arguments = 0;    // data arguments; by-value parameters are not counted
  float flops = 0;              // its work, if the spawn told: see hetsched::flops
  bool abortable = false;       // a worker that has taken it may stop it; it then runs again
  bool spawns = false;          // its body on a core may spawn tasks

  /// The i-th data argument, i < arguments.
  [[nodiscard]] ArgumentView argument(std::size_t i) const { return get_(source_, i); }

  /// Bytes of all data arguments.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < arguments; ++i) {
      sum += argument(i).bytes;
    }
    return sum;
  }

  /// The largest reuse index (see hetsched::reuse) among the data that it writes, or among all if
  /// it writes none; 0 without data.
  [[nodiscard]] std::int32_t reuse() const {
    std::int32_t most = 0;
    bool writes_any = false;
    for (std::size_t i = 0; i < arguments; ++i) {
      auto const one = argument(i);
      bool const better = writes(one.mode) != writes_any ? writes(one.mode) : one.reuse > most;
      most = i == 0 || better ? one.reuse : most;
      writes_any = writes_any || writes(one.mode);
    }
    return most;
  }

  /// Hash of the task type, the sizes of its data, and its work if that is known, to within 6 %:
  /// the key of performance histories.
  [[nodiscard]] std::uint64_t footprint() const {
    detail::FnvHash hash;
    hash.add(type);
    for (std::size_t i = 0; i < arguments; ++i) {
      hash.add(argument(i).bytes);
    }
    if (flops > 0) {
      hash.add(std::bit_cast<std::uint32_t>(flops) >> 19U); // four bits behind the leading one
    }
    return hash.value();
  }

  /// For engines and contexts: the source of `argument`.
  void set_source(void const* source, ArgumentGetter get) noexcept {
    source_ = source;
    get_ = get;
  }

private:
  void const* source_ = nullptr;
  ArgumentGetter get_ = nullptr;
};

/// What the tasks that merge contributions are called, in traces and statistics.
inline constexpr std::string_view merge_task_name = "hetsched merge";

} // namespace hetsched
