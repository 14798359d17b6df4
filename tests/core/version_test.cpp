// SPDX-License-Identifier: MIT
#include <hetsched/core/version.hpp>

#include <doctest/doctest.h>

#include <string>

namespace version_test {

TEST_SUITE_BEGIN("version");

TEST_CASE("version: the string is the three numbers") {
  auto const numbers = std::to_string(HETSCHED_VERSION_MAJOR) + "." +
                       std::to_string(HETSCHED_VERSION_MINOR) + "." +
                       std::to_string(HETSCHED_VERSION_PATCH);

  CHECK(numbers == HETSCHED_VERSION);
}

TEST_CASE("version: the build has the same one") {
  CHECK(std::string(HETSCHED_BUILD_VERSION) == HETSCHED_VERSION);
}

TEST_CASE("version: the number holds the three") {
  CHECK(HETSCHED_VERSION_NUMBER / 10000 == HETSCHED_VERSION_MAJOR);
  CHECK(HETSCHED_VERSION_NUMBER / 100 % 100 == HETSCHED_VERSION_MINOR);
  CHECK(HETSCHED_VERSION_NUMBER % 100 == HETSCHED_VERSION_PATCH);
}

TEST_SUITE_END();

} // namespace version_test
