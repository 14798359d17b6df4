// SPDX-License-Identifier: MIT
#pragma once

#include <hetsched/testing/interleavings.hpp>

#include <utility>

namespace interleavings {

/// Calls its function on another thread.
template <class F>
class Beside {
public:
  explicit Beside(F function) : function_(std::move(function)) {
    thread_.start(
        [](void* self) -> void* {
          static_cast<Beside*>(self)->function_();
          return nullptr;
        },
        this);
  }

  Beside(Beside const&) = delete;
  Beside& operator=(Beside const&) = delete;

  ~Beside() { thread_.join(); }

private:
  F function_;
  hetsched::testing::Thread thread_;
};

} // namespace interleavings
