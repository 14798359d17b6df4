// SPDX-License-Identifier: MIT
// Programs in which the k-th allocation fails, for each k up to their number. Each must end right,
// or with an exception that it can catch; after that its runtime works or goes. Each k has a
// process of its own, which may take ten seconds. Usage: allocation_failure [PROGRAM]...      (all)

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace {

std::atomic<bool> counts{false};
std::atomic<long> allocations{0};
long fails = 0; // the number of the allocation that fails; 0: none

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (counts.load(std::memory_order_relaxed) && allocations.fetch_add(1) + 1 == fails) {
    return nullptr;
  }
  auto const whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, whole)
                                               : std::malloc(whole);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (auto* const memory = take(bytes, alignment)) {
    return memory;
  }
  throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t bytes) {
  return take_or_throw(bytes, 1);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return take(bytes, 1);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using Numbers = hs::VectorView<long>;

constexpr auto increment = [](Numbers all) {
  for (auto& one : all) {
    ++one;
  }
};

/// What the programs work on: each leaves `increments` in every number if all is right.
struct Data {
  std::vector<long> numbers = std::vector<long>(64, 0);
  long sum = 0;
};

/// Runs `spawn(rt, data)` and syncs. Whether the result is right; what is thrown is thrown on,
/// after one more sync, for which there is memory again.
template <class Rt, class Body>
bool right(long increments, long sum, Body&& body) {
  Data data;
  counts = true;
  Rt rt({.cpus = 2, .bind = hs::Bind::none});
  try {
    body(rt, data);
  } catch (...) {
    try {
      rt.sync();
    } catch (std::exception const&) { // another task's
    }
    throw;
  }
  counts = false;
  return data.sum == sum && std::count(data.numbers.begin(), data.numbers.end(), increments) == 64;
}

bool chain() {
  return right<hs::Runtime<>>(100, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 100; ++k) {
      rt.spawn(hs::priority(k), hs::label("one"))(increment, hs::read_write(numbers));
    }
    rt.sync();
  });
}

bool without_data() {
  return right<hs::Runtime<>>(0, 0, [](auto& rt, Data&) {
    for (int k = 0; k < 300; ++k) {
      rt.spawn()([] {});
    }
    rt.sync();
  });
}

bool reduction() {
  return right<hs::Runtime<>>(0, 50, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    for (int k = 0; k < 50; ++k) {
      rt.spawn()([](long& mine) { ++mine; }, hs::reduce<hs::Sum<long>>(sum));
    }
    rt.sync();
  });
}

bool commuting() {
  return right<hs::Runtime<>>(0, 50, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    for (int k = 0; k < 50; ++k) {
      rt.spawn()([](long& all) { ++all; }, hs::commute(sum));
    }
    rt.sync();
  });
}

bool partitioned() {
  return right<hs::Runtime<>>(2, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    auto parts = rt.partition(numbers, hs::block_rows(8));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      rt.spawn()(increment, hs::read_write(parts[k]));
    }
    rt.join(parts);
    rt.spawn()(increment, hs::read_write(numbers));
    rt.sync();
  });
}

bool nested() {
  return right<hs::Runtime<>>(40, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    rt.spawn()(
        [](hs::Runtime<>& in, hs::Handle<Numbers> all) {
          for (int k = 0; k < 20; ++k) {
            in.spawn()(increment, hs::read_write(all));
          }
          in.sync();
          for (int k = 0; k < 20; ++k) {
            in.spawn()(increment, hs::read_write(all));
          }
        },
        hs::read_write(numbers));
    rt.sync();
  });
}

bool in_a_group() {
  return right<hs::Runtime<>>(20, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    hs::TaskGroup group(rt);
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::in(group))(increment, hs::read_write(numbers));
    }
    rt.sync(group);
    rt.sync();
  });
}

bool captured() {
  return right<hs::Runtime<>>(40, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    auto const graph = rt.capture([&] {
      for (int k = 0; k < 20; ++k) {
        rt.spawn()(increment, hs::read_write(numbers));
      }
    });
    rt.run(graph);
    rt.run(graph);
    rt.sync();
  });
}

bool waiting_for_data() {
  return right<hs::Runtime<>>(20, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 20; ++k) {
      rt.spawn()(increment, hs::read_write(numbers));
      rt.sync(numbers);
    }
    rt.sync();
  });
}

struct Program {
  std::string_view name;
  bool (*run)();
};

constexpr Program programs[] = {{"chain", chain},
                                {"without data", without_data},
                                {"reduction", reduction},
                                {"commuting", commuting},
                                {"partition", partitioned},
                                {"nested", nested},
                                {"group", in_a_group},
                                {"captured", captured},
                                {"sync of data", waiting_for_data}};

/// How a run ended: `none_failed`: there were fewer than k allocations.
enum Outcome { good, told, wrong, none_failed };

/// In a child: with allocation `k` failing. Answers the wait status.
int outcome(Program const& program, long k) {
  std::fflush(nullptr);
  auto const child = fork();
  if (child == 0) {
    alarm(10);
    fails = k;
    auto result = told;
    try {
      result = program.run() ? (allocations < k ? none_failed : good) : wrong;
    } catch (std::exception const&) {
    }
    std::_Exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// The number of those that went wrong.
int try_all(Program const& program) {
  int bad = 0;
  long k = 1;
  for (bool more = true; more && bad < 10; ++k) {
    auto const status = outcome(program, k);
    auto const code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    more = code != none_failed;
    if (code == wrong || code < 0) {
      ++bad;
      std::printf("%.*s, allocation %ld fails: %s\n",
                  static_cast<int>(program.name.size()),
                  program.name.data(),
                  k,
                  code == wrong                 ? "a wrong result, and no error"
                  : WTERMSIG(status) == SIGALRM ? "no end within 10 s"
                                                : "the process was ended");
    }
  }
  std::printf("%.*s: %ld allocations, %d bad\n",
              static_cast<int>(program.name.size()),
              program.name.data(),
              k - 2,
              bad);
  return bad;
}

} // namespace

int main(int argc, char** argv) {
  std::span const names(argv + 1, static_cast<std::size_t>(argc - 1));
  int bad = 0;
  for (auto const& program : programs) {
    if (names.empty() || std::find(names.begin(), names.end(), program.name) != names.end()) {
      bad += try_all(program);
    }
  }
  return bad == 0 ? 0 : 1;
}
