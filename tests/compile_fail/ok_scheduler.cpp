// SPDX-License-Identifier: MIT
#include "scheduler.hpp"

int main() {
  hetsched::Runtime<Right> rt;
}
