// SPDX-License-Identifier: MIT
#pragma once
// Conformance kits for policies and transports.

#include <hetsched/core/version.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/cache_conformance.hpp>
#include <hetsched/testing/conformance_report.hpp>
#include <hetsched/testing/queue_conformance.hpp>
#include <hetsched/testing/rma_conformance.hpp>
#include <hetsched/testing/scheduler_conformance.hpp>
#include <hetsched/testing/scripted_context.hpp>
#include <hetsched/testing/transport_conformance.hpp>
