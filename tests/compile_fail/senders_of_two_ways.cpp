// SPDX-License-Identifier: MIT
// expected-error: hetsched: who waits for a sender needs one that sends values in one way
#include "../support/senders.hpp"

#define HETSCHED_SENDERS draft

#include <hetsched/execution.hpp>
#include <hetsched/hetsched.hpp>

struct Either {
  using sender_concept = draft::sender_tag;
  using completion_signatures =
      draft::completion_signatures<draft::set_value_t(int), draft::set_value_t(double)>;
};

void wait(hetsched::Runtime<>& rt) {
  (void)hetsched::sync_wait(rt, Either());
}
