// SPDX-License-Identifier: MIT
// expected-error: hetsched: execution.hpp needs a library of senders
#include <hetsched/execution.hpp>
