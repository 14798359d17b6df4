// SPDX-License-Identifier: MIT
// What all programs with devices would else compile again: their engines and performance model.

#include <hetsched/accel_32.hpp>
#include <hetsched/dual_approx_2.hpp>
#include <hetsched/dual_approx_43.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_approx.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>

#include "chosen_of.hpp"
#include "program.hpp"

#ifdef HETSCHED_HAVE_JSON
#include <hetsched/policies/perf_models/bandwidth.hpp>
#else
#include <hetsched/policies/perf_models/history.hpp>
#endif

namespace example {

namespace {

namespace hetero_prio = hs::policies::hetero_prio;
using hs::policies::DynamicHeftp;
using hs::policies::HeteroPrioTypes;
using hs::policies::LookAhead;

/// In the order of chosen_names.
using AllPolicies = ChosenOf<hs::policies::Eager<>,
                             hs::policies::Random<>,
                             hs::policies::Priority<>,
                             hs::policies::DataAware<>,
                             hs::policies::LocalityAware<>,
                             hs::policies::Heft<>,
                             hs::policies::DynamicHeft,
                             DynamicHeftp<>,
                             hs::policies::Dmda<>,
                             hs::policies::Dmdar,
                             hs::policies::Dmdas,
                             hs::policies::HeteroPrio,
                             hs::policies::DualHP,
                             hs::policies::DualApprox<hs::DualApprox43>,
                             hs::policies::DualApprox<hs::Accel32>,
                             hs::policies::DualApprox<hs::DualApprox2>,
                             hs::policies::SciotoSingle,
                             hs::policies::SciotoDouble<>,
                             DynamicHeftp<LookAhead::local_time>,
                             DynamicHeftp<LookAhead::gpus_busy>,
                             DynamicHeftp<LookAhead::min_makespan>,
                             HeteroPrioTypes<hetero_prio::hp>,
                             HeteroPrioTypes<hetero_prio::sp>,
                             HeteroPrioTypes<hetero_prio::cgv>,
                             HeteroPrioTypes<hetero_prio::pp>,
                             HeteroPrioTypes<hetero_prio::pc>,
                             HeteroPrioTypes<hetero_prio::pcep>,
                             HeteroPrioTypes<hetero_prio::pcept>,
                             HeteroPrioTypes<hetero_prio::area>,
                             HeteroPrioTypes<hetero_prio::hetindex>>;
static_assert(AllPolicies::count == chosen_names.size());

using Ctx = hs::detail::EngineContext<hs::detail::ThreadCore<ChosenScheduler, ChosenCache, Times>>;

} // namespace

struct ChosenScheduler::Policies {
  explicit Policies(std::span<hs::WorkerInfo const> workers) : policy(workers) {}

  AllPolicies policy;
};

ChosenScheduler::ChosenScheduler(std::span<hs::WorkerInfo const> workers) {
  AllPolicies::chosen = chosen;
  its_ = std::make_unique<Policies>(workers);
}

ChosenScheduler::~ChosenScheduler() = default;

template <>
void ChosenScheduler::prepare(Ctx const& ctx,
                              hs::TaskGraph const& graph,
                              std::span<hs::ExpectedTimes const> expected) {
  its_->policy.prepare(ctx, graph, expected);
}

template <>
hs::Wake ChosenScheduler::push(Ctx const& ctx, hs::TaskId task, hs::WorkerId worker) {
  return its_->policy.push(ctx, task, worker);
}

template <>
void ChosenScheduler::push_activated(Ctx const& ctx,
                                     std::span<hs::TaskId const> tasks,
                                     hs::WorkerId worker,
                                     std::span<hs::Wake> wakes) {
  its_->policy.push_activated(ctx, tasks, worker, wakes);
}

template <>
hs::TaskId ChosenScheduler::pop(Ctx const& ctx, hs::WorkerId worker) {
  return its_->policy.pop(ctx, worker);
}

template <>
std::size_t ChosenScheduler::peek(Ctx const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next) {
  return its_->policy.peek(ctx, worker, next);
}

template <>
hs::TaskId ChosenScheduler::reconsider(Ctx const& ctx, hs::WorkerId worker) {
  return its_->policy.reconsider(ctx, worker);
}

template <>
void ChosenScheduler::epilogue(Ctx const& ctx,
                               hs::TaskId task,
                               hs::WorkerId worker,
                               hs::Duration time) {
  its_->policy.epilogue(ctx, task, worker, time);
}

} // namespace example

namespace hetsched::detail {

template class ThreadCore<policies::WorkStealing<>, example::ChosenCache, policies::NoModel>;
template class ThreadCore<example::ChosenScheduler, example::ChosenCache, example::Times>;

} // namespace hetsched::detail

namespace example {

#ifdef HETSCHED_HAVE_JSON
struct Times::Model : hs::policies::Bandwidth<> {};
#else
struct Times::Model : hs::policies::History {
  void begin(hs::Site const& /*site*/) {}
};
#endif

Times::Times() : model_(std::make_unique<Model>()) {
}

Times::~Times() = default;

void Times::begin(hs::Site const& site) {
  model_->begin(site);
}

std::optional<hs::Prediction> Times::predict(hs::TaskView const& task, hs::Arch arch) const {
  return model_->predict(task, arch);
}

void Times::record(hs::TaskView const& task, hs::Arch arch, hs::Duration measured) {
  model_->record(task, arch, measured);
}

hs::Duration Times::transfer(std::size_t bytes, hs::NodeId from, hs::NodeId to) const {
  return model_->transfer(bytes, from, to);
}

} // namespace example
