// SPDX-License-Identifier: MIT
#pragma once
// A one-sided transport of any type, for code that is no template of it.

#include <hetsched/concepts/rma_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hetsched::detail {

/// Who is told what a transport reports; see RmaInbox.
class RmaEvents {
public:
  virtual void done(std::uint64_t cookie, std::int64_t value) = 0;
  virtual void lost(int rank, std::string_view why) = 0;

protected:
  ~RmaEvents() = default;
};

/// See RmaTransport, also for the meaning of the calls.
class RmaPort {
public:
  RmaPort() = default;
  RmaPort(RmaPort const&) = delete;
  RmaPort& operator=(RmaPort const&) = delete;
  virtual ~RmaPort() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  virtual Window allocate(WindowElement element, std::size_t elements) = 0;
  virtual void free(Window window) = 0;
  [[nodiscard]] virtual std::size_t elements(Window window, int rank) const = 0;
  [[nodiscard]] virtual void* memory(Window window) = 0;
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
  fetch_add(Window window, int rank, std::size_t at, std::int64_t value, std::uint64_t cookie) = 0;
  virtual void compare_swap(Window window,
                            int rank,
                            std::size_t at,
                            std::int64_t expected,
                            std::int64_t desired,
                            std::uint64_t cookie) = 0;
  virtual bool poll(RmaEvents& events) = 0;
  virtual void abort(std::string_view line) = 0;
};

/// The transport outlives it.
template <RmaTransport T>
class RmaPortOf final : public RmaPort {
public:
  explicit RmaPortOf(T& transport) : transport_(transport) {}

  [[nodiscard]] int rank() const override { return transport_.rank(); }

  [[nodiscard]] int ranks() const override { return transport_.ranks(); }

  Window allocate(WindowElement element, std::size_t elements) override {
    return transport_.allocate(element, elements);
  }

  void free(Window window) override { transport_.free(window); }

  [[nodiscard]] std::size_t elements(Window window, int rank) const override {
    return transport_.elements(window, rank);
  }

  [[nodiscard]] void* memory(Window window) override { return transport_.memory(window); }

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

  bool poll(RmaEvents& events) override { return transport_.poll(events); }

  void abort(std::string_view line) override { transport_.abort(line); }

private:
  T& transport_;
};

} // namespace hetsched::detail
