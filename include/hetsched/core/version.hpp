// SPDX-License-Identifier: MIT
#pragma once
// The version of these headers, for the preprocessor: compare HETSCHED_VERSION_NUMBER.

#define HETSCHED_VERSION_MAJOR 0
#define HETSCHED_VERSION_MINOR 1
#define HETSCHED_VERSION_PATCH 0

/// "MAJOR.MINOR.PATCH"
#define HETSCHED_VERSION "0.1.0"

/// MAJOR * 10000 + MINOR * 100 + PATCH: 1.2.3 is 10203.
#define HETSCHED_VERSION_NUMBER                                                                    \
  (HETSCHED_VERSION_MAJOR * 10000 + HETSCHED_VERSION_MINOR * 100 + HETSCHED_VERSION_PATCH)
