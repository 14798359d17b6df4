// SPDX-License-Identifier: MIT
// Tries every sequence of events of the memory nodes, up to a length, in each of the settings. The
// first sequence after which something does not hold is printed as a test.
//
// Usage: explore_memory [--depth N] [--seconds S] [--data N] [--devices N] [SETTING...]
//   --depth    how many events; without it, each setting has the number in the table below
//   --seconds  for each setting; what was tried until then is printed
//   --data, --devices   only settings with so many

#include "../../support/exploration_program.hpp"
#include "memory_settings.hpp"

#include <cstddef>

namespace {

using namespace memory_model;
using exploration::any_depth;

constexpr exploration::Exploration<Setting> explorations[] = {
    {&two_data, any_depth},
    {&room_for_one, any_depth},
    {&aborts, any_depth},
    {&attempts, 10},
    {&pins, 10},
    {&at_home, 12},
    {&syncs, 10},
    {&all_at_once, 9},
    {&pieces, 6},
    {&small_and_large, 8},
    {&two_devices, 8},
    {&two_devices_pairs, 7},
    {&two_devices_aborts, 8},
    {&two_devices_home, 6},
    {&attempts_on_two, 8},
    {&attempts_without_room, 9},
};

} // namespace

int main(int argc, char** argv) {
  exploration::ExplorationProgram program(argc, argv, {{"--data", 0}, {"--devices", 0}});
  auto const data = program.value("--data");
  auto const devices = program.value("--devices");
  program.explore<Model, Setting>(explorations, [&](Setting const& setting) {
    return (data == 0 || data == setting.sizes.size()) &&
           (devices == 0 || devices == static_cast<std::size_t>(setting.devices));
  });
  return program.status();
}
