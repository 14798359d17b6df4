// SPDX-License-Identifier: MIT
#include "../../cuda/emulated/options.hpp"
#include "../../cuda/set/device_list.hpp"
#include "fuzz.hpp"

#include <vector>

void fuzz::read(std::string const& input) {
  namespace emulated = hetsched::emulated;
  auto const devices = metered(input.size(), [&] {
    return hetsched::detail::read_device_list(input, "HETSCHED_DEVICES", [] { return 3; });
  });
  require(devices.size() <= 62, "too many devices");
  for (auto const& device : devices) {
    emulated::Options options;
    auto const wrong = metered(device.options.size(),
                               [&] { return emulated::parse_options(device.options, options); });
    if (wrong.empty()) {
      require(options.slow >= 1 && options.latency.count() >= 0 && options.kernel.count() >= 0 &&
                  copy_time(options, 1000, true) >= options.latency,
              "a time below 0");
    }
  }
}
