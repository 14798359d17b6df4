// SPDX-License-Identifier: MIT
// A program with HETSCHED_CHECK_BOUNDS: an index that is wrong fails its task, on cores and on
// devices. Without it, it would write behind the data.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace hs = hetsched;

namespace {

using Vector = hs::VectorView<double>;
using Tile = hs::TileView<double>;

struct OnDevice : hs::Task<1>::Signature<hs::RW<Vector>> {
  static constexpr std::string_view name = "on device";

  static void gpu(hs::GpuStream& stream, Vector v) {
    (void)stream.run_emulated([v] { v[v.size()] = 1; });
  }
};

int failures = 0;

void check(bool right, std::string const& what) {
  if (!right) {
    std::printf("FAILED: %s\n", what.c_str());
    ++failures;
  }
}

/// What the sync says.
template <class Rt>
std::string message_of_sync(Rt& rt) {
  try {
    rt.sync();
  } catch (hs::Error const& error) {
    return error.what();
  }
  return "";
}

} // namespace

int main() {
  hs::Runtime<> rt({.cpus = 1, .devices = "emu:1@1MB"});
  std::vector<double> vector(4, 1);
  std::vector<double> matrix(6, 1);
  auto const hv = rt.data(vector);
  auto const hm = rt.data(matrix.data(), 2, 3, 2);

  rt.spawn()([](Vector v) { v[3] = 2; }, hs::read_write(hv));
  rt.spawn()([](Tile t) { t(1, 2) = 2; }, hs::read_write(hm));
  check(message_of_sync(rt).empty() && vector[3] == 2 && matrix[5] == 2, "right indices");

  rt.spawn()([](Vector v) { v[4] = 2; }, hs::read_write(hv));
  auto message = message_of_sync(rt);
  check(message == "hetsched: view: has no element (4, 0): it has 4 x 1", message);

  rt.spawn()([](hs::TileView<double const> t) { (void)t(2, 0); }, hs::read(hm));
  message = message_of_sync(rt);
  check(message == "hetsched: view: has no element (2, 0): it has 2 x 3", message);

  std::vector<hs::Handle<Vector>> const two{hv, hv};
  rt.spawn()([](hs::Each<Vector> all) { (void)all[2]; }, hs::read_write(two));
  message = message_of_sync(rt);
  check(message == "hetsched: view: has no element (2, 0): it has 2 x 1", message);

  rt.spawn<OnDevice>()(hv);
  message = message_of_sync(rt);
  check(message.find("on device") != message.npos && message.find("(4, 0)") != message.npos,
        message);

  // The views of objects without checks have other names.
  check(std::string(typeid(Vector).name()).find("checked") != std::string::npos, "the type's name");
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
