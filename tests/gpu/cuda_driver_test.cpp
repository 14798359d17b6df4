// SPDX-License-Identifier: MIT
// CUDA's driver, on the first GPU if there is one.

#include "device_fixture.hpp"
#include "driver_conformance.hpp"

#include <doctest/doctest.h>

#include <string>

namespace devices_test {
namespace {

hs_driver const* cuda() {
  return hetsched_cuda_driver();
}

/// If there is none, it says why.
bool has_gpu() {
  int devices = 0;
  if (cuda()->count(&devices) == hs_ok && devices > 0) {
    return true;
  }
  MESSAGE("skipped: " << std::string(cuda()->last_error()));
  return false;
}

TEST_CASE("CudaDriver: counts its devices or says in one line why it cannot") {
  CHECK(cuda()->version == HETSCHED_DEVICE_INTERFACE);
  int devices = -1;
  auto const status = cuda()->count(&devices);
  if (status == hs_ok) {
    CHECK(devices >= 0);
  } else {
    CHECK(status == hs_no_driver);
    CHECK(devices == 0);
    CHECK(is_one_line(cuda()->last_error()));
    hs_device* device = nullptr;
    CHECK(cuda()->open(0, 0, "", &device) == hs_no_driver);
    CHECK(device == nullptr);
  }
}

TEST_CASE("CudaDriver: names ranges, with a tool that looks or without, where it is built in") {
  CHECK((cuda()->range_begin == nullptr) == (cuda()->range_end == nullptr));
  if (cuda()->range_begin != nullptr) {
    cuda()->range_begin("a task");
    cuda()->range_begin("in a task");
    cuda()->range_end();
    cuda()->range_end();
  }
}

TEST_CASE("CudaDriver: does what every driver does") {
  if (!has_gpu()) {
    return;
  }
  SUBCASE("description") {
    check_description(cuda());
  }
  SUBCASE("memory") {
    check_memory(cuda());
  }
  SUBCASE("adoption") {
    check_adoption(cuda());
  }
  SUBCASE("pinning") {
    check_pinning(cuda());
  }
  SUBCASE("copies") {
    check_copies(cuda());
  }
  SUBCASE("events") {
    check_events(cuda());
  }
  SUBCASE("waits") {
    check_waits(cuda());
  }
  SUBCASE("wrong calls") {
    check_wrong_calls(cuda());
  }
  SUBCASE("BLAS") {
    check_blas(cuda());
  }
  SUBCASE("LAPACK") {
    check_lapack(cuda());
  }
}

TEST_CASE("CudaDriver: has native streams and no functions on the host") {
  if (!has_gpu()) {
    return;
  }
  TestDevice device(cuda());
  TestStream stream(device);
  CHECK(cuda()->stream_native(stream.handle) != nullptr);
  CHECK(cuda()->stream_blas(stream.handle) != nullptr);
  CHECK(run(stream, [] {}) == hs_not_supported); // the argument is dropped
}

} // namespace
} // namespace devices_test
