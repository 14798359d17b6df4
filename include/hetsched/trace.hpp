// SPDX-License-Identifier: MIT
#pragma once
// Traces: what they hold, their analysis, their formats; without read_trace.hpp, which needs
// nlohmann-json.

#include <hetsched/core/version.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/analysis/trace_series.hpp>
#include <hetsched/trace/analysis/trace_times.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>
#include <hetsched/trace/formats/trace_chrome.hpp>
#include <hetsched/trace/formats/trace_csv.hpp>
#include <hetsched/trace/formats/trace_dot.hpp>
#include <hetsched/trace/formats/trace_export.hpp>
#include <hetsched/trace/formats/trace_paje.hpp>
#include <hetsched/trace/formats/write_trace.hpp>
#include <hetsched/trace/trace.hpp>
