// SPDX-License-Identifier: MIT
#pragma once

// What a policy behind virtual functions is: the rest of a conformance kit is compiled once.

namespace hetsched::testing::detail {

/// It is neither copied nor moved.
class SubjectBase {
public:
  SubjectBase() = default;
  SubjectBase(SubjectBase const&) = delete;
  SubjectBase& operator=(SubjectBase const&) = delete;
  virtual ~SubjectBase() = default;
};

} // namespace hetsched::testing::detail
