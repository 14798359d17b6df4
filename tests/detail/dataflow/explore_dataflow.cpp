// SPDX-License-Identifier: MIT
// Tries every sequence of events of the dataflow layer, up to a length, in each of the settings.
// The first sequence after which something does not hold is printed as a test.
//
// Usage: explore_dataflow [--depth N] [--seconds S] [SETTING...]
//   --depth    how many events; without it, each setting has the number in the table below
//   --seconds  for each setting; what was tried until then is printed

#include "../../support/exploration_program.hpp"
#include "attempts_model.hpp"
#include "dataflow_settings.hpp"

namespace {

using namespace dataflow_model;

constexpr exploration::Exploration<Setting> explorations[] = {
    {&modes, 6},
    {&single_modes, 9},
    {&commuting, 10},
    {&failures, 10},
    {&group, 8},
    {&contributions, 9},
    {&parts, 8},
    {&parts_of_parts, 10},
    {&handles, 10},
    {&children, 12},
    {&children_in_group, 9},
    {&contributing_children, 12},
    {&early, 10},
    {&losses, 6},
    {&losses_between_writes, 9},
};

constexpr exploration::Exploration<attempts_model::Setting> of_attempts[] = {
    {&attempts_model::three_cores, exploration::any_depth},
    {&attempts_model::cores_and_device, exploration::any_depth},
    {&attempts_model::core_and_devices, exploration::any_depth},
    {&attempts_model::cores_and_devices, exploration::any_depth},
};

} // namespace

int main(int argc, char** argv) {
  exploration::ExplorationProgram program(argc, argv);
  program.explore<Model, Setting>(explorations, [](Setting const&) { return true; });
  program.explore<attempts_model::Model, attempts_model::Setting>(
      of_attempts, [](attempts_model::Setting const&) { return true; });
  return program.status();
}
