// SPDX-License-Identifier: MIT
#pragma once
// What a transport has to report.

#include <cstddef>
#include <deque>
#include <utility>

namespace hetsched::detail {

/// f(event) of each that is there now; what callbacks add is for a later poll. Whether there was
/// one. If a callback throws, its event and those before it are gone.
template <class Event, class F>
bool tell_each(std::deque<Event>& news, F&& f) {
  auto const count = news.size();
  for (std::size_t k = 0; k < count; ++k) {
    auto const event = std::move(news.front());
    news.pop_front();
    f(event);
  }
  return count != 0;
}

} // namespace hetsched::detail
