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
#include <hetsched/runtime/lambda.hpp>

#include <concepts>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hetsched {

/// The task types. On cores their bodies are the algorithms on iterators, so several workers help
/// with one task. For GPUs specialise TaskBodyGPU<algorithms::ForEach<T, F>> and so on, with a
/// function type F of your own: the task may then run on either.
namespace algorithms {

template <class F, class Index, class... Modes>
struct ParallelFor : Task<4 + static_cast<int>(sizeof...(Modes))>::
                         template Signature<V<F>, V<Index>, V<Index>, V<LoopOptions>, Modes...> {
  static constexpr std::string_view name = "parallel_for";

  template <class Rt, class... Views>
    requires std::is_invocable_v<F const&, Index, Views&...>
  static void
  cpu(Rt& rt, F const& f, Index first, Index last, LoopOptions options, Views&&... views) {
    hetsched::parallel_for(rt, first, last, [&](Index i) { f(i, views...); }, options);
  }
};

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

template <class X, class Second, class Out, class F>
struct TransformPairs : Task<5>::Signature<V<F>,
                                           V<LoopOptions>,
                                           R<VectorView<X>>,
                                           R<VectorView<Second>>,
                                           W<VectorView<Out>>> {
  static constexpr std::string_view name = "transform";

  template <class Rt>
  static void cpu(Rt& rt,
                  F const& f,
                  LoopOptions options,
                  VectorView<X const> x,
                  VectorView<Second const> second,
                  VectorView<Out> y) {
    hetsched::transform(rt, x.begin(), x.end(), second.begin(), y.begin(), f, options);
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

template <class X, class Second, class Result, class Op, class Map>
struct TransformReducePairs : Task<6>::Signature<V<Op>,
                                                 V<Map>,
                                                 V<LoopOptions>,
                                                 R<VectorView<X>>,
                                                 R<VectorView<Second>>,
                                                 RW<Result>> {
  static constexpr std::string_view name = "transform_reduce";

  template <class Rt>
  static void cpu(Rt& rt,
                  Op const& op,
                  Map const& map,
                  LoopOptions options,
                  VectorView<X const> x,
                  VectorView<Second const> second,
                  Result& result) {
    result = hetsched::transform_reduce(
        rt, x.begin(), x.end(), second.begin(), std::move(result), op, map, options);
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
void check_lengths(char const* algorithm,
                   Handle<X> const& x,
                   Handle<Y> const& y,
                   char const* name_of_y = "y") {
  if (x && y && x.rows() != y.rows()) {
    throw Error(ErrorCode::bad_data,
                algorithm,
                text("x has %zu elements, %s has %zu", x.rows(), name_of_y, y.rows()));
  }
}

/// Whether an argument of a spawn is a datum, or a list of data, with its mode.
template <class Argument>
inline constexpr bool names_data = false;
template <class Declared, class D>
inline constexpr bool names_data<DeclaredAccess<Declared, D>> = true;
template <class Declared, class List>
inline constexpr bool names_data<DeclaredList<Declared, List>> = true;

} // namespace detail

/// What the following share: each spawns one task, in program order with all others on its data,
/// and returns; `rt.sync()` waits. Functions are copied into the task. An exception of a function
/// fails the task. May be captured. `x` may be a part of a partition: a task for each part spreads
/// the work over devices, too. Throws what a spawn throws, and Error(bad_data) if lengths differ;
/// then nothing was spawned.
///
/// f(i, view...) for each i from first to last - 1, with the views of the data: `read(x)`,
/// `write(y)` and so on, as for a lambda task; values may be given, too. At least one is a datum.
template <class Rt, std::integral Index, class F, class Access, class... Rest>
  requires detail::names_data<Access>
void parallel_for(Rt& rt,
                  Index first,
                  std::type_identity_t<Index> last,
                  F f,
                  LoopOptions options,
                  Access const& access,
                  Rest const&... rest) {
  using Loop = algorithms::ParallelFor<F,
                                       Index,
                                       typename detail::LambdaParameter<Access>::Declared,
                                       typename detail::LambdaParameter<Rest>::Declared...>;
  rt.template spawn<Loop>()(std::move(f),
                            first,
                            last,
                            options,
                            detail::LambdaParameter<Access>::forward(access),
                            detail::LambdaParameter<Rest>::forward(rest)...);
}

template <class Rt, std::integral Index, class F, class Access, class... Rest>
  requires detail::names_data<Access>
void parallel_for(Rt& rt,
                  Index first,
                  std::type_identity_t<Index> last,
                  F f,
                  Access const& access,
                  Rest const&... rest) {
  hetsched::parallel_for(rt, first, last, std::move(f), LoopOptions{}, access, rest...);
}

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

/// y[i] = f(x[i], second[i]).
template <class Rt, class X, class Second, class Out, class F>
void transform(Rt& rt,
               Handle<VectorView<X>> const& x,
               Handle<VectorView<Second>> const& second,
               Handle<VectorView<Out>> const& y,
               F f,
               LoopOptions options = {}) {
  detail::check_lengths("transform", x, y);
  detail::check_lengths("transform", x, second, "second");
  rt.template spawn<
      algorithms::TransformPairs<std::remove_const_t<X>, std::remove_const_t<Second>, Out, F>>()(
      std::move(f), options, x, second, y);
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

/// result = result op map(x[0], second[0]) op ...; without functions, a dot product.
template <class Rt,
          class X,
          class Second,
          class Result,
          class Op = std::plus<>,
          class Map = std::multiplies<>>
void transform_reduce(Rt& rt,
                      Handle<VectorView<X>> const& x,
                      Handle<VectorView<Second>> const& second,
                      Handle<Result> const& result,
                      Op op = {},
                      Map map = {},
                      LoopOptions options = {}) {
  detail::check_lengths("transform_reduce", x, second, "second");
  rt.template spawn<algorithms::TransformReducePairs<std::remove_const_t<X>,
                                                     std::remove_const_t<Second>,
                                                     Result,
                                                     Op,
                                                     Map>>()(
      std::move(op), std::move(map), options, x, second, result);
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
