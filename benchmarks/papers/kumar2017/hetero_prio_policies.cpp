// SPDX-License-Identifier: MIT

#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>

#include "policies.hpp"

#include <array>

namespace kumar2017 {

namespace {

using hs::policies::HeteroPrioTypes;
namespace hetero_prio = hs::policies::hetero_prio;

constexpr std::array policies{
    Policy{"heteroprio", simulate<hs::policies::HeteroPrio>},
    Policy{"heteroprio:hp", simulate<HeteroPrioTypes<hetero_prio::hp>>},
    Policy{"heteroprio:sp", simulate<HeteroPrioTypes<hetero_prio::sp>>},
    Policy{"heteroprio:cgv", simulate<HeteroPrioTypes<hetero_prio::cgv>>},
    Policy{"heteroprio:pp", simulate<HeteroPrioTypes<hetero_prio::pp>>},
    Policy{"heteroprio:pc", simulate<HeteroPrioTypes<hetero_prio::pc>>},
    Policy{"heteroprio:pcep", simulate<HeteroPrioTypes<hetero_prio::pcep>>},
    Policy{"heteroprio:pcept", simulate<HeteroPrioTypes<hetero_prio::pcept>>},
    Policy{"heteroprio:area", simulate<HeteroPrioTypes<hetero_prio::area>>},
    Policy{"heteroprio:hetindex", simulate<HeteroPrioTypes<hetero_prio::hetindex>>}};

} // namespace

std::span<Policy const> hetero_prio_policies() {
  return policies;
}

} // namespace kumar2017
