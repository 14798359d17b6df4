// SPDX-License-Identifier: MIT
#pragma once
// The algorithms as tasks on data: each call spawns a task and returns.

#include <hetsched/algorithms/inclusive_scan.hpp>
#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/algorithms/parallel_for.hpp>
#include <hetsched/algorithms/reduce.hpp>
#include <hetsched/algorithms/sort.hpp>
#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/handles/handle.hpp>

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hetsched {

/// The task types. On cores their bodies are the algorithms on iterators, so several workers help
/// with one task. For GPUs specialise TaskBodyGPU<algorithms::ForEach<T, F>> and so on, with a
/// function type F of your own: the task may then run on either.
namespace algorithms {

template <class T, class F>
struct ForEach : Task<3>::Signature<V<F>, V<LoopOptions>, RW<VectorView<T>>> {
  static constexpr std::string_view name = "for_each";

  template <class Rt>
  static void cpu(Rt& rt, F const& f, LoopOptions options, VectorView<T> x) {
    hetsched::for_each(rt, x.begin(), x.end(), f, options);
  }
};

template <class In, class Out, class F>
struct Transform : Task<4>::Signature<V<F>, V<LoopOptions>, R<VectorView<In>>, W<VectorView<Out>>> {
  static constexpr std::string_view name = "transform";

  template <class Rt>
  static void
  cpu(Rt& rt, F const& f, LoopOptions options, VectorView<In const> x, VectorView<Out> y) {
    hetsched::transform(rt, x.begin(), x.end(), y.begin(), f, options);
  }
};

template <class T, class Result, class Op, class Map>
struct TransformReduce
    : Task<5>::Signature<V<Op>, V<Map>, V<LoopOptions>, R<VectorView<T>>, RW<Result>> {
  static constexpr std::string_view name = "transform_reduce";

  template <class Rt>
  static void cpu(Rt& rt,
                  Op const& op,
                  Map const& map,
                  LoopOptions options,
                  VectorView<T const> x,
                  Result& result) {
    result =
        hetsched::transform_reduce(rt, x.begin(), x.end(), std::move(result), op, map, options);
  }
};

template <class T, class Op>
struct InclusiveScan
    : Task<4>::Signature<V<Op>, V<LoopOptions>, R<VectorView<T>>, W<VectorView<T>>> {
  static constexpr std::string_view name = "inclusive_scan";

  template <class Rt>
  static void
  cpu(Rt& rt, Op const& op, LoopOptions options, VectorView<T const> x, VectorView<T> y) {
    hetsched::inclusive_scan(rt, x.begin(), x.end(), y.begin(), op, options);
  }
};

template <class T, class Less>
struct Sort : Task<3>::Signature<V<Less>, V<LoopOptions>, RW<VectorView<T>>> {
  static constexpr std::string_view name = "sort";

  template <class Rt>
  static void cpu(Rt& rt, Less const& less, LoopOptions options, VectorView<T> x) {
    hetsched::sort(rt, x.begin(), x.end(), less, options);
  }
};

} // namespace algorithms

namespace detail {

template <class X, class Y>
void check_lengths(char const* algorithm, Handle<X> const& x, Handle<Y> const& y) {
  if (x && y && x.rows() != y.rows()) {
    throw Error(
        ErrorCode::bad_data, algorithm, text("x has %zu elements, y has %zu", x.rows(), y.rows()));
  }
}

} // namespace detail

/// What the following share: each spawns one task, in program order with all others on its data,
/// and returns; `rt.sync()` waits. Functions are copied into the task. An exception of a function
/// fails the task. May be captured. `x` may be a part of a partition: a task for each part spreads
/// the work over devices, too. Throws what a spawn throws, and Error(bad_data) if lengths differ;
/// then nothing was spawned.
///
/// f(element) for each element of x.
template <class Rt, class T, class F>
void for_each(Rt& rt, Handle<VectorView<T>> const& x, F f, LoopOptions options = {}) {
  rt.template spawn<algorithms::ForEach<T, F>>()(std::move(f), options, x);
}

/// y[i] = f(x[i]).
template <class Rt, class In, class Out, class F>
void transform(Rt& rt,
               Handle<VectorView<In>> const& x,
               Handle<VectorView<Out>> const& y,
               F f,
               LoopOptions options = {}) {
  detail::check_lengths("transform", x, y);
  rt.template spawn<algorithms::Transform<std::remove_const_t<In>, Out, F>>()(
      std::move(f), options, x, y);
}

/// result = result op map(x[0]) op ...
template <class Rt, class T, class Result, class Op, class Map>
void transform_reduce(Rt& rt,
                      Handle<VectorView<T>> const& x,
                      Handle<Result> const& result,
                      Op op,
                      Map map,
                      LoopOptions options = {}) {
  rt.template spawn<algorithms::TransformReduce<std::remove_const_t<T>, Result, Op, Map>>()(
      std::move(op), std::move(map), options, x, result);
}

/// result = result op x[0] op ...
template <class Rt, class T, class Result, class Op = std::plus<>>
void reduce(Rt& rt,
            Handle<VectorView<T>> const& x,
            Handle<Result> const& result,
            Op op = {},
            LoopOptions options = {}) {
  hetsched::transform_reduce(rt, x, result, std::move(op), std::identity(), options);
}

/// y[i] = x[0] op ... op x[i]; y may be x.
template <class Rt, class TX, class T, class Op = std::plus<>>
void inclusive_scan(Rt& rt,
                    Handle<VectorView<TX>> const& x,
                    Handle<VectorView<T>> const& y,
                    Op op = {},
                    LoopOptions options = {}) {
  detail::check_lengths("inclusive_scan", x, y);
  rt.template spawn<algorithms::InclusiveScan<T, Op>>()(std::move(op), options, x, y);
}

/// Sorts x.
template <class Rt, class T, class Less = std::less<>>
void sort(Rt& rt, Handle<VectorView<T>> const& x, Less less = {}, LoopOptions options = {}) {
  rt.template spawn<algorithms::Sort<T, Less>>()(std::move(less), options, x);
}

} // namespace hetsched
