// SPDX-License-Identifier: MIT
// Tries every sequence of events of the dataflow layer, up to a length, in each of the settings.
// The first sequence after which something does not hold is printed as a test.
//
// Usage: explore_dataflow [--depth N] [--seconds S] [SETTING...]
//   --depth    how many events; without it, each setting has the number in the table below
//   --seconds  for each setting; what was tried until then is printed

#include "../../support/exploration_program.hpp"
#include "dataflow_settings.hpp"

namespace {

using namespace dataflow_model;
using exploration::any_depth;

constexpr exploration::Exploration<Setting> explorations[] = {
    {&modes, 5},
    {&commuting, 8},
    {&failures, 8},
    {&group, 8},
    {&contributions, 8},
    {&parts, 8},
    {&parts_of_parts, 8},
    {&handles, any_depth},
    {&children, 8},
    {&children_in_group, 8},
    {&contributing_children, 8},
    {&early, 8},
    {&losses, 8},
};

} // namespace

int main(int argc, char** argv) {
  return exploration::explore_settings<Model, Setting>(
      argc, argv, explorations, {}, [](Setting const&, std::vector<exploration::Option> const&) {
        return true;
      });
}
