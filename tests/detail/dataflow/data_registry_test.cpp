// SPDX-License-Identifier: MIT
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/spawn/register_data.hpp>

#include "../../support/support.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using hetsched::ErrorCode;
using hetsched::detail::DataRecord;
using hetsched::detail::DataRegistry;
using hetsched::detail::Domain;
using hetsched::detail::make_record;
using hetsched::detail::Owned;
using hetsched::detail::Shape;

namespace data_registry_test {

/// Regions in a small memory, and which bytes each covers.
class Memory {
public:
  /// A region that is not registered yet.
  Owned<DataRecord> region(std::size_t offset, std::size_t element_bytes, Shape shape) {
    return make_record(bytes_.data() + offset, shape, element_bytes, domain_);
  }

  [[nodiscard]] std::vector<bool> covered(DataRecord const& record) const {
    std::vector<bool> bytes(bytes_.size());
    auto const begin =
        static_cast<std::size_t>(static_cast<std::byte*>(record.home.base) - bytes_.data());
    for (std::size_t j = 0; j < record.shape.cols; ++j) {
      for (std::size_t b = 0; b < record.shape.rows * record.element_bytes; ++b) {
        bytes[begin + j * record.shape.ld * record.element_bytes + b] = true;
      }
    }
    return bytes;
  }

  [[nodiscard]] bool meet(DataRecord const& a, DataRecord const& b) const {
    auto const in_a = covered(a);
    auto const in_b = covered(b);
    for (std::size_t k = 0; k < in_a.size(); ++k) {
      if (in_a[k] && in_b[k]) {
        return true;
      }
    }
    return false;
  }

private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(400);
  Domain domain_;
};

/// No task uses anything here.
bool unused(void* /*runtime*/, DataRecord& /*record*/) {
  return true;
}

TEST_SUITE_BEGIN("detail/data_registry");

TEST_CASE("DataRegistry: refuses exactly the regions that share a byte with another one") {
  std::mt19937 random(1);
  auto const draw = [&](std::size_t low, std::size_t high) {
    return low + random() % (high - low + 1);
  };
  int refused = 0, accepted = 0;
  for (int program = 0; program < 300; ++program) {
    Memory memory;
    DataRegistry registry(nullptr, &unused, &unused);
    std::vector<Owned<DataRecord>> known;
    for (int k = 0; k < 20; ++k) {
      if (!known.empty() && draw(0, 4) == 0) {
        auto const gone = draw(0, known.size() - 1);
        registry.forget(*known[gone]);
        registry.remove(*known[gone]);
        known.erase(known.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      auto const rows = draw(0, 4);
      auto record = memory.region(
          draw(0, 150), std::size_t{1} << draw(0, 3), {rows, draw(0, 3), rows + draw(0, 5)});
      bool expected = false;
      for (auto const& other : known) {
        expected = expected || memory.meet(*record, *other);
      }
      auto const error = support::error_of([&] { registry.add_region(*record); });
      REQUIRE(error.has_value() == expected);
      if (error) {
        CHECK(error->code() == ErrorCode::bad_data);
        ++refused;
      } else {
        known.push_back(std::move(record));
        ++accepted;
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(accepted > 1000);
}

TEST_CASE("DataRegistry: for_each sees what is registered, parts included") {
  Memory memory;
  DataRegistry registry(nullptr, &unused, &unused);
  auto const whole = memory.region(0, 8, {4, 1, 4});
  auto const part = memory.region(0, 8, {2, 1, 4});
  auto const other = memory.region(100, 8, {2, 1, 2});
  registry.add_region(*whole);
  registry.add_part(*part);
  registry.add_region(*other);
  auto const count = [&] {
    int records = 0;
    registry.for_each([&](DataRecord&) { ++records; });
    return records;
  };
  CHECK(count() == 3);
  registry.remove(*part);
  CHECK(count() == 2);
  registry.remove(*other);
  registry.remove(*whole);
  CHECK(count() == 0);
}

TEST_CASE("DataRegistry: messages name both data, by name or by address and shape") {
  Memory memory;
  DataRegistry registry(nullptr, &unused, &unused);
  auto const named = memory.region(0, 8, {4, 2, 4});
  auto const other = memory.region(8, 8, {3, 1, 3});
  named->name = "A";
  registry.add_region(*named);
  auto const error = support::error_of([&] { registry.add_region(*other); });
  REQUIRE(error);
  std::string const text = error->what();
  CHECK(text.find("(3 x 1)") != std::string::npos);
  CHECK(text.find("overlaps data 'A'") != std::string::npos);
  CHECK(named->describe() == "data 'A'");
}

TEST_SUITE_END();

} // namespace data_registry_test
