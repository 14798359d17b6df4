// SPDX-License-Identifier: MIT
#pragma once
// Traces in other programs' formats; docs/traces.md says what opens which.

#include <hetsched/trace/formats/trace_chrome.hpp>
#include <hetsched/trace/formats/trace_csv.hpp>
#include <hetsched/trace/formats/trace_dot.hpp>
#include <hetsched/trace/formats/trace_paje.hpp>
