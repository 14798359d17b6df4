// SPDX-License-Identifier: MIT
// What all programs with devices would else compile again: their engines and performance model.

#include <hetsched/accel_32.hpp>
#include <hetsched/dual_approx_2.hpp>
#include <hetsched/dual_approx_43.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_approx.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/recording.hpp>

#include "candidates.hpp"
#include "chosen_of.hpp"
#include "program.hpp"
#include "static_name.hpp"

#ifdef HETSCHED_HAVE_JSON
#include <hetsched/policies/perf_models/bandwidth.hpp>
#include <hetsched/static_plan_json.hpp>
#else
#include <hetsched/policies/perf_models/history.hpp>
#endif

namespace example {

namespace {

namespace hetero_prio = hs::policies::hetero_prio;
using hs::policies::DynamicHeftp;
using hs::policies::HeteroPrioTypes;
using hs::policies::LookAhead;

/// What ChosenScheduler::follow was told of.
struct Planned : hs::policies::StaticSchedule {
  static inline Config config;

  explicit Planned(std::span<hs::WorkerInfo const> workers) : StaticSchedule(workers, config) {}
};

/// In the order of chosen_names, and Planned.
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
                             HeteroPrioTypes<hetero_prio::hetindex>,
                             Lookahead,
                             Planned>;
constexpr auto planned = portfolio_number; // which is none of them
static_assert(AllPolicies::count == planned + 1);

[[nodiscard]] std::size_t number_of(std::string_view name) {
  auto const its = std::find(chosen_names.begin(), chosen_names.end(), name);
  return static_cast<std::size_t>(its - chosen_names.begin());
}

using Ctx = hs::detail::EngineContext<hs::detail::ThreadCore<ChosenScheduler, ChosenCache, Times>>;

} // namespace

struct ChosenScheduler::Policies {
  explicit Policies(std::span<hs::WorkerInfo const> workers) : policy(workers) {}

  AllPolicies policy;
  bool ranks = false; // it is to be the best candidate for each graph
};

ChosenScheduler::ChosenScheduler(std::span<hs::WorkerInfo const> workers) {
  bool const ranks = chosen == portfolio_number;
  AllPolicies::chosen = ranks                     ? number_of(first_candidate)
                        : chosen == static_number ? planned
                                                  : chosen;
  its_ = std::make_unique<Policies>(workers);
  its_->ranks = ranks;
}

void ChosenScheduler::follow(std::string_view name) {
  auto its = StaticName::of(name).value();
  if (its.from == "heft" || its.from == "search" || its.from == "solver") {
    bad_input("--scheduler",
              "'" + std::string(name) +
                  "' is computed by simulate, whose --save-schedule writes a file for static:FILE");
  }
#ifdef HETSCHED_HAVE_JSON
  its.config.plan = std::make_shared<hs::StaticPlan const>(hs::read_plan(its.from));
  Planned::config = std::move(its.config);
#else
  bad_input("--scheduler", "static: needs nlohmann-json, and this program was built without");
#endif
}

ChosenScheduler::~ChosenScheduler() = default;

template <>
void ChosenScheduler::prepare(Ctx const& ctx,
                              hs::TaskGraph const& graph,
                              std::span<hs::ExpectedTimes const> expected) {
  if (its_->ranks) {
    auto const [best, ranking] = best_candidate(graph, expected, ctx.workers());
    its_->policy.become(number_of(best), ctx.workers());
    std::fprintf(stderr,
                 "portfolio: %s\n",
                 ranking.empty() ? (std::string(best) + ", as times are unknown").c_str()
                                 : ranking.c_str());
  }
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
