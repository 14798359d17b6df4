// SPDX-License-Identifier: MIT
#pragma once
// What policies and transports have to offer, and what they may ask.

#include <hetsched/concepts/cache.hpp>
#include <hetsched/concepts/context.hpp>
#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/version.hpp>
