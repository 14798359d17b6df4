// SPDX-License-Identifier: MIT
#pragma once
// The view of a task as performance models see it.

#include <hetsched/core/task.hpp>

#include <cstddef>
#include <string_view>

/// A task with one datum of so many bytes.
struct Sized {
  explicit Sized(std::string_view type, std::size_t bytes = 8) : bytes_(bytes) {
    view.type = type;
    view.arguments = 1;
    view.set_source(&bytes_, [](void const* source, std::size_t) {
      return hetsched::ArgumentView{hetsched::AccessMode::read,
                                    *static_cast<std::size_t const*>(source)};
    });
  }

  Sized(Sized const&) = delete;
  Sized& operator=(Sized const&) = delete;

  hetsched::TaskView view;

private:
  std::size_t bytes_;
};
