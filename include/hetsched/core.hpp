// SPDX-License-Identifier: MIT
#pragma once
// The vocabulary: types, time, errors, access modes, views, task types, workers, settings.

#include <hetsched/core/access.hpp>
#include <hetsched/core/array_mapping.hpp>
#include <hetsched/core/array_view.hpp>
#include <hetsched/core/config.hpp>
#include <hetsched/core/device_code.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/explanation.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/version.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/core/workers.hpp>
