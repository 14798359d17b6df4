// SPDX-License-Identifier: MIT
#pragma once
// The report's page, as embed.py makes it of the files beside this one.

#include <span>
#include <string_view>

namespace benchmarks {

extern std::span<std::string_view const> const page_before_data;
extern std::span<std::string_view const> const page_after_data;

} // namespace benchmarks
