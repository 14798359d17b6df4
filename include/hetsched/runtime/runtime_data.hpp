// SPDX-License-Identifier: MIT
#pragma once
// How a runtime comes to know data.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/fork.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/engine/policy_checks.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/handles/partition.hpp>

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched {

namespace detail {

/// Where the calling thread captures what it spawns in the engine; null: it spawns.
[[nodiscard]] inline CaptureSink* capture_sink_of(void const* core) noexcept {
  auto const& state = this_thread;
  return state.capture_core == core ? static_cast<CaptureSink*>(state.capture) : nullptr;
}

/// Throws Error(bad_call) where it captures.
inline void check_outside_capture(void const* core, char const* operation) {
  if (auto const* const sink = capture_sink_of(core)) [[unlikely]] {
    refuse_inside(*sink, operation);
  }
}

} // namespace detail

/// The members of Runtime that are about data, the same whatever its policies; see there.
template <class Engine>
class RuntimeData {
public:
  RuntimeData(RuntimeData const&) = delete;
  RuntimeData& operator=(RuntimeData const&) = delete;

  /// Registers a region and returns its handle: a scalar or any object (`data(x)`), a container
  /// with data() and size(), a matrix with rows(), cols(), outerStride() (Eigen), `count` elements,
  /// a block of rows x cols, column-major with leading dimension ld (in elements), or what an
  /// ArrayView shows. Row-major matrices and ArrayViews need core/array_view.hpp. Nothing
  /// is copied; the memory must outlive the handles. Const memory gives a handle that may only be
  /// read. Throws Error(bad_data) for a null pointer, ld < rows, or an overlap with another region.
  template <class T>
  [[nodiscard]] auto data(T& object) {
    if constexpr (detail::array_data<std::remove_const_t<T>>) {
      return array_handle(object);
    } else if constexpr (detail::matrix_like<T> && !detail::is_column_major<T>) {
      using Element = std::remove_reference_t<decltype(*object.data())>;
      constexpr bool known = requires { sizeof(detail::RowMajorData<Element>); };
      static_assert(known,
                    "hetsched: data(matrix) of a row-major matrix needs "
                    "<hetsched/core/array_view.hpp>");
      if constexpr (known) {
        return watched(object, array_handle(detail::RowMajorData<Element>::view(object)));
      }
    } else if constexpr (detail::matrix_like<T>) {
      return watched(object,
                     data(object.data(),
                          static_cast<std::size_t>(object.rows()),
                          static_cast<std::size_t>(object.cols()),
                          static_cast<std::size_t>(object.outerStride())));
    } else if constexpr (detail::vector_like<T>) {
      return watched(object, data(object.data(), object.size()));
    } else {
      return make_handle<T>(&object, {1, 1, 1});
    }
  }

  template <class T>
  void data(T const&& temporary) = delete; // the region would be gone at once

  template <detail::array_data View>
  [[nodiscard]] Handle<View> data(View const&& view) { // the region is not in it
    return array_handle(view);
  }

  template <class T>
  [[nodiscard]] Handle<VectorView<T>> data(T* first, std::size_t count) {
    return make_handle<VectorView<T>>(first, {count, 1, count == 0 ? 1 : count});
  }

  template <class T>
  [[nodiscard]] Handle<TileView<T>>
  data(T* first, std::size_t rows, std::size_t cols, std::size_t ld) {
    return make_handle<TileView<T>>(first, {rows, cols, ld});
  }

  /// Data in memory that the runtime owns: `count` elements, rows x cols, or one. It is taken where
  /// the first task writes it, on the host or on a device, and given up when the last handle is
  /// gone and the last task on it complete. No call waits for that: the last handle may go while
  /// tasks still use the datum. Without a value: the first task on it writes it (W, or CW, which
  /// finds neutral elements), else its spawn throws Error(bad_access). `sync()` does not bring it
  /// to the host. Thread-safe. Throws bad_alloc if there is no address space for it.
  template <class T>
    requires(!detail::array_data<T>) // of one dimension, {n} is its extent
  [[nodiscard]] Handle<VectorView<T>> temporary(std::size_t count) {
    return make_temporary<VectorView<T>, T>({count, 1, count == 0 ? 1 : count});
  }

  template <class T>
  [[nodiscard]] Handle<TileView<T>> temporary(std::size_t rows, std::size_t cols) {
    return make_temporary<TileView<T>, T>({rows, cols, rows});
  }

  template <class T>
  [[nodiscard]] Handle<T> temporary() {
    return make_temporary<T, T>({1, 1, 1});
  }

  /// An array, as `temporary<ArrayView<double, 3>>({4, 5, 6})`.
  template <detail::array_data View>
  [[nodiscard]] Handle<View> temporary(typename View::Extents const& extents) {
    auto const region = detail::DataTraits<View>::region(View(nullptr, extents));
    return make_temporary<View, typename View::Element>(region.shape());
  }

  /// Registers memory that the program has on a device (`cudaMalloc`; for emulated devices any host
  /// memory) and that holds a value: `count` elements, or rows x cols densely packed. `sync()`,
  /// `sync(handle)` and the end of the last handle bring the value back there, of a partitioned
  /// region after the join; tasks elsewhere work on copies. Its place is not counted as memory for
  /// data. What the program's own streams do to it is for `follow` to say. Throws Error: bad_call
  /// (no such device), bad_data (null, not on that device, or an overlap).
  template <class T>
  [[nodiscard]] Handle<VectorView<T>> device_data(NodeId node, T* first, std::size_t count) {
    return make_device_handle<VectorView<T>>(node, first, {count, 1, count == 0 ? 1 : count});
  }

  template <class T>
  [[nodiscard]] Handle<TileView<T>>
  device_data(NodeId node, T* first, std::size_t rows, std::size_t cols) {
    return make_device_handle<TileView<T>>(node, first, {rows, cols, rows});
  }

  /// Later tasks on the datum, of `device_data`, wait for what a stream of the program's own on its
  /// device holds now: a cudaStream_t, or for emulated devices an hs_stream of
  /// hetsched_emulated_driver(). Returns at once. The other way round, what the program gives its
  /// streams after `sync(handle)` comes after all tasks. Throws Error: bad_call (the datum's home
  /// is no device), device_failed, and what a spawn that writes the datum throws.
  template <class D>
  void follow(Handle<D> const& handle, void* stream) {
    check_usable("follow");
    auto& record = record_of(handle);
    auto const* const replicas = record.replicas.load(std::memory_order_acquire);
    if (replicas == nullptr || replicas->home == host_node || record.read_only()) {
      throw Error(
          ErrorCode::bad_call,
          "follow",
          detail::text("%s is no device_data that may be written", record.describe().c_str()));
    }
    auto const node = replicas->home;
    detail::spawn_hint(
        *core_, detail::follow_type, record, {node, core_->devices()->mark_stream(node, stream)});
  }

  /// Cuts a vector or tile into blocks; see Partition. Costs O(parts). Of an array the rows cut the
  /// first dimension, the columns the last.
  template <class D>
  [[nodiscard]] Partition<D> partition(Handle<D> const& whole, Blocks blocks) {
    check_usable("partition");
    auto& record = record_of(whole);
    detail::check_blocks<D>(record, blocks);
    return cut<D>(record, {blocks});
  }

  /// Cuts a vector or tile into parts of any sizes: `cuts({2, 5})`, `cuts({rows}, {columns})`.
  /// Throws Error(bad_data) unless the cuts of a dimension ascend and lie inside.
  template <class D>
  [[nodiscard]] Partition<D> partition(Handle<D> const& whole, Cuts const& cuts) {
    check_usable("partition");
    auto& record = record_of(whole);
    constexpr auto rest = static_cast<std::size_t>(-1);
    detail::PartShape const shape{{rest, rest}, cuts.rows, cuts.cols};
    detail::check_blocks<D>(record, shape.blocks);
    if constexpr (detail::array_data<D>) {
      constexpr auto last = detail::DataTraits<D>::dimensions - 1;
      detail::check_cuts(record,
                         shape,
                         detail::extent_of<D>(record.shape, 0),
                         last == 0 ? 1 : detail::extent_of<D>(record.shape, last));
    } else {
      detail::check_cuts(record, shape, record.shape.rows, record.shape.cols);
    }
    return cut<D>(record, shape);
  }

  /// Gives a partitioned region back as a whole. Asynchronous: later tasks on the whole wait for
  /// the tasks on its parts. Joins partitions of its parts, too. Without effect if it was joined
  /// already.
  template <class D>
  void join(Partition<D>& partition) {
    check_usable("join");
    partition.join();
  }

  /// For the library: a datum that is the first `bytes` of a Memory, which goes with it.
  template <class Memory>
  [[nodiscard]] detail::DataRecord* new_result(std::size_t bytes) {
    detail::HostBuffer buffer(sizeof(Memory), alignof(Memory), [](void* memory) noexcept {
      static_cast<Memory*>(memory)->~Memory();
    });
    new (buffer.get()) Memory;
    return detail::register_temporary(
        std::move(buffer), {1, 1, 1}, bytes, core_->current_domain(), *registry_);
  }

  /// For the library: what runs the tasks.
  [[nodiscard]] typename Engine::BaseCore& engine() const noexcept { return *core_; }

protected:
  using Core = typename Engine::BaseCore;

  /// The derived class detaches the registry and deletes the core when it goes.
  [[gnu::cold]] explicit RuntimeData(detail::Owned<Core> core)
      : core_(core.get()),
        registry_(new detail::DataRegistry(
            this,
            [](void* rt, detail::DataRecord& record) {
              return static_cast<RuntimeData*>(rt)->await_unused(record);
            },
            [](void* rt, detail::DataRecord& record) {
              typename Core::Spawner spawner(*static_cast<RuntimeData*>(rt)->core_,
                                             detail::Registers::postponable);
              return detail::discard_behind(spawner.host(), record);
            })) {
    (void)core.release();
  }

  ~RuntimeData() = default;

  [[nodiscard]] Core& core() const noexcept { return *core_; }

  [[nodiscard]] detail::DataRegistry& registry() const noexcept { return *registry_; }

  [[nodiscard]] bool forked() const noexcept { return forked_.happened(); }

  [[gnu::cold]] void check_usable(char const* operation) const {
    if (forked_.happened()) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "this runtime was made before fork() and its workers stayed with the parent "
                  "process; make a runtime in the child");
    }
    detail::check_outside_capture(core_, operation);
    detail::check_outside_policies(*core_, operation);
    if (registry_->watches()) {
      registry_->check_containers();
    }
  }

  [[nodiscard]] detail::CaptureSink* capture_sink() const noexcept {
    return detail::capture_sink_of(core_);
  }

  /// Whether the node is that of a device that computes; throws if there is no such node.
  bool is_device(char const* operation, NodeId node) const {
    check_usable(operation);
    auto const last = static_cast<std::int32_t>(core_->nodes().size()) - 1;
    if (node.value < 0 || node.value > last) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  detail::text("there is no memory node %d, only 0 to %d", int{node.value}, last));
    }
    return node != host_node && core_->devices() != nullptr;
  }

  template <class D>
  static detail::DataRecord& record_of(Handle<D> const& handle) {
    if (!handle) {
      throw Error(ErrorCode::bad_data, "handle", "is empty");
    }
    return *handle.record();
  }

private:
  template <class D>
  Partition<D> cut(detail::DataRecord& record, detail::PartShape const& shape) {
    typename Core::Spawner spawner(*core_, detail::Registers::partition);
    auto const open = [&](detail::PartShape const& in_memory) {
      return detail::open_partition<D>(
          spawner.host(), record, in_memory, core_->current_task(), core_->current_domain());
    };
    if constexpr (detail::array_data<D>) {
      return detail::DataTraits<D>::partition(
          record.shape, shape, open, [](auto* state, std::size_t rows, auto parts) {
            return Partition<D>(&end_partition, state, rows, std::move(parts));
          });
    } else {
      auto [state, parts] = open(shape);
      auto const rows = state->grid_rows;
      return Partition<D>(&end_partition, state, rows, std::move(parts));
    }
  }

  template <class View>
  Handle<View> array_handle(View const& view) {
    auto const region = detail::DataTraits<View>::region(view);
    return make_handle<View>(view.data_handle(), region.shape());
  }

  template <class D, class T>
  Handle<D> make_handle(T* first, detail::Shape shape) {
    return Handle<D>(register_memory(first, shape, sizeof(T), std::is_const_v<T>));
  }

  template <class D, class T>
  Handle<D> make_temporary(detail::Shape shape) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                  "hetsched: temporary data need elements that are trivially copyable, not const");
    check_usable("temporary");
    detail::HostBuffer buffer(shape.rows * shape.cols * sizeof(T), sizeof(T));
    return Handle<D>(detail::register_temporary(
        std::move(buffer), shape, sizeof(T), core_->current_domain(), *registry_));
  }

  /// The handle of a container that may move its elements is noted for Check::containers.
  template <class T, class D>
  [[nodiscard]] Handle<D> watched(T const& container, Handle<D> handle) {
    if constexpr (detail::owns_elements<T>) {
      if (registry_->watches()) [[unlikely]] {
        registry_->watch(*handle.record(), {&container, &detail::look_at<T>});
      }
    }
    return handle;
  }

  [[gnu::cold, gnu::noinline]] detail::DataRecord* register_memory(void const* first,
                                                                   detail::Shape shape,
                                                                   std::size_t element_bytes,
                                                                   bool read_only) {
    check_usable("data");
    if (core_->current_task() == nullptr) {
      registry_->release_left(); // it may be the same memory
    }
    return detail::register_region(
        first, shape, element_bytes, read_only, core_->current_domain(), *registry_);
  }

  template <class D, class T>
  Handle<D> make_device_handle(NodeId node, T* first, detail::Shape shape) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "hetsched: device_data needs elements that are trivially copyable");
    if (!is_device("device_data", node)) {
      throw Error(ErrorCode::bad_call,
                  "device_data",
                  detail::text("node %d is no device's memory: see data()", int{node.value}));
    }
    auto const elements = shape.rows * shape.cols;
    if (first == nullptr && elements != 0) {
      throw Error(ErrorCode::bad_data, "device_data(nullptr)", "has no memory");
    }
    // Host memory for bodies on the host; the system backs it when it is first touched.
    detail::HostBuffer buffer(elements * sizeof(T), sizeof(T));
    Handle<D> handle(register_memory(buffer.get(), shape, sizeof(T), std::is_const_v<T>));
    handle.record()->buffer = std::move(buffer);
    if (elements != 0) {
      core_->devices()->adopt(*handle.record(), node, const_cast<std::remove_const_t<T>*>(first));
    }
    return handle;
  }

  [[gnu::cold]] bool await_unused(detail::DataRecord& record) {
    auto* const task = core_->current_task();
    // Else it would wait for its own end. In virtual time no body can wait.
    bool const waits = task == nullptr || (!Core::in_virtual_time && !detail::uses(task, record));
    std::exception_ptr error;
    try {
      error = std::make_exception_ptr(
          Error(ErrorCode::data_in_use,
                record.describe(),
                detail::text("its last handle was destroyed while tasks still used it; %s",
                             waits ? "the destructor waited" : "this was in the body of one")));
    } catch (std::bad_alloc const&) {
      error = std::current_exception();
    }
    if (waits) {
      core_->await_data(record.home, record.home.domain->owner == task ? task : nullptr);
    }
    core_->root_domain().failure.offer(core_->failure_log().add(std::move(error), "(no task)", ""));
    return waits;
  }

  /// The program gives up its Partition, perhaps after the runtime has ended.
  [[gnu::cold]] static void end_partition(detail::PartitionState& state) {
    auto& registry = *state.parts[0]->registry;
    if (registry.forked()) {
      return; // its tasks are the parent process's
    }
    if (auto* const runtime = static_cast<RuntimeData*>(registry.runtime())) {
      typename Core::Spawner spawner(*runtime->core_, detail::Registers::postponable);
      detail::close_partition(spawner.host(), state);
    } else if (state.join != nullptr) {
      detail::release_partition(state); // for the holder, which is gone
    }
    detail::release_partition(state);
  }

  detail::ForkMark forked_;
  Core* const core_;
  detail::DataRegistry* const registry_; // one reference is held
};

} // namespace hetsched
