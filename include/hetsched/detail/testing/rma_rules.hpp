// SPDX-License-Identifier: MIT
#pragma once
// What the conformance kit for one-sided transports checks, and what it drives.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/testing/findings.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched::testing {

/// The rules of concepts/rma_transport.hpp that can be checked from outside.
enum class RmaRule : std::uint8_t {
  window,  // a new part is not zeroed, or has another size than its rank said
  copied,  // get or put copies other elements, or more of them
  reused,  // what was given to put or accumulate is read after `done`
  sum,     // accumulates are lost or not atomic
  atomic,  // fetch_add or compare_swap is lost or not atomic
  visible, // an operation does not see what others did before it
  done,    // `done` not once for each operation
  refused, // a bad call does not throw Error(bad_call), or does something
  ends,    // a rank is lost twice, never or without reason, or operations on it are done later
  answer,  // poll does not answer whether it reported an event
  threw,   // a call threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(RmaRule rule) noexcept {
  switch (rule) {
  case RmaRule::window:
    return "a new window has the parts that were asked for, zeroed";
  case RmaRule::copied:
    return "get and put copy the elements of the patch and no others";
  case RmaRule::reused:
    return "no memory is read after done";
  case RmaRule::sum:
    return "no accumulate is lost";
  case RmaRule::atomic:
    return "fetch_add and compare_swap are atomic";
  case RmaRule::visible:
    return "operations see what was done before";
  case RmaRule::done:
    return "each operation is done once";
  case RmaRule::refused:
    return "a bad call throws Error(bad_call) and does nothing";
  case RmaRule::ends:
    return "a rank that is gone is lost once, and nothing is done on it afterwards";
  case RmaRule::answer:
    return "poll answers whether it reported an event";
  case RmaRule::threw:
    return "no call throws";
  }
  return "?";
}

using RmaReport = ReportOf<RmaRule>;

namespace detail {

using RmaFindings = FindingsOf<RmaRule>;

class RmaDriver;

/// What a rank of the kit is told.
struct JudgingRmaInbox {
  RmaDriver* driver = nullptr;
  bool told = false;

  void done(std::uint64_t cookie, std::int64_t value);
  void lost(int rank, std::string_view why);
};

/// Any one-sided transport.
class RmaSubject {
public:
  virtual ~RmaSubject() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  virtual Window allocate(WindowElement element, std::size_t elements) = 0;
  virtual void free(Window window) = 0;
  [[nodiscard]] virtual std::size_t elements(Window window, int rank) const = 0;
  [[nodiscard]] virtual std::byte* memory(Window window) = 0;
  virtual void
  get(Window window, WindowPatch const& patch, void* here, std::size_t stride, std::uint64_t) = 0;
  virtual void put(Window window,
                   WindowPatch const& patch,
                   void const* here,
                   std::size_t stride,
                   std::uint64_t) = 0;
  virtual void accumulate(Window window,
                          WindowPatch const& patch,
                          void const* here,
                          std::size_t stride,
                          std::uint64_t) = 0;
  virtual void
  fetch_add(Window window, int rank, std::size_t at, std::int64_t value, std::uint64_t) = 0;
  virtual void compare_swap(Window window,
                            int rank,
                            std::size_t at,
                            std::int64_t expected,
                            std::int64_t desired,
                            std::uint64_t) = 0;
  virtual bool poll(JudgingRmaInbox& inbox) = 0;
};

template <class T>
class RmaSubjectOf final : public RmaSubject {
public:
  explicit RmaSubjectOf(T& transport) noexcept : transport_(transport) {}

  [[nodiscard]] int rank() const override { return transport_.rank(); }

  [[nodiscard]] int ranks() const override { return transport_.ranks(); }

  Window allocate(WindowElement element, std::size_t elements) override {
    return transport_.allocate(element, elements);
  }

  void free(Window window) override { transport_.free(window); }

  [[nodiscard]] std::size_t elements(Window window, int rank) const override {
    return transport_.elements(window, rank);
  }

  [[nodiscard]] std::byte* memory(Window window) override {
    return static_cast<std::byte*>(transport_.memory(window));
  }

  void get(Window window,
           WindowPatch const& patch,
           void* here,
           std::size_t stride,
           std::uint64_t cookie) override {
    transport_.get(window, patch, here, stride, cookie);
  }

  void put(Window window,
           WindowPatch const& patch,
           void const* here,
           std::size_t stride,
           std::uint64_t cookie) override {
    transport_.put(window, patch, here, stride, cookie);
  }

  void accumulate(Window window,
                  WindowPatch const& patch,
                  void const* here,
                  std::size_t stride,
                  std::uint64_t cookie) override {
    transport_.accumulate(window, patch, here, stride, cookie);
  }

  void fetch_add(
      Window window, int rank, std::size_t at, std::int64_t value, std::uint64_t cookie) override {
    transport_.fetch_add(window, rank, at, value, cookie);
  }

  void compare_swap(Window window,
                    int rank,
                    std::size_t at,
                    std::int64_t expected,
                    std::int64_t desired,
                    std::uint64_t cookie) override {
    transport_.compare_swap(window, rank, at, expected, desired, cookie);
  }

  bool poll(JudgingRmaInbox& inbox) override { return transport_.poll(inbox); }

private:
  T& transport_;
};

} // namespace detail

} // namespace hetsched::testing
