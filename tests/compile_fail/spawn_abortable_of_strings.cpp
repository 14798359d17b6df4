// SPDX-License-Identifier: MIT
// expected-error: an abortable task needs data with trivially copyable elements
// expected-error: AbortableTask<Append
#include <hetsched/hetsched.hpp>

#include <string>

namespace hs = hetsched;

struct Page {
  std::string text;
};

struct Append : hs::Task<1>::Signature<hs::RW<Page>> {};

template <>
struct hetsched::TaskBodyCPU<Append> {
  void operator()(Page&) const {}
};

int main() {
  hs::Runtime<> rt;
  Page page;
  auto h = rt.data(page);
  rt.spawn<Append>(hs::abortable)(h);
}
