// SPDX-License-Identifier: MIT
// expected-error: hetsched: this policy is only declared here: include its header,
// expected-within: 10
#include <hetsched/hetsched.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::Dmda<>> rt;
}
