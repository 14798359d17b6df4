// SPDX-License-Identifier: MIT
#pragma once
// What an engine does while it still holds the guard of a hook.

#include <type_traits>

namespace hetsched::detail {

/// A function that is called with the hook's answer while the guard of the hook is still held.
template <class Answer>
class AfterHook {
public:
  AfterHook() = default; // nothing

  /// `f(answer)`; f must outlive the call of the hook.
  template <class F>
    requires(!std::is_same_v<F, AfterHook>)
  AfterHook(F const& f) noexcept
      : call_([](void const* function, Answer answer) {
          (*static_cast<F const*>(function))(answer);
        }),
        function_(&f) {}

  void operator()(Answer answer) const {
    if (call_ != nullptr) {
      call_(function_, answer);
    }
  }

private:
  void (*call_)(void const* function, Answer answer) = nullptr;
  void const* function_ = nullptr;
};

} // namespace hetsched::detail
