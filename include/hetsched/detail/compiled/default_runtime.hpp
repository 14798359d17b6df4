// SPDX-License-Identifier: MIT
#pragma once
// With the compiled library: what a program need not instantiate, as the library has.

#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/runtime/runtime.hpp>

#if defined(HETSCHED_COMPILED) && !defined(HETSCHED_BUILDING)

namespace hetsched {

extern template void detail::register_accesses(detail::ThreadCore::Host& host,
                                               detail::TaskRecord& task,
                                               bool contributes);
extern template void detail::release_accesses(detail::ThreadCore::Host& host,
                                              detail::TaskRecord& task);
extern template class detail::
    Policies<detail::ThreadCore, policies::WorkStealing<>, policies::NoModel>;
extern template class detail::ThreadCoreOf<policies::WorkStealing<>, policies::NoModel>;
extern template class RuntimeData<ThreadEngine>;
extern template class BaseRuntime<ThreadEngine>;
extern template class Runtime<>;

} // namespace hetsched

#endif
