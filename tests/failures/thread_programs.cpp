// SPDX-License-Identifier: MIT
// Programs of threads alone, with the default scheduler.

#include <hetsched/capture.hpp>
#include <hetsched/when_stolen.hpp>

#include "programs.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace failures;

bool chain(std::string_view) {
  return right<hs::Runtime<>>({}, 100, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 100; ++k) {
      rt.spawn(hs::priority(k), hs::label("one"))(increment, hs::read_write(numbers));
    }
    rt.sync();
  });
}

bool without_data(std::string_view) {
  return right<hs::Runtime<>>({}, 0, 0, [](auto& rt, Data&) {
    for (int k = 0; k < 300; ++k) {
      rt.spawn()([] {});
    }
    rt.sync();
  });
}

bool reduction(std::string_view) {
  return right<hs::Runtime<>>({}, 0, 50, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    for (int k = 0; k < 50; ++k) {
      rt.spawn()([](long& mine) { ++mine; }, hs::reduce<hs::Sum<long>>(sum));
    }
    rt.sync();
  });
}

bool commuting(std::string_view) {
  return right<hs::Runtime<>>({}, 0, 50, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    for (int k = 0; k < 50; ++k) {
      rt.spawn()([](long& all) { ++all; }, hs::commute(sum));
    }
    rt.sync();
  });
}

bool partitioned(std::string_view) {
  return right<hs::Runtime<>>({}, 2, 0, [](auto& rt, Data& data) {
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

bool nested(std::string_view) {
  return right<hs::Runtime<>>({}, 40, 0, [](auto& rt, Data& data) {
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

/// Tasks that are handed over, a failing one among them, for which there may be no memory.
bool nested_when_stolen(std::string_view) {
  hs::Config config;
  config.dependencies = hs::Dependencies::when_stolen;
  return right<hs::Runtime<>>(config, 41, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    long failing = 0;
    auto const other = rt.data(failing);
    rt.spawn()(
        [](hs::Runtime<>& in, hs::Handle<Numbers> all, hs::Handle<long> fails) {
          for (int k = 0; k < 20; ++k) {
            in.spawn()(increment, hs::read_write(all));
            in.spawn()(
                [](hs::Runtime<>& deep, long& /*fails*/) {
                  deep.spawn()([] {}); // handed over, since it is not complete without this one
                },
                hs::read_write(fails));
          }
          in.sync();
          {
            auto parts = in.partition(all, hs::block_rows(8));
            for (std::size_t k = 0; k < parts.size(); ++k) {
              in.spawn()(increment, hs::read_write(parts[k]));
            }
          }
          for (int k = 0; k < 20; ++k) {
            in.spawn()(increment, hs::read_write(all));
          }
        },
        hs::read_write(numbers),
        hs::read_write(other));
    rt.sync();
    rt.spawn()(
        [](hs::Runtime<>& in, hs::Handle<long> fails) {
          in.spawn()([](long& /*all*/) { throw std::runtime_error("failed"); },
                     hs::read_write(fails));
          in.spawn()([](long& all) { all = 1; }, hs::read_write(fails));
        },
        hs::read_write(other));
    try {
      rt.sync();
    } catch (std::runtime_error const&) {
    }
    if (failing != 0) {
      throw std::logic_error("what a failed task should have written was read");
    }
  });
}

bool in_a_group(std::string_view) {
  return right<hs::Runtime<>>({}, 20, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    hs::TaskGroup group(rt);
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::in(group))(increment, hs::read_write(numbers));
    }
    rt.sync(group);
    rt.sync();
  });
}

bool captured(std::string_view) {
  return right<hs::Runtime<>>({}, 72, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    int left = 0;
    auto const hleft = rt.data(left);
    auto const graph = rt.capture([&] {
      for (int k = 0; k < 20; ++k) {
        rt.spawn()(increment, hs::read_write(numbers));
      }
      rt.spawn()([](int& n, std::string const& many) { n = static_cast<int>(many.size()) / 25; },
                 hs::write(hleft),
                 std::string(100, 'x'));
      rt.spawn_while(hleft, [&] {
        rt.spawn()(increment, hs::read_write(numbers));
        rt.spawn()(
            [](int& n, std::string const&) { --n; }, hs::read_write(hleft), std::string(50, 'x'));
      });
    });
    rt.run(graph); // by spawns; the others have its tasks
    rt.run(graph);
    rt.run(graph);
    rt.sync();
  });
}

/// More parts than a LockOrder keeps on the stack, each of them in parts, too, and left to the
/// destructors to join.
bool nested_partitions(std::string_view) {
  return right<hs::Runtime<>>({}, 3, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    {
      auto const outer = rt.partition(numbers, hs::block_rows(4));
      std::vector<hs::Partition<Numbers>> inner;
      for (std::size_t k = 0; k < outer.size(); ++k) {
        rt.spawn()(increment, hs::read_write(outer[k]));
        inner.push_back(rt.partition(outer[k], hs::block_rows(1)));
        for (std::size_t j = 0; j < inner.back().size(); ++j) {
          rt.spawn()(increment, hs::read_write(inner.back()[j]));
        }
      }
    }
    rt.spawn()(increment, hs::read_write(numbers));
    rt.sync();
  });
}

/// Contributions by two operators, which end each other's series.
bool mixed_contributions(std::string_view) {
  return right<hs::Runtime<>>({}, 0, 44, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    for (int round = 0; round < 4; ++round) {
      for (int k = 0; k < 10; ++k) {
        rt.spawn()([](long& mine) { ++mine; }, hs::reduce<hs::Sum<long>>(sum));
      }
      rt.spawn()([](long& mine) { mine = 1; }, hs::reduce<hs::Max<long>>(sum));
      rt.spawn()([](long& all) { ++all; }, hs::read_write(sum));
    }
    rt.sync();
  });
}

/// Commuting tasks with more data than a LockOrder keeps on the stack.
bool many_commuting(std::string_view) {
  return right<hs::Runtime<>>({}, 0, 20, [](auto& rt, Data& data) {
    auto const sum = rt.data(data.sum);
    std::vector<long> own(14, 0);
    std::vector<hs::Handle<long>> x;
    for (auto& one : own) {
      x.push_back(rt.data(one));
    }
    for (int k = 0; k < 20; ++k) {
      rt.spawn()([](long& all,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&,
                    long&) { ++all; },
                 hs::commute(sum),
                 hs::commute(x[0]),
                 hs::commute(x[1]),
                 hs::commute(x[2]),
                 hs::commute(x[3]),
                 hs::commute(x[4]),
                 hs::commute(x[5]),
                 hs::commute(x[6]),
                 hs::commute(x[7]),
                 hs::commute(x[8]),
                 hs::commute(x[9]),
                 hs::commute(x[10]),
                 hs::commute(x[11]));
    }
    rt.sync();
  });
}

/// Bodies that wait for a group leave their worker to another thread. They hold other data than the
/// tasks that they wait for: else both would wait for each other.
bool waiting_for_groups(std::string_view) {
  return right<hs::Runtime<>>({}, 6, 6, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    auto const sum = rt.data(data.sum);
    hs::TaskGroup group(rt);
    for (int k = 0; k < 6; ++k) {
      rt.spawn(hs::in(group))(increment, hs::commute(numbers));
    }
    for (int k = 0; k < 6; ++k) {
      rt.spawn()(
          [&group](hs::Runtime<>& in, long& all) {
            in.sync(group);
            ++all;
          },
          hs::commute(sum));
    }
    rt.sync();
  });
}

/// Bodies that throw, below others.
bool failing_bodies(std::string_view) {
  bool caught = false;
  bool const rest = right<hs::Runtime<>>({}, 1, 0, [&caught](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    auto const sum = rt.data(data.sum);
    rt.spawn()(
        [](hs::Runtime<>& in, hs::Handle<long> all) {
          in.spawn()([](long&) { throw std::runtime_error("a body"); }, hs::read_write(all));
          in.spawn()([](long&) {}, hs::read_write(all));
          in.spawn()([] { throw std::runtime_error("another one"); });
        },
        hs::read_write(sum));
    rt.spawn()(increment, hs::read_write(numbers));
    try {
      rt.sync();
    } catch (std::runtime_error const&) {
      caught = true;
    }
  });
  return rest && caught;
}

/// Attempts at abortable tasks.
bool abortable(std::string_view) {
  return right<hs::Runtime<>>({}, 20, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 20; ++k) {
      rt.spawn(hs::abortable)(increment, hs::read_write(numbers));
    }
    rt.sync();
  });
}

/// Workers of two cores each, if there are as many.
bool team(std::string_view) {
  hs::Config config;
  config.group = 2;
  return right<hs::Runtime<>>(config, 10, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 10; ++k) {
      rt.spawn()(increment, hs::read_write(numbers));
    }
    rt.sync();
  });
}

bool waiting_for_data(std::string_view) {
  return right<hs::Runtime<>>({}, 20, 0, [](auto& rt, Data& data) {
    auto const numbers = rt.data(data.numbers);
    for (int k = 0; k < 20; ++k) {
      rt.spawn()(increment, hs::read_write(numbers));
      rt.sync(numbers);
    }
    rt.sync();
  });
}

constexpr Program thread_list[] = {{"chain", chain},
                                   {"without data", without_data},
                                   {"reduction", reduction},
                                   {"mixed contributions", mixed_contributions},
                                   {"commuting", commuting},
                                   {"many commuting", many_commuting},
                                   {"partition", partitioned},
                                   {"nested partitions", nested_partitions},
                                   {"nested", nested},
                                   {"dependencies when stolen", nested_when_stolen},
                                   {"group", in_a_group},
                                   {"waiting for groups", waiting_for_groups},
                                   {"failing bodies", failing_bodies},
                                   {"abortable", abortable},
                                   {"team", team},
                                   {"captured", captured},
                                   {"sync of data", waiting_for_data}};

} // namespace

namespace failures {

std::span<Program const> thread_programs() {
  return thread_list;
}

} // namespace failures
