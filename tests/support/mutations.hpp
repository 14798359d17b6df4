// SPDX-License-Identifier: MIT
#pragma once
// Files that somebody spoilt, for tests of readers.

#include <hetsched/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

/// `text` with the first `what` in it, which must be there, changed.
inline std::string replaced(std::string text, std::string const& what, std::string const& by) {
  auto const at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// What `read` says of a text that it calls FILE.
template <class Read>
std::string error_of(Read&& read, std::string const& text) {
  try {
    (void)read(text, "FILE");
  } catch (hetsched::Error const& error) {
    CHECK(error.code() == hetsched::ErrorCode::bad_input);
    CHECK(error.culprit() == "FILE");
    return error.what();
  }
  return "no error";
}

/// A change to a file that is right, and a part of what must be said to be wrong then.
struct WrongFile {
  char const* what;
  char const* by;
  char const* error;
};

/// Makes each change to a file's text: says(message, error) must hold of what `read` says.
template <class Read, class Says>
void check_wrong_files(Read&& read,
                       std::string const& right,
                       std::vector<WrongFile> const& changes,
                       Says const& says) {
  for (auto const& [what, by, error] : changes) {
    CAPTURE(what);
    CAPTURE(by);
    auto const got = error_of(read, replaced(right, what, by));
    CHECK_MESSAGE(says(got, std::string(error)), got);
  }
}

/// The same: the message must contain the error.
template <class Read>
void check_wrong_files(Read&& read,
                       std::string const& right,
                       std::vector<WrongFile> const& changes) {
  check_wrong_files(read, right, changes, [](std::string const& got, std::string const& error) {
    return got.find(error) != std::string::npos;
  });
}

/// Gives `read` 100,000 mutations of a file's text (2000 in builds with few tests), the same each
/// time; how many it took. Others must end in Error(bad_input) of one line.
template <class Read>
int try_mutations(std::string const& original, Read&& read) {
#ifdef HETSCHED_TEST_FEW
  constexpr int mutations = 2000;
#else
  constexpr int mutations = 100000;
#endif
  std::string const letters = "0123456789-+.eE\"[]{},:nul true\\\x01\xff";
  std::mt19937 random(1);
  int accepted = 0;
  for (int k = 0; k < mutations; ++k) {
    auto text = original;
    for (auto changes = 1 + random() % 3; changes != 0 && !text.empty(); --changes) {
      auto const at = random() % text.size();
      auto const length = std::min<std::size_t>(1 + random() % 8, text.size() - at);
      switch (random() % 4) {
      case 0:
        text[at] = letters[random() % letters.size()];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random() % (text.size() - length + 1), length));
        break;
      default:
        text.insert(at, 1, letters[random() % letters.size()]);
        break;
      }
    }
    try {
      read(text);
      ++accepted;
    } catch (hetsched::Error const& error) {
      REQUIRE(error.code() == hetsched::ErrorCode::bad_input);
      REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  return accepted;
}
