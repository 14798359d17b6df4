// SPDX-License-Identifier: MIT
#pragma once
// Calls of policies, watched: what they may not do ends in a line that names the policy and the
// hook. See HETSCHED_CHECK_POLICIES.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// A policy broke its contract, and nothing can be relied on any more. `policy`: its kind and name.
[[noreturn, gnu::cold]] inline void end_by_policy(std::string const& policy,
                                                  std::string const& what) {
  std::fprintf(stderr, "%s\n", error_line(policy, what).c_str());
  std::abort();
}

/// "scheduler 'Mine'"
[[nodiscard, gnu::cold]] inline std::string policy_called(char const* kind, std::string_view name) {
  return text("%s '%.*s'", kind, static_cast<int>(name.size()), name.data());
}

class PolicyCall;

/// The innermost call of a policy in which the thread is; null: in none.
inline constinit thread_local PolicyCall* this_policy_call = nullptr;
HETSCHED_PER_THREAD(this_policy_call);

/// A call of a policy's hook, while it lasts.
class PolicyCall {
public:
  /// `of`: whose policy it is. Null: nobody's in particular; then it counts for all.
  PolicyCall(void const* of, char const* kind, std::string_view name, char const* hook) noexcept
      : of_(of), kind_(kind), name_(name), hook_(hook), outer_(this_policy_call) {
    this_policy_call = this;
  }

  PolicyCall(PolicyCall const&) = delete;
  PolicyCall& operator=(PolicyCall const&) = delete;

  ~PolicyCall() { this_policy_call = outer_; }

  /// The call in which the calling thread is. Null: in none of such a policy. A policy may
  /// simulate, in a runtime of its own.
  [[nodiscard]] static PolicyCall const* of(void const* whose) noexcept {
    auto const* call = this_policy_call;
    while (call != nullptr && call->of_ != whose && call->of_ != nullptr) {
      call = call->outer_;
    }
    return call;
  }

  [[nodiscard, gnu::cold]] std::string policy() const { return policy_called(kind_, name_); }

  [[nodiscard]] char const* hook() const noexcept { return hook_; }

  /// An error that tells of a broken contract is about to leave all calls of this thread.
  static void note_told() noexcept {
    for (auto* call = this_policy_call; call != nullptr; call = call->outer_) {
      call->told_ = true;
    }
  }

  [[nodiscard]] bool told() const noexcept { return told_; }

private:
  void const* const of_;
  char const* const kind_;
  std::string_view const name_;
  char const* const hook_;
  PolicyCall* const outer_;
  bool told_ = false;
};

/// Calls `hook()` as that hook of a policy. An exception, other than for lack of memory, is told by
/// `broken(policy, what)`, which does not return.
template <class Hook, class Broken>
auto watched_call(PolicyCall const& call, Hook&& hook, Broken&& broken) {
  try {
    return hook();
  } catch (std::bad_alloc const&) {
    throw;
  } catch (Error const& error) {
    if (call.told()) {
      throw;
    }
    broken(call.policy(), std::string(call.hook()) + " threw: " + error.what());
  } catch (std::exception const& error) {
    broken(call.policy(), std::string(call.hook()) + " threw: " + message_of(error));
  } catch (...) {
    broken(call.policy(), std::string(call.hook()) + " threw what is no std::exception");
  }
  std::abort();
}

} // namespace hetsched::detail
