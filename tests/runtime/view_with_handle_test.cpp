// SPDX-License-Identifier: MIT
// Bodies that take view and handle of a datum.

#include <hetsched/hetsched.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <numeric>
#include <vector>

namespace hs = hetsched;
using support::on_cpus;

namespace view_with_handle_test {

using Vector = hs::VectorView<int>;

/// Adds one to every element: of the first by itself, of the others in tasks on the parts; then
/// puts the sum into the first.
struct CountUp : hs::Task<2>::Signature<hs::RW<Vector>, hs::R<Vector>> {};

struct CountUpBody {
  void operator()(hs::Runtime<>& rt,
                  hs::WithHandle<Vector> const& v,
                  hs::WithHandle<hs::VectorView<int const>> by) const {
    v.view[0] += by.view[0];
    {
      auto const parts = rt.partition(v.handle, hs::cuts({1, 3}));
      for (std::size_t k = 1; k < parts.size(); ++k) {
        rt.spawn()(
            [](Vector part, hs::VectorView<int const> amount) {
              for (auto& element : part) {
                element += amount[0];
              }
            },
            hs::read_write(parts[k]),
            hs::read(by.handle));
      }
    }
    rt.sync();
    v.view[0] = std::accumulate(v.view.begin(), v.view.end(), 0);
  }
};

} // namespace view_with_handle_test

template <>
struct hetsched::TaskBodyCPU<view_with_handle_test::CountUp> : view_with_handle_test::CountUpBody {
};

namespace view_with_handle_test {

TEST_CASE("nested: a body with view and handle of its data works on them, and so do its children") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v{0, 1, 2, 3, 4};
  std::vector<int> const one{1};
  auto const hv = rt.data(v);
  auto const hone = rt.data(one);
  rt.spawn<CountUp>()(hv, hone);
  rt.sync();
  CHECK(v == std::vector<int>{15, 2, 3, 4, 5});
}

TEST_CASE("nested: a lambda with view and handle, beside a handle, a view and one object") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v{1, 2}, w{3, 4};
  int sum = 0;
  auto const hv = rt.data(v), hw = rt.data(w);
  auto const hsum = rt.data(sum);
  rt.spawn()(
      [](hs::Runtime<>& inner, hs::WithHandle<int&> total, hs::Handle<Vector> a, Vector b) {
        total.view = b[1];
        inner.spawn()([](int& all, hs::VectorView<int const> x) { all += x[0] + x[1]; },
                      hs::read_write(total.handle),
                      hs::read(a));
        inner.sync();
        total.view *= 10;
      },
      hs::read_write(hsum),
      hs::read_write(hv),
      hs::read_write(hw));
  rt.sync();
  CHECK(sum == 70);
}

} // namespace view_with_handle_test
