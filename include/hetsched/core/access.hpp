// SPDX-License-Identifier: MIT
#pragma once
// Access modes: how a task signature states what the task does to its data.

#include <hetsched/core/version.hpp>

#include <cstdint>
#include <limits>

namespace hetsched {

enum class AccessMode : std::uint8_t {
  value,      // V: copied into the task
  read,       // R: any number of tasks at once
  write,      // W: alone; the old contents are not needed
  read_write, // RW: alone, in program order
  commute,    // alone, in any order among neighbouring accesses of the same mode
  reduce,     // CW: concurrent contributions to private copies, merged before the next access
};

[[nodiscard]] constexpr char const* to_string(AccessMode mode) noexcept {
  constexpr char const* names[] = {"V", "R", "W", "RW", "Commute", "CW"};
  return names[static_cast<int>(mode)];
}

/// Whether the access may change the datum.
[[nodiscard]] constexpr bool writes(AccessMode mode) noexcept {
  return mode >= AccessMode::write;
}

/// Whether the access needs the datum's present contents.
[[nodiscard]] constexpr bool reads(AccessMode mode) noexcept {
  return mode != AccessMode::value && mode != AccessMode::write;
}

/// Parameter read by the task. `T` is a scalar type, `VectorView<E>` or `TileView<E>`.
template <class T>
struct R {};

/// Parameter overwritten by the task; its old contents are not needed.
template <class T>
struct W {};

/// Parameter read and written by the task, in program order.
template <class T>
struct RW {};

/// Parameter read and written exclusively, but in any order among the neighbouring commuting tasks.
template <class T>
struct Commute {};

/// Cumulative write (reduction). Consecutive CW accesses with the same `Op` run at the same time.
/// Each works on a private copy that starts from `Op`'s neutral element. The copies are combined
/// into the datum once, before the next access of another kind.
///
/// `Op` is a stateless type with, for the element type E,
///   static E neutral();            the element that changes nothing
///   static E combine(E, E);        associative and commutative
/// The order of combination is not fixed, so floating-point sums may differ in the last bits.
template <class T, class Op>
struct CW {};

/// Parameter copied (or moved) into the task. A plain type in a signature means the same.
template <class T>
struct V {};

/// The sum, for CW: `CW<double, Sum<double>>`.
template <class E>
struct Sum {
  static constexpr E neutral() { return E{}; }

  static constexpr E combine(E a, E b) { return static_cast<E>(a + b); }
};

/// The smallest contribution, for CW.
template <class E>
struct Min {
  static constexpr E neutral() {
    return std::numeric_limits<E>::has_infinity ? std::numeric_limits<E>::infinity()
                                                : std::numeric_limits<E>::max();
  }

  static constexpr E combine(E a, E b) { return b < a ? b : a; }
};

/// The largest contribution, for CW.
template <class E>
struct Max {
  static constexpr E neutral() {
    return std::numeric_limits<E>::has_infinity ? -std::numeric_limits<E>::infinity()
                                                : std::numeric_limits<E>::lowest();
  }

  static constexpr E combine(E a, E b) { return a < b ? b : a; }
};

namespace detail {

/// One parameter of a signature in parts: its mode, its type, and the reduction.
template <AccessMode Mode, class T, class O = void>
struct ParameterOf {
  static constexpr AccessMode mode = Mode;
  using Data = T;
  using Op = O;
};

template <class Declared>
struct Parameter : ParameterOf<AccessMode::value, Declared> {};

template <class T>
struct Parameter<V<T>> : ParameterOf<AccessMode::value, T> {};

template <class T>
struct Parameter<R<T>> : ParameterOf<AccessMode::read, T> {};

template <class T>
struct Parameter<W<T>> : ParameterOf<AccessMode::write, T> {};

template <class T>
struct Parameter<RW<T>> : ParameterOf<AccessMode::read_write, T> {};

template <class T>
struct Parameter<Commute<T>> : ParameterOf<AccessMode::commute, T> {};

template <class T, class Op>
struct Parameter<CW<T, Op>> : ParameterOf<AccessMode::reduce, T, Op> {};

} // namespace detail
} // namespace hetsched
