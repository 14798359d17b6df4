// SPDX-License-Identifier: MIT
#include <hetsched/detail/policies/model_files.hpp>

#include "fuzz.hpp"

void fuzz::read(std::string const& input) {
  namespace detail = hetsched::detail;
  auto const file = metered(input.size(), [&] { return detail::parse_times(input, "FILE"); });
  auto const text = detail::text_of(file);
  require(detail::text_of(detail::parse_times(text, "FILE")) == text,
          "what is written is not read back");
  hetsched::policies::History history;
  detail::KeptTimes sums;
  for (auto const& kind : file.kinds) {
    history.restore(kind);
    sums.push_back(kind);
    sums.back().append(file.kinds.front());
  }
  require(history.known().size() <= file.kinds.size(), "a kind that the file has not");
  // What was read can be added up and be read again.
  (void)detail::parse_times(detail::text_of({file.machine, file.workers, sums}), "FILE");
}
