// SPDX-License-Identifier: MIT
#pragma once

// Who is told of data as they are registered.

namespace hetsched::detail {

struct DataRecord;

/// One for a runtime; by default there is none, see reuse_profile.hpp.
class DataObserver {
public:
  virtual ~DataObserver() = default;

  /// A region or a part is about to be known to the registry, whose lock is held. If this throws,
  /// it will not be.
  virtual void registered(DataRecord& record) = 0;

  /// The runtime ends. Nothing is registered any more.
  virtual void ended() noexcept = 0;
};

} // namespace hetsched::detail
