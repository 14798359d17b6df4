// SPDX-License-Identifier: MIT
// Bodies that are static member functions of their task type.

#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

// Names that a specialisation, in namespace hetsched, would not see.
using V = hetsched::VectorView<double>;
using Handle = hetsched::Handle<V>;

namespace member_bodies_test {

namespace hs = hetsched;

struct Scale : hs::Task<2>::Signature<double, hs::RW<V>> {
  static void cpu(double factor, V v) noexcept {
    for (auto& element : v) {
      element *= factor;
    }
  }
};

struct AddTo : hs::Task<2>::Signature<hs::R<V>, hs::RW<V>> {
  static void cpu(hs::VectorView<double const> from, V to) { to[0] += from[0]; }
};

/// Any runtime, and a handle.
struct Nesting : hs::Task<1>::Signature<hs::RW<V>> {
  static void cpu(auto& rt, Handle v) { rt.template spawn<Scale>()(2.0, v); }
};

struct OfOneRuntime : hs::Task<1>::Signature<hs::RW<V>> {
  static void cpu(hs::Runtime<>& rt, Handle const& v) { rt.spawn<Scale>()(3.0, v); }
};

struct Moving : hs::Task<2>::Signature<std::unique_ptr<double>, hs::RW<V>> {
  static void cpu(std::unique_ptr<double>& value, V v) { v[0] += *value; }
};

/// Members of these names that are no functions are no bodies.
struct Named : hs::Task<1>::Signature<hs::RW<V>> {
  int cpu = 1;
  static constexpr double gpu = 2;
};

} // namespace member_bodies_test

template <>
struct hetsched::TaskBodyCPU<member_bodies_test::Named> {
  void operator()(VectorView<double> v) const { v[0] -= 1; }
};

namespace member_bodies_test {

TEST_SUITE_BEGIN("runtime");

TEST_CASE("member bodies: static functions, templates, with a runtime, with values") {
  hs::Runtime<> rt(support::on_cpus(2));
  std::vector<double> x(3, 1);
  std::vector<double> y(3, 10);
  auto const hx = rt.data(x);
  auto const hy = rt.data(y);
  rt.spawn<Scale>()(5.0, hx);                          // 5
  rt.spawn<AddTo>()(hx, hy);                           // y: 15
  rt.spawn<Nesting>()(hx);                             // 10
  rt.spawn<OfOneRuntime>()(hx);                        // 30
  rt.spawn<Moving>()(std::make_unique<double>(4), hx); // 34
  rt.spawn<Named>()(hx);                               // 33
  rt.spawn<Scale>(hs::abortable)(2.0, hx);             // 66
  rt.sync();
  CHECK(x == std::vector<double>{66, 60, 60});
  CHECK(y[0] == 15);
  CHECK(hs::detail::has_cpu_body<Scale>);
  CHECK(!hs::detail::has_gpu_body<Scale>);
  CHECK(!hs::detail::has_gpu_body<Named>);
}

TEST_SUITE_END();

} // namespace member_bodies_test
