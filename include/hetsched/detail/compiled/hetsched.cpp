// SPDX-License-Identifier: MIT
// The compiled library: the default runtime, and all that is defined in files *_inl.hpp.

#include <hetsched/checking.hpp>
#include <hetsched/core/explanation.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/trace/trace.hpp>
#include <hetsched/when_stolen.hpp>

#ifndef HETSCHED_BUILDING
#error "hetsched: the compiled library is made with -DHETSCHED_COMPILED -DHETSCHED_BUILDING"
#endif

namespace hetsched {

template void detail::register_accesses(detail::ThreadCore::Host& host,
                                        detail::TaskRecord& task,
                                        bool contributes);
template void detail::release_accesses(detail::ThreadCore::Host& host, detail::TaskRecord& task);
template class detail::Policies<detail::ThreadCore, policies::WorkStealing<>, policies::NoModel>;
template class detail::ThreadCoreOf<policies::WorkStealing<>, policies::NoModel>;
template class RuntimeData<ThreadEngine>;
template class BaseRuntime<ThreadEngine>;
template class Runtime<>;

} // namespace hetsched
