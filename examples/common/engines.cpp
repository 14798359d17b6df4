// SPDX-License-Identifier: MIT
// The engines and the performance model of all programs with devices, compiled once.

#include <hetsched/explaining.hpp>
#include <hetsched/recording.hpp>

#include "program.hpp"

#ifdef HETSCHED_HAVE_JSON
#include <hetsched/policies/perf_models/bandwidth.hpp>
#else
#include <hetsched/policies/perf_models/history.hpp>

#include <memory>
#endif

namespace hetsched::detail {

template class ThreadCoreOf<policies::WorkStealing<>, policies::NoModel>;
template class ThreadCoreOf<policies::AnyScheduler, example::Times>;

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
