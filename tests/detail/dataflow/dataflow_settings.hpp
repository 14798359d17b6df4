// SPDX-License-Identifier: MIT
#pragma once
// The programs that are explored.

#include "dataflow_model.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dataflow_model {

[[nodiscard]] inline std::vector<Shape const*> shapes_of(std::vector<std::string> const& all) {
  std::vector<Shape const*> shapes;
  for (auto const& modes : all) {
    shapes.push_back(&shape_of(modes));
  }
  return shapes;
}

[[nodiscard]] inline Setting plain(std::string name, std::vector<std::string> const& shapes) {
  Setting setting;
  setting.name = std::move(name);
  setting.shapes = shapes_of(shapes);
  return setting;
}

/// Every mode, alone and with every other one.
[[nodiscard]] inline Setting modes() {
  auto setting = plain("modes", {"R",  "W",  "X",  "C",  "K",  "L",  "RR", "RW", "RX", "RC", "RK",
                                 "WW", "WX", "WC", "WK", "XX", "XC", "XK", "CC", "CK", "KK", "KL"});
  setting.runs = true;
  setting.twice = true;
  return setting;
}

/// Every mode alone, so that longer sequences can be tried.
[[nodiscard]] inline Setting single_modes() {
  auto setting = plain("single_modes", {"R", "W", "X", "C", "K", "L"});
  setting.runs = true;
  setting.fails = true;
  setting.waits = true;
  return setting;
}

[[nodiscard]] inline Setting commuting() {
  auto setting = plain("commuting", {"C", "CC", "RC", "X"});
  setting.data = 3;
  setting.live = 4;
  return setting;
}

[[nodiscard]] inline Setting failures() {
  auto setting = plain("failures", {"R", "W", "X", "C", "RW", "RX", "WC"});
  setting.runs = true;
  setting.fails = true;
  setting.waits = true;
  return setting;
}

[[nodiscard]] inline Setting group() {
  auto setting = plain("group", {"R", "W", "X", "RW", "K"});
  setting.fails = true;
  setting.group = true;
  return setting;
}

[[nodiscard]] inline Setting contributions() {
  auto setting = plain("contributions", {"R", "W", "K", "L", "KK", "RK"});
  setting.fails = true;
  setting.waits = true;
  return setting;
}

[[nodiscard]] inline Setting parts() {
  auto setting = plain("parts", {"R", "W", "K", "XX"});
  setting.runs = true;
  setting.fails = true;
  setting.divisions = 2;
  return setting;
}

[[nodiscard]] inline Setting parts_of_parts() {
  auto setting = plain("parts_of_parts", {"R", "W"});
  setting.data = 1;
  setting.runs = true;
  setting.fails = true;
  setting.divisions = 3;
  setting.of_parts = true;
  return setting;
}

[[nodiscard]] inline Setting handles() {
  auto setting = plain("handles", {"W", "K", "RC"});
  setting.runs = true;
  setting.comes_and_goes = true;
  setting.divisions = 1;
  return setting;
}

[[nodiscard]] inline Setting children() {
  auto setting = plain("children", {"R", "W", "XX"});
  setting.child_shapes = shapes_of({"R", "W", "C"});
  setting.fails = true;
  setting.live = 4;
  return setting;
}

[[nodiscard]] inline Setting children_in_group() {
  auto setting = plain("children_in_group", {"R", "X"});
  setting.data = 1;
  setting.child_shapes = shapes_of({"R", "X"});
  setting.fails = true;
  setting.group = true;
  return setting;
}

[[nodiscard]] inline Setting contributing_children() {
  auto setting = plain("contributing_children", {"W", "K"});
  setting.data = 1;
  setting.child_shapes = shapes_of({"W", "K", "R"});
  setting.fails = true;
  setting.live = 4;
  return setting;
}

[[nodiscard]] inline Setting early() {
  auto setting = plain("early", {"R", "W", "X", "RX", "RW"});
  setting.fails = true;
  setting.early = true;
  setting.live = 4;
  return setting;
}

[[nodiscard]] inline Setting losses() {
  auto setting = plain("losses", {"R", "W", "K", "XX"});
  setting.runs = true;
  setting.losses = true;
  setting.fails = true;
  setting.waits = true;
  setting.divisions = 1;
  return setting;
}

/// Fewer tasks than in `losses`, so that longer sequences can be tried.
[[nodiscard]] inline Setting losses_between_writes() {
  auto setting = losses();
  setting.name = "losses_between_writes";
  setting.shapes = shapes_of({"R", "W"});
  return setting;
}

} // namespace dataflow_model
