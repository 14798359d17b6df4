// SPDX-License-Identifier: MIT
// Programs whose dependencies are computed when stolen: those of any runtime, and bodies that leave
// tasks for others to take.

#include <hetsched/when_stolen.hpp>

#include "runtime_programs.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace interleavings {

namespace {

struct Stolen {
  using Runtime = hs::Runtime<>;

  static Runtime make(hs::Config config) {
    config.dependencies = hs::Dependencies::when_stolen;
    return Runtime(config);
  }
};

using Rt = Stolen::Runtime;

void chain_in_a_body() {
  long x = 0, y = 0;
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x), hy = rt.data(y);
  rt.spawn()(
      [](Rt& in, hs::Handle<long> a, hs::Handle<long> b) {
        in.spawn()(increment, hs::read_write(a));
        in.spawn()(increment, hs::read_write(b));
        in.spawn()(twice, hs::read_write(a));
        in.spawn()(copy, hs::read(a), hs::write(b));
        in.spawn()(increment, hs::read_write(a));
      },
      hs::read_write(hx),
      hs::read_write(hy));
  rt.sync();
  expect(x == 3 && y == 2, "x = 3, y = 2");
}

/// Whose tasks are handed over while the inner body runs.
void two_levels_deep() {
  long x = 0, y = 0;
  auto rt = Stolen::make(on_cores(3));
  auto const hx = rt.data(x), hy = rt.data(y);
  rt.spawn()(
      [](Rt& in, hs::Handle<long> a, hs::Handle<long> b) {
        in.spawn()(
            [](Rt& inner, hs::Handle<long> all) {
              inner.spawn()(increment, hs::read_write(all));
              inner.spawn()(twice, hs::read_write(all));
            },
            hs::read_write(a));
        in.spawn()(increment, hs::read_write(b));
        in.spawn()(copy, hs::read(a), hs::write(b));
        in.sync();
        in.spawn()(increment, hs::read_write(b));
        in.spawn()(twice, hs::read_write(a));
      },
      hs::read_write(hx),
      hs::read_write(hy));
  rt.sync();
  expect(x == 4 && y == 3, "x = 4, y = 3");
}

/// Children without data go to the scheduler at once: their parent ends after them.
void behind_a_parent_of_others() {
  long x = 0, sum = 0;
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x);
  rt.spawn()(
      [&sum](Rt& in, hs::Handle<long> a) {
        in.spawn()([&sum](Rt& inner, long& /*a*/) { inner.spawn()([&sum] { sum = 1; }); },
                   hs::read_write(a));
        in.spawn()([&sum](long& all) { all = sum + 1; }, hs::read_write(a));
      },
      hs::read_write(hx));
  rt.sync();
  expect(x == 2, "x = 2");
}

void temporary_in_a_body() {
  long x = 0;
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x);
  rt.spawn()(
      [](Rt& in, hs::Handle<long> a) {
        auto const t = in.temporary<long>();
        in.spawn()([](long& of) { of = 4; }, hs::write(t));
        in.spawn()(increment, hs::read_write(a));
        in.spawn()(copy, hs::read(t), hs::write(a));
      },
      hs::read_write(hx));
  rt.sync();
  expect(x == 4, "x = 4");
}

void joined_in_a_body() {
  std::array<long, 2> x{};
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x);
  rt.spawn()(
      [](Rt& in, hs::Handle<Numbers> all) {
        auto parts = in.partition(all, hs::block_rows(1));
        in.spawn()(increment_all, hs::read_write(parts[0]));
        in.spawn()(increment_all, hs::read_write(parts[1]));
        in.join(parts);
        in.spawn()(increment_all, hs::read_write(all));
        bool refused = false;
        try {
          in.spawn()(increment_all, hs::read_write(parts[0]));
        } catch (hs::Error const& error) {
          refused = error.code() == hs::ErrorCode::bad_access;
        }
        expect(refused, "a part that was joined is refused");
      },
      hs::read_write(hx));
  rt.sync();
  expect(x == std::array<long, 2>{2, 2}, "all are 2");
}

void failing_in_a_body() {
  long x = 0, y = 0, z = 0;
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
  rt.spawn()(
      [](Rt& in, hs::Handle<long> a, hs::Handle<long> b, hs::Handle<long> c) {
        in.spawn()([](long& /*all*/) { throw std::runtime_error("failed"); }, hs::read_write(a));
        in.spawn()(copy, hs::read(a), hs::write(b));
        in.spawn()(increment, hs::read_write(c));
        in.spawn()(increment, hs::read_write(b));
      },
      hs::read_write(hx),
      hs::read_write(hy),
      hs::read_write(hz));
  expect(throws("failed", [&rt] { rt.sync(); }), "the failure is rethrown");
  expect(x == 0 && y == 0 && z == 1, "what needs it is cancelled, and nothing else");
  expect(rt.stats().cancelled == 2, "two are cancelled");
}

/// The body's last handle goes in a task that another worker may run.
void handle_gone_elsewhere() {
  long x = 0, seen = 0;
  auto rt = Stolen::make(on_cores(2));
  rt.spawn()([&x, &seen](Rt& in) {
    auto handle = in.data(x);
    in.spawn()(increment, hs::read_write(handle));
    in.spawn()(twice, hs::read_write(handle));
    in.spawn()([held = std::make_shared<hs::Handle<long>>(std::move(handle)), &x, &seen]() mutable {
      held.reset();
      seen = x;
    });
  });
  try {
    rt.sync();
  } catch (hs::Error const&) { // told if the tasks were not through
  }
  expect(x == 2 && seen == 2, "the handle's destructor waits");
}

/// A task waits for a group with one behind it.
void waits_for_a_later_one() {
  long x = 0, y = 0;
  auto rt = Stolen::make(on_cores(2));
  auto const hx = rt.data(x), hy = rt.data(y);
  hs::TaskGroup group(rt);
  rt.spawn()(
      [&group](Rt& in, hs::Handle<long> a, hs::Handle<long> b) {
        in.spawn()(increment, hs::read_write(a));
        in.spawn()(
            [&group](Rt& inner, long& all) {
              inner.sync(group);
              ++all;
            },
            hs::read_write(a));
        in.spawn(hs::in(group))(increment, hs::read_write(b));
      },
      hs::read_write(hx),
      hs::read_write(hy));
  rt.sync();
  expect(x == 2 && y == 1, "x = 2, y = 1");
}

constexpr Program own[] = {
    {"chain in a body", chain_in_a_body},
    {"two levels deep", two_levels_deep},
    {"behind a parent of others", behind_a_parent_of_others},
    {"temporary in a body", temporary_in_a_body},
    {"joined in a body", joined_in_a_body},
    {"failing in a body", failing_in_a_body},
    {"handle gone elsewhere", handle_gone_elsewhere},
    {"waits for a later one", waits_for_a_later_one},
    {"handle gone beside a body, when stolen", Programs<Stolen>::handle_gone_beside_a_body},
    {"nested sync, when stolen", Programs<Stolen>::nested_sync},
    {"nested sync of a datum, when stolen", Programs<Stolen>::nested_sync_of_a_datum},
    {"two levels, when stolen", Programs<Stolen>::two_levels},
    {"groups in bodies, when stolen", Programs<Stolen>::groups_in_bodies},
    {"group of a body, when stolen", Programs<Stolen>::group_of_a_body},
    {"failing child, when stolen", Programs<Stolen>::failing_child},
    {"caught in a body, when stolen", Programs<Stolen>::caught_in_a_body},
    {"failing series, when stolen", Programs<Stolen>::failing_series},
    {"partition in a body, when stolen", Programs<Stolen>::partition_in_a_body},
};

} // namespace

std::span<Program const> stolen_programs() {
  return own;
}

} // namespace interleavings
