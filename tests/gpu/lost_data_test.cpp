// SPDX-License-Identifier: MIT
// Data whose only copy goes down with a device: nobody reads what is left of them in host memory
// before the program was told which they are.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace lost_data_test {

using Vector = hs::VectorView<double>;
using Constant = hs::VectorView<double const>;

/// Writes 42.
struct Answer : hs::Task<1>::Signature<hs::W<Vector>> {};

/// Throws when it is launched.
struct Refuse : hs::Task<1>::Signature<hs::RW<Vector>> {};

/// Adds 1 to its own copy.
struct Count : hs::Task<1>::Signature<hs::CW<Vector, hs::Sum<double>>> {};

} // namespace lost_data_test

template <>
struct hetsched::TaskBodyGPU<lost_data_test::Answer> {
  void operator()(hs::GpuStream& stream, lost_data_test::Vector v) const {
    support::launch(stream, [v] {
      for (auto& element : v) {
        element = 42;
      }
    });
  }
};

template <>
struct hetsched::TaskBodyGPU<lost_data_test::Refuse> {
  void operator()(lost_data_test::Vector) const { throw std::runtime_error("refused"); }
};

template <>
struct hetsched::TaskBodyGPU<lost_data_test::Count> {
  void operator()(hs::GpuStream& stream, lost_data_test::Vector v) const {
    support::launch(stream, [v] { v[0] += 1; });
  }
};

namespace lost_data_test {

constexpr std::size_t length = 64;
constexpr hs::NodeId device{1};

hs::Config config(std::string const& devices, int cpus = 1) {
  auto config = support::on_cpus(cpus);
  config.devices = devices;
  return config;
}

bool names(std::optional<hs::Error> const& error, std::string const& what) {
  return error && error->code() == hs::ErrorCode::device_failed &&
         error->culprit().find(what) != std::string::npos;
}

/// Has the only device get lost, by the first copy to it, and waits until that is known.
void lose_device(hs::Runtime<>& rt) {
  std::vector<double> z(length);
  auto const handle = rt.data(z);
  rt.wait();
  rt.prefetch(handle, device);
  rt.sync(handle);
}

/// A runtime whose device is lost, and with it the values of x and y.
struct Machine {
  explicit Machine(int cpus = 1) : rt(config("emu:1@64KB?lost=copy@1", cpus)) {
    rt.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(hx);
    rt.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(hy);
    lose_device(rt);
  }

  std::vector<double> x = std::vector<double>(length, 1);
  std::vector<double> y = std::vector<double>(length, 2);
  hs::Runtime<> rt;
  hs::Handle<Vector> hx = rt.data(x).named("x");
  hs::Handle<Vector> hy = rt.data(y).named("y");
};

TEST_SUITE_BEGIN("devices");

TEST_CASE("lost data: a task on the host that reads them fails, and the sync names them") {
  Machine machine;
  auto& rt = machine.rt;
  double read = 0;
  auto const result = rt.data(read).named("result");
  rt.spawn()([](Constant x, double& out) { out = x[0]; }, hs::read(machine.hx), hs::write(result));
  CHECK(names(support::error_of([&] { rt.sync(result); }), "'x'"));
  rt.spawn()([](Vector x) { x[0] = 7; }, hs::write(machine.hx));
  rt.spawn()([](Vector y) { y[0] = 8; }, hs::write(machine.hy));
  CHECK(names(support::error_of([&] { rt.sync(); }), "'x'")); // the task's error
  CHECK(!support::error_of([&] { rt.sync(); }));
  CHECK(machine.x[0] == 7);
  CHECK(machine.y[0] == 8);
  CHECK(read == 0);
}

TEST_CASE("lost data: one sync names all of them, and then they may be used") {
  Machine machine;
  auto& rt = machine.rt;
  for (int again = 0; again < 2; ++again) {
    CHECK(names(support::error_of([&] { rt.sync(machine.hx); }), "'x'"));
  }
  auto const error = support::error_of([&] { rt.sync(); });
  CHECK(names(error, "'x'"));
  CHECK(names(error, "'y'"));
  CHECK(rt.failures().size() == 1);
  CHECK(!support::error_of([&] { rt.sync(); }));
  CHECK(!support::error_of([&] { rt.sync(machine.hx); }));
  rt.spawn()([](Vector x) { x[0] += 1; }, hs::read_write(machine.hx));
  rt.sync();
  CHECK(machine.x[0] == 2);
}

TEST_CASE("lost data: what is overwritten is not asked for") {
  Machine machine;
  for (auto const& handle : {machine.hx, machine.hy}) {
    machine.rt.spawn()([](Vector v) { v[0] = 7; }, hs::write(handle));
  }
  machine.rt.sync();
  CHECK(machine.x[0] == 7);
  CHECK(machine.rt.failures().empty());
}

TEST_CASE("lost data: a failed task's error comes first, and what is lost is in failures()") {
  Machine machine;
  machine.rt.spawn()([] { throw std::runtime_error("told to"); });
  CHECK_THROWS_WITH(machine.rt.sync(), "told to");
  auto const failures = machine.rt.failures();
  REQUIRE(failures.size() == 2);
  CHECK(failures[1].message.find("'x'") != std::string::npos);
  machine.rt.sync();
}

TEST_CASE("lost data: the parts of a region that is lost are lost") {
  for (int const cpus : {1, 4}) {
    Machine machine(cpus);
    auto& rt = machine.rt;
    auto parts = rt.partition(machine.hx, hs::block_rows(length / 2));
    bool ran = false;
    rt.spawn()([&](Constant) { ran = true; }, hs::read(parts[0]));
    rt.join(parts);
    rt.spawn()([&](Constant) { ran = true; }, hs::read(machine.hx));
    rt.spawn()([](Vector y) { y[0] = 0; }, hs::write(machine.hy));
    CHECK(names(support::error_of([&] { rt.sync(); }), "'x'"));
    CHECK(!ran);
    CHECK(rt.failures().size() == 1);
    rt.spawn()([&](Constant) { ran = true; }, hs::read(machine.hx));
    rt.sync();
    CHECK(ran);
  }
}

TEST_CASE("lost data: a region is lost if a part of it is") {
  for (int const cpus : {1, 4}) {
    for (bool const overwritten : {false, true}) {
      std::vector<double> x(length, 1);
      hs::Runtime<> rt(config("emu:1@64KB?lost=copy@1", cpus));
      auto const handle = rt.data(x).named("x");
      auto parts = rt.partition(handle, hs::block_rows(length / 2));
      rt.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(parts[0]);
      lose_device(rt);
      if (overwritten) {
        rt.spawn()([](Vector part) { part[0] = 3; }, hs::write(parts[0]));
      }
      rt.join(parts);
      double sum = 0;
      auto const result = rt.data(sum);
      rt.spawn()([](Constant v, double& out) { out = v[0] + v[length - 1]; },
                 hs::read(handle),
                 hs::write(result));
      auto const error = support::error_of([&] { rt.sync(); });
      CHECK(names(error, "'x'") == !overwritten);
      CHECK(sum == (overwritten ? 4 : 0));
      CHECK(!support::error_of([&] { rt.sync(); }));
    }
  }
}

TEST_CASE("lost data: sync throws once, whenever the device is lost") {
  for (int event = 1; event <= 24; ++event) {
    std::array<std::vector<double>, 3> data;
    data.fill(std::vector<double>(length));
    std::optional<hs::Runtime<>> rt;
    try {
      rt.emplace(config("emu:1@64KB?latency=1ms&lost=event@" + std::to_string(event)));
    } catch (hs::Error const&) {
      continue; // it could not be opened
    }
    CAPTURE(event);
    std::vector<hs::Handle<Vector>> handles;
    for (auto& vector : data) {
      handles.push_back(rt->data(vector));
      rt->spawn<Answer>(hs::SetArch(hs::ArchCUDA))(handles.back());
    }
    bool const failed = support::error_of([&] { rt->sync(); }).has_value();
    CHECK(!support::error_of([&] { rt->sync(); }));
    bool right = true;
    for (auto& vector : data) {
      right = right && vector[0] == 42;
    }
    CHECK(right != failed);
    for (auto const& handle : handles) {
      rt->spawn()([](Vector v) { v[1] = 7; }, hs::read_write(handle));
    }
    rt->sync();
    CHECK(data[2][1] == 7);
  }
}

TEST_CASE("lost data: what a device still has is asked for again by the next sync") {
  std::vector<double> x(length);
  hs::Runtime<> rt(config("emu:1@64KB?fail=copy@1&fail=copy@2&fail=copy@3&fail=copy@4"));
  auto const handle = rt.data(x).named("x");
  rt.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(handle);
  CHECK(names(support::error_of([&] { rt.sync(); }), "'x'"));
  rt.sync();
  CHECK(x[0] == 42);
}

TEST_CASE("lost data: a program's memory on a device goes down with it, and sync says so once") {
  std::vector<double> there(length, 1);
  hs::Runtime<> rt(config("emu:1@64KB?lost=copy@1"));
  auto const handle = rt.device_data(device, there.data(), length).named("x");
  lose_device(rt);
  CHECK(names(support::error_of([&] { rt.sync(); }), "'x'"));
  CHECK(!support::error_of([&] { rt.sync(); }));
  CHECK(names(support::error_of([&] { rt.sync(handle); }), "'x'")); // it cannot be had there
  double read = 0;
  auto const result = rt.data(read);
  rt.spawn()([](Vector v) { v[0] = 3; }, hs::write(handle));
  rt.spawn()([](Constant v, double& out) { out = v[0]; }, hs::read(handle), hs::write(result));
  rt.sync();
  CHECK(read == 3);
}

TEST_CASE("lost data: a sync in a body that throws has brought all else to host memory") {
  for (bool const lost : {false, true}) {
    hs::Runtime<> rt(config(lost ? "emu:1@64KB?lost=kernel@3" : "emu:1@64KB"));
    std::vector<double> a(length);
    auto const handle = rt.data(a);
    double value = 0;
    rt.spawn()(
        [&](hs::Runtime<>& in, hs::Handle<Vector> h) {
          std::vector<double> v(length);
          auto const own = in.data(v);
          in.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(own);
          in.sync(own);
          v[0] = lost ? 42 : 0;
          in.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(h);
          if (lost) {
            in.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(h);
          } else {
            in.spawn<Answer>(hs::SetArch(hs::ArchCUDA))(own);
            in.spawn<Refuse>(hs::SetArch(hs::ArchCUDA))(h);
          }
          CHECK(support::message_of([&] { in.sync(); }) != "");
          value = v[0];
          CHECK(support::message_of([&] { in.sync(); }) == "");
        },
        hs::read_write(handle));
    rt.sync();
    CHECK(value == 42);
  }
}

TEST_CASE("reductions: what a failed series contributed is dropped with it") {
  for (std::string const devices : {"none", "emu:1@64KB"}) {
    hs::Runtime<> rt(config(devices));
    double s = 0;
    auto const handle = rt.data(s);
    rt.spawn()([](double& mine) { mine += 5; }, hs::reduce<hs::Sum<double>>(handle));
    rt.spawn()([](double&) { throw std::runtime_error("told to"); },
               hs::reduce<hs::Sum<double>>(handle));
    CHECK_THROWS_WITH(rt.sync(), "told to");
    rt.spawn()([](double& v) { v = 0; }, hs::write(handle));
    rt.spawn()([](double& mine) { mine += 1; }, hs::reduce<hs::Sum<double>>(handle));
    rt.sync();
    CHECK(s == 1);
  }
}

TEST_CASE("reductions: what was contributed to a datum that is lost is dropped") {
  Machine machine;
  auto& rt = machine.rt;
  rt.spawn()([](Vector mine) { mine[0] += 5; }, hs::reduce<hs::Sum<double>>(machine.hx));
  rt.spawn()([](Vector y) { y[0] = 0; }, hs::write(machine.hy));
  CHECK(names(support::error_of([&] { rt.sync(); }), "'x'"));
  rt.spawn()([](Vector x) { x[0] = 0; }, hs::write(machine.hx));
  rt.spawn()([](Vector mine) { mine[0] += 1; }, hs::reduce<hs::Sum<double>>(machine.hx));
  rt.sync();
  CHECK(machine.x[0] == 1);
}

TEST_CASE("reductions: a contribution that is lost is told, with the datum's name") {
  std::vector<double> x(length);
  hs::Runtime<> rt(config("emu:1@64KB?lost=copy@2")); // the first copy brings neutral elements
  auto const handle = rt.data(x).named("x");
  rt.spawn<Count>(hs::SetArch(hs::ArchCUDA))(handle);
  CHECK(names(support::error_of([&] { rt.sync(); }), "a contribution to data 'x'"));
  CHECK(!support::error_of([&] { rt.sync(); }));
  rt.spawn()([](Vector v) { v[0] = 0; }, hs::write(handle));
  rt.spawn()([](Vector mine) { mine[0] += 1; }, hs::reduce<hs::Sum<double>>(handle));
  rt.sync();
  CHECK(x[0] == 1);
}

TEST_SUITE_END();

} // namespace lost_data_test
