// SPDX-License-Identifier: MIT
#include "device_list.hpp"

#include <hetsched/core/error.hpp>

#include <charconv>
#include <cstdint>
#include <utility>

namespace hetsched::detail {
namespace {

/// One entry of the list while it is read.
class Entry {
public:
  Entry(std::string_view text, char const* source) : text_(text), source_(source) {}

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_config, source_, "'" + std::string(text_) + "': " + why);
  }

  /// Cuts the text behind `mark` off from `rest` and returns it. Returns nothing if `rest` has no
  /// such mark.
  static std::string_view cut(std::string_view& rest, char mark) {
    auto const at = rest.find(mark);
    if (at == std::string_view::npos) {
      return {};
    }
    auto const behind = rest.substr(at + 1);
    rest = rest.substr(0, at);
    return behind;
  }

  [[nodiscard]] int number(std::string_view digits, int most) const {
    int value = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value > most) {
      refuse("'" + std::string(digits) + "' is not a whole number from 0 to " +
             std::to_string(most));
    }
    return value;
  }

  [[nodiscard]] std::size_t size(std::string_view text) const {
    std::uint64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    auto const unit = text.substr(static_cast<std::size_t>(end - text.data()));
    unsigned shift = 0;
    if (unit == "KB") {
      shift = 10;
    } else if (unit == "MB") {
      shift = 20;
    } else if (unit == "GB") {
      shift = 30;
    } else if (!unit.empty() && unit != "B") {
      refuse("'" + std::string(text) + "' is not a size, such as 256MB");
    }
    if (error != std::errc() || value == 0 || value > (UINT64_MAX >> shift)) {
      refuse("'" + std::string(text) + "' is not a size, such as 256MB");
    }
    return static_cast<std::size_t>(value << shift);
  }

private:
  std::string_view text_;
  char const* source_;
};

constexpr int most_devices = 62; // a mask of 64 bits says which nodes hold a copy; one is the host

void add(DeviceChoice const& choice, char const* source, std::vector<DeviceChoice>& choices) {
  if (choices.size() == static_cast<std::size_t>(most_devices)) {
    throw Error(
        ErrorCode::bad_config, source, "more than " + std::to_string(most_devices) + " devices");
  }
  choices.push_back(choice);
}

void read_entry(std::string_view text,
                char const* source,
                int (*cuda_devices)(),
                std::vector<DeviceChoice>& choices) {
  Entry const entry(text, source);
  auto rest = text;
  DeviceChoice choice;
  choice.options = Entry::cut(rest, '?');
  if (auto const size = Entry::cut(rest, '@'); !size.empty()) {
    choice.capacity = entry.size(size);
  } else if (text.find('@') != std::string_view::npos && text.find('@') < text.find('?')) {
    entry.refuse("there is no size behind the @");
  }
  bool const listed = rest.find(':') != std::string_view::npos;
  auto numbers = Entry::cut(rest, ':');
  choice.driver = rest;
  if (choice.driver == "emu") {
    int const count = listed ? entry.number(numbers, most_devices) : 1;
    for (int k = 0; k < count; ++k) {
      add(choice, source, choices);
      ++choice.ordinal;
    }
  } else if (choice.driver == "cuda") {
    if (!listed) {
      int const count = cuda_devices();
      for (choice.ordinal = 0; choice.ordinal < count; ++choice.ordinal) {
        add(choice, source, choices);
      }
      return;
    }
    for (bool more = true; more;) {
      more = numbers.find(',') != std::string_view::npos;
      auto const others = Entry::cut(numbers, ',');
      choice.ordinal = entry.number(numbers, most_devices);
      for (auto const& other : choices) {
        if (other.driver == "cuda" && other.ordinal == choice.ordinal) {
          entry.refuse("device " + std::to_string(choice.ordinal) + " is named twice");
        }
      }
      add(choice, source, choices);
      numbers = others;
    }
  } else {
    entry.refuse("there is no kind of device '" + choice.driver + "': cuda or emu");
  }
}

} // namespace

std::vector<DeviceChoice>
read_device_list(std::string_view text, char const* source, int (*cuda_devices)()) {
  std::vector<DeviceChoice> choices;
  if (text.empty() || text == "none") {
    return choices;
  }
  for (bool more = true; more;) {
    auto const end = text.find(';');
    more = end != std::string_view::npos;
    read_entry(text.substr(0, end), source, cuda_devices, choices);
    text = more ? text.substr(end + 1) : std::string_view();
  }
  return choices;
}

} // namespace hetsched::detail
