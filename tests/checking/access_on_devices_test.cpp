// SPDX-License-Identifier: MIT
// Each kind of violation is planted in a kernel on an emulated device, in data that fill pages and
// in data that do not: there each copy has pages of its own.
#include <hetsched/checking.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "checked.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace access_on_devices_test {

using checked::Reads;
using checked::Vector;

double volatile sink = 0;

/// What a kernel that reads x and writes y does besides.
enum class Deed {
  nothing,
  writes_read,         // x, the same value
  reads_on_host,       // z in the program's memory
  writes_on_host,      // another value
  reads_on_device,     // z's copy on the device
  writes_on_device,    // the same value
  reads_behind,        // one element behind y
  writes_behind,       // the same
  writes_before,       // one element before y, another value
  keeps_place,         // of x: nothing wrong
  launch_reads_on_host // the body itself, not its kernel
};

double* place_of_z = nullptr; // on the device

struct OnDevice
    : hs::Task<4>::Signature<hs::V<Deed>, hs::V<double*>, hs::R<Vector>, hs::W<Vector>> {};

void do_deed(Deed deed, double* z, Reads x, Vector y) {
  std::copy(x.begin(), x.end(), y.begin());
  auto* const read = const_cast<double*>(x.data()); // NOLINT
  auto const middle = x.size() / 2;                 // fills a page if anything does
  switch (deed) {
  case Deed::writes_read:
    const_cast<double volatile&>(read[3]) = x[3]; // a compiler may leave others out
    break;
  case Deed::reads_on_host:
    sink = z[middle];
    break;
  case Deed::writes_on_host:
    z[middle] = 7.0;
    break;
  case Deed::reads_on_device:
    sink = place_of_z[5];
    break;
  case Deed::writes_on_device:
    place_of_z[5] = 1.0;
    break;
  case Deed::reads_behind:
    sink = y.data()[y.size()];
    break;
  case Deed::writes_behind:
    y.data()[y.size()] = 0.0;
    break;
  case Deed::writes_before:
    y.data()[-1] = 7.0;
    break;
  case Deed::keeps_place:
    place_of_z = read;
    break;
  default:
    break;
  }
}

} // namespace access_on_devices_test

template <>
struct hetsched::TaskBodyGPU<access_on_devices_test::OnDevice> {
  void operator()(hs::GpuStream& stream,
                  access_on_devices_test::Deed deed,
                  double* z,
                  access_on_devices_test::Reads x,
                  access_on_devices_test::Vector y) const {
    if (deed == access_on_devices_test::Deed::launch_reads_on_host) {
      access_on_devices_test::sink = z[x.size() / 2];
    }
    REQUIRE(stream.run_emulated([=] { access_on_devices_test::do_deed(deed, z, x, y); }));
  }
};

namespace access_on_devices_test {

using checked::check_told;
using checked::Layout;
using checked::Memory;
using checked::told;

hs::Config config() {
  auto config = checked::config();
  config.devices = "emu:1@1MB";
  return config;
}

TEST_SUITE_BEGIN("checking/access on devices");

struct Planted {
  Deed deed;
  std::vector<std::string> words;
};

std::vector<Planted> const planted{
    {Deed::writes_read, {"writes row 3, column 0 of data argument 1, data 'x'", "declared R"}},
    {Deed::writes_on_host, {"writes row", "of data 'z'", "did not declare", "in a kernel"}},
    {Deed::reads_on_device, {"reads memory of the device that is none of its data"}},
    {Deed::writes_on_device, {"writes memory of the device that is none of its data"}},
    {Deed::reads_behind, {"reads memory", "bytes behind data argument 2, data 'y'"}},
    {Deed::writes_behind, {"writes memory", "bytes behind data argument 2, data 'y'"}},
};

TEST_CASE("access: a body on an emulated device is told of what it did not declare") {
  for (auto const layout : {Layout::pages, Layout::shared, Layout::spread}) {
    CAPTURE(static_cast<int>(layout));
    Memory const memory(layout);
    hs::Runtime<> rt(config());
    auto const x = rt.data(memory[0], memory.length).named("x");
    auto const y = rt.data(memory[1], memory.length).named("y");
    auto const z = rt.data(memory[2], memory.length).named("z");
    auto const run = [&](Deed deed) {
      rt.spawn<OnDevice>()(Deed::keeps_place, nullptr, z, y); // z is on the device, too
      rt.spawn<OnDevice>(hs::label("deed"))(deed, memory[2], x, y);
      return told(rt);
    };
    CHECK(run(Deed::nothing) == "");
    for (auto const& [deed, words] : planted) {
      CAPTURE(static_cast<int>(deed));
      auto const line = run(deed);
      check_told(line, words);
      check_told(line, {"OnDevice", "(deed)"});
      CHECK(run(Deed::nothing) == "");
    }
    if (layout != Layout::shared) { // what is not seen on the host is not seen from devices
      check_told(run(Deed::reads_on_host), {"(deed)", "reads row", "data 'z'", "in a kernel"});
      check_told(run(Deed::launch_reads_on_host), {"(deed)", "reads row", "data 'z'"});
    }
    auto const before = run(Deed::writes_before);
    if (layout == Layout::pages) {
      check_told(before, {"writes memory", "none of its data"});
    } else {
      check_told(before, {"writes memory", "bytes before data argument 2"});
    }
    CHECK(run(Deed::nothing) == "");
  }
}

/// A part has a copy of its own there.
TEST_CASE("access: a body on an emulated device does not touch the neighbouring part") {
  for (std::size_t const length : {std::size_t{20}, std::size_t{512}, std::size_t{700}}) {
    CAPTURE(length);
    std::vector<double> memory(4 * length, 1.0);
    hs::Runtime<> rt(config());
    auto const parts = rt.partition(rt.data(memory).named("v"), hs::block_rows(length));
    auto const run = [&](Deed deed) {
      rt.spawn<OnDevice>()(Deed::keeps_place, nullptr, parts[2], parts[3]);
      rt.wait(); // no datum orders the two
      rt.spawn<OnDevice>(hs::label("deed"))(deed, nullptr, parts[0], parts[1]);
      return told(rt);
    };
    CHECK(run(Deed::nothing) == "");
    for (auto const deed : {Deed::writes_read,
                            Deed::reads_on_device,
                            Deed::writes_on_device,
                            Deed::reads_behind,
                            Deed::writes_behind,
                            Deed::writes_before}) {
      CAPTURE(static_cast<int>(deed));
      check_told(run(deed),
                 {"(deed)", deed == Deed::writes_read ? "declared R" : "none of its data"});
      CHECK(run(Deed::nothing) == "");
    }
    CHECK(std::all_of(memory.begin(), memory.end(), [](double v) { return v == 1.0; }));
  }
}

TEST_SUITE_END();

} // namespace access_on_devices_test
