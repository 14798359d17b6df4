// SPDX-License-Identifier: MIT
#include "runtime_programs.hpp"

#include "device_programs.hpp"

namespace interleavings {

namespace {

struct Default {
  using Runtime = hs::Runtime<>;

  static Runtime make(hs::Config const& config) { return Runtime(config); }
};

} // namespace

std::span<Program const> runtime_programs() {
  return Programs<Default>::all;
}

std::span<Program const> meeting_programs() {
  return Programs<Default>::meetings;
}

std::span<Program const> device_programs() {
  return DevicePrograms<Default>::all;
}

} // namespace interleavings
