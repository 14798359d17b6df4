// SPDX-License-Identifier: MIT
// Reuse indices from an earlier run of the same program.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/reuse_profile.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::ReuseProfile;
using support::contains;
using support::message_of;
using support::on_cpus;

namespace reuse_profile_test {

using Cell = hs::VectorView<int>;
using ConstCell = hs::VectorView<int const>;

struct Touch : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "Touch";

  static void cpu(Cell x) { ++x[0]; }
};

struct Pair : hs::Task<2>::Signature<hs::R<Cell>, hs::RW<Cell>> {
  static constexpr std::string_view name = "Pair";

  static void cpu(ConstCell from, Cell to) { to[0] += from[0]; }
};

struct Collect : hs::Task<2>::Signature<hs::R<hs::Each<Cell>>, hs::RW<Cell>> {
  static constexpr std::string_view name = "Collect";

  static void cpu(hs::Each<ConstCell> from, Cell to) {
    for (auto const one : from) {
      to[0] += one[0];
    }
  }
};

struct Contribute : hs::Task<1>::Signature<hs::CW<Cell, hs::Sum<int>>> {
  static constexpr std::string_view name = "Contribute";

  static void cpu(Cell x) { x[0] += 1; }
};

struct Look : hs::Task<1>::Signature<hs::R<Cell>> {
  static constexpr std::string_view name = "Look";

  static void cpu(ConstCell /*x*/) {}

  static void gpu(ConstCell /*x*/) {}
};

/// A file of this process that goes away with the object, and is not there at first.
class ProfileFile {
public:
  ProfileFile() {
    static int count = 0;
    path = (std::filesystem::temp_directory_path() /
            ("hetsched-reuse-" + std::to_string(::getpid()) + "-" + std::to_string(count++)))
               .string();
    std::filesystem::remove(path);
  }

  ProfileFile(ProfileFile const&) = delete;
  ProfileFile& operator=(ProfileFile const&) = delete;

  ~ProfileFile() { std::filesystem::remove(path); }

  void write(std::string_view text) const {
    hs::detail::TextWriter file(path);
    file << text;
    file.close();
  }

  [[nodiscard]] std::string text() const { return hs::detail::read_text_file(path); }

  [[nodiscard]] bool exists() const { return std::filesystem::exists(path); }

  std::string path;
};

/// Five vectors of two elements, and the last one's two parts.
struct Data {
  template <class Rt>
  explicit Data(Rt& rt) : last(make(rt)) {}

  std::array<std::array<int, 2>, 5> memory{};
  std::vector<hs::Handle<Cell>> x;
  hs::Partition<Cell> last;

  /// In the order of their registration.
  [[nodiscard]] std::vector<std::int32_t> indices() const {
    std::vector<std::int32_t> indices;
    for (auto const& handle : x) {
      indices.push_back(handle.record()->reuse);
    }
    indices.push_back(last[0].record()->reuse);
    indices.push_back(last[1].record()->reuse);
    return indices;
  }

private:
  template <class Rt>
  hs::Partition<Cell> make(Rt& rt) {
    for (auto& one : memory) {
      x.push_back(rt.data(one.data(), one.size()));
    }
    return rt.partition(x[4], hs::block_rows(1));
  }
};

/// What `program` uses, counted by hand.
constexpr std::string_view expected = "hetsched reuse 1\n"
                                      "data 7\n"
                                      "2 1 4 6\n"
                                      "2 1 4 3\n"
                                      "2 1 4 2\n"
                                      "2 1 4 2\n"
                                      "2 1 4 1\n"
                                      "1 1 4 1\n"
                                      "1 1 4 2\n";

/// Returns the indices that data had before the first task.
template <class Rt>
std::string program(Rt& rt) {
  Data data(rt);
  std::string indices;
  for (auto const index : data.indices()) {
    indices += std::to_string(index) + " ";
  }
  auto const& x = data.x;
  for (int k = 0; k < 3; ++k) {
    rt.template spawn<Touch>()(x[0]);
  }
  rt.template spawn<Pair>()(x[0], x[1]);
  rt.template spawn<Pair>(hs::reuse(9))(x[0], x[1]); // for this use only
  rt.template spawn<Pair>()(x[2], x[2]);             // one use
  std::vector const list{x[0], x[2], x[0]};
  rt.template spawn<Collect>()(std::span(list), x[1]);
  rt.template spawn<Contribute>()(x[3]);
  rt.template spawn<Contribute>()(x[3]); // its merge is none
  rt.template spawn<Touch>()(data.last[0]);
  rt.template spawn<Touch>()(data.last[1]);
  rt.template spawn<Touch>()(data.last[1]);
  data.last.join();
  rt.template spawn<Touch>()(x[4]);
  rt.sync();
  return indices;
}

hs::Simulation machine(std::string const& path) {
  auto config = simulated::joined(2, 0, hs::Simulation::Transfers::free);
  for (auto const* const name : {"Touch", "Pair", "Collect", "Contribute"}) {
    config.platform.kernels.push_back(simulated::kernel(name, 10, 10));
  }
  config.reuse_profile = path;
  return config;
}

hs::Config on_threads(std::string const& path) {
  auto config = on_cpus(3);
  config.reuse_profile = path;
  return config;
}

/// A task that spawns, and registers a datum of its own.
struct Parent : hs::Task<1>::Signature<hs::RW<Cell>> {
  static constexpr std::string_view name = "Parent";
};

} // namespace reuse_profile_test

template <>
struct hetsched::TaskBodyCPU<reuse_profile_test::Parent> {
  template <class Rt>
  void operator()(Rt& rt, Handle<reuse_profile_test::Cell> const& x) const {
    std::array<int, 2> own{};
    auto const h = rt.data(own.data(), own.size());
    rt.template spawn<reuse_profile_test::Pair>()(x, h);
    rt.template spawn<reuse_profile_test::Touch>()(x);
    rt.sync();
  }
};

namespace reuse_profile_test {

TEST_SUITE_BEGIN("reuse_profile");

TEST_CASE("reuse profile: a run counts the uses of each datum, the next has them as indices") {
  ProfileFile const file;
  auto const* const none = "0 0 0 0 0 0 0 ";
  auto const* const uses = "6 3 2 2 1 1 2 ";
  SUBCASE("on threads") {
    {
      hs::Runtime<> rt(on_threads(file.path));
      CHECK(program(rt) == none);
      CHECK_FALSE(file.exists());
    }
    CHECK(file.text() == expected);
    hs::Runtime<> rt(on_threads(file.path));
    CHECK_FALSE(rt.records());
    CHECK(program(rt) == uses);
  }
  SUBCASE("in virtual time") {
    {
      hs::SimulatedRuntime<> rt(machine(file.path));
      CHECK(program(rt) == none);
    }
    CHECK(file.text() == expected);
    hs::SimulatedRuntime<> rt(machine(file.path));
    CHECK_FALSE(rt.records());
    CHECK(program(rt) == uses);
  }
  SUBCASE("from one engine to the other") {
    {
      hs::SimulatedRuntime<> rt(machine(file.path));
      program(rt);
    }
    hs::Runtime<> rt(on_threads(file.path));
    CHECK(program(rt) == uses);
  }
  CHECK(file.text() == expected); // a run that uses it does not write it
}

TEST_CASE("reuse profile: tasks in bodies count, their own data do not") {
  ProfileFile const file;
  std::array<int, 2> memory{};
  auto const run = [&] {
    hs::Runtime<> rt(on_threads(file.path));
    auto const x = rt.data(memory.data(), memory.size());
    auto const index = x.record()->reuse;
    rt.spawn<Parent>()(x);
    rt.spawn<Parent>()(x);
    rt.sync();
    return index;
  };
  CHECK(run() == 0);
  CHECK(hs::read_reuse_profile(file.path) == ReuseProfile{{{2, 1, 4, 6}}});
  CHECK(run() == 6);
}

TEST_CASE("reuse profile: what the program says afterwards goes before it") {
  ProfileFile const file;
  file.write("hetsched reuse 1\ndata 1\n1 1 4 7\n");
  hs::Runtime<> rt(on_threads(file.path));
  int x = 0;
  auto h = rt.data(x);
  CHECK(h.record()->reuse == 7);
  h.reuse(3);
  CHECK(h.record()->reuse == 3);
}

TEST_CASE("reuse profile: indices have 32 bits") {
  ProfileFile const file;
  file.write("hetsched reuse 1\ndata 1\n1 1 4 18446744073709551615\n");
  hs::Runtime<> rt(on_threads(file.path));
  int x = 0;
  CHECK(rt.data(x).record()->reuse == INT32_MAX);
}

// One datum is read again after three others each time, and there is room for three.
TEST_CASE("reuse profile: with it the guided cache moves fewer bytes") {
  constexpr int rounds = 10;
  ProfileFile const file;
  auto const bytes = [&](std::string const& path) {
    auto config =
        simulated::with_memory(simulated::joined(0, 1, hs::Simulation::Transfers::model), 3 * 256);
    config.platform.kernels.push_back(simulated::kernel("Look", std::nullopt, 10));
    config.reuse_profile = path;
    hs::SimulatedRuntime<hs::policies::Eager<>, hs::policies::ReuseGuided> rt(config);
    std::vector<int> memory((1 + 3 * rounds) * simulated::array);
    auto const x = simulated::arrays(rt, memory);
    for (std::size_t k = 1; k < x.size(); k += 3) {
      rt.spawn<Look>()(x[0]);
      for (std::size_t other = k; other < k + 3; ++other) {
        rt.spawn<Look>()(x[other]);
      }
    }
    rt.sync();
    return rt.stats().devices[0].bytes_from_host;
  };
  auto const others = 3 * rounds * 100;
  CHECK(bytes("") == others + rounds * 100);
  CHECK(bytes(file.path) == others + rounds * 100); // the run that counts
  CHECK(hs::read_reuse_profile(file.path).data[0].uses == rounds);
  CHECK(hs::read_reuse_profile(file.path).data[1].uses == 1);
  CHECK(bytes(file.path) == others + 100);
}

TEST_CASE("reuse profile: another program's is refused in one line") {
  ProfileFile const file;
  file.write("hetsched reuse 1\ndata 2\n1 1 4 7\n3 1 8 5\n");
  auto const end = ": the profile is of another program; without the file a new one is made";
  int x = 0;
  std::array<double, 3> three{};
  std::array<double, 4> four{};
  {
    hs::Runtime<> rt(on_threads(file.path));
    CHECK(message_of([&] { (void)rt.data(four); }) ==
          "hetsched: " + file.path +
              ": datum 1 is 1 x 1 of 4 bytes there and 4 x 1 of 8 bytes here" + end);
    auto const h = rt.data(x);
    CHECK(message_of([&] { (void)rt.data(four); }) ==
          "hetsched: " + file.path +
              ": datum 2 is 3 x 1 of 8 bytes there and 4 x 1 of 8 bytes here" + end);
    auto const h3 = rt.data(three);
    CHECK(message_of([&] { (void)rt.data(four); }) ==
          "hetsched: " + file.path + ": has 2 data, and this program registers more" + end);
    CHECK(message_of([&] { (void)rt.partition(h3, hs::block_rows(1)); }) ==
          "hetsched: " + file.path + ": has 2 data, and this program registers more" + end);
    rt.spawn()([](int& value) { value = 1; }, hs::write(h)); // the runtime works on
    rt.sync();
    CHECK(x == 1);
  }
  auto const child = support::run_in_child([&] {
    hs::Runtime<> rt(on_threads(file.path));
    (void)rt.data(x);
    return 0;
  });
  CHECK(child.exit_code == 0);
  CHECK(child.errors ==
        "hetsched: " + file.path +
            ": has 2 data, and this program registered 1: the profile is of another "
            "program\n");
  auto const beside = support::run_in_child([&] {
    hs::Runtime<> const rt(on_threads(file.path)); // without data
    return 0;
  });
  CHECK(beside.errors.empty());
}

TEST_CASE("reuse profile: partitions that do not fit leave the whole usable") {
  ProfileFile const file;
  file.write("hetsched reuse 1\ndata 3\n4 1 4 1\n2 1 4 1\n1 1 4 1\n");
  hs::Runtime<> rt(on_threads(file.path));
  std::array<int, 4> memory{};
  auto const h = rt.data(memory.data(), memory.size());
  CHECK(
      contains(message_of([&] { (void)rt.partition(h, hs::block_rows(2)); }), "datum 3 is 1 x 1"));
  rt.spawn<Touch>()(h);
  rt.sync();
  CHECK(memory[0] == 1);
}

TEST_CASE("reuse profile: data that several threads register have no order") {
  ProfileFile const file;
  auto const run = [&] {
    hs::Runtime<> rt(on_threads(file.path));
    int x = 0;
    int y = 0;
    auto const h = rt.data(x);
    std::string message;
    std::thread([&] { message = message_of([&] { (void)rt.data(y); }); }).join();
    return message;
  };
  auto const child = support::run_in_child([&] { return run().empty() ? 0 : 1; });
  CHECK(child.exit_code == 0);
  CHECK(child.errors == "hetsched: " + file.path +
                            ": not written: several threads of the program registered data, and "
                            "their order may be another in each run\n");
  CHECK_FALSE(file.exists());
  file.write("hetsched reuse 1\ndata 2\n1 1 4 7\n1 1 4 5\n");
  CHECK(contains(message_of([&] {
                   hs::Runtime<> rt(on_threads(file.path));
                   int x = 0;
                   int y = 0;
                   auto const h = rt.data(x);
                   std::string message;
                   std::thread([&] { message = message_of([&] { (void)rt.data(y); }); }).join();
                   auto const h2 = rt.data(y);
                   throw std::runtime_error(message);
                 }),
                 "not used: several threads"));
}

TEST_CASE("reuse profile: damaged files are refused in one line, or read") {
  ProfileFile const file;
  auto const error = [&](std::string_view text) {
    file.write(text);
    auto const message = message_of([&] { (void)hs::read_reuse_profile(file.path); });
    auto const begin = "hetsched: " + file.path + ": ";
    CHECK(message.starts_with(begin));
    return message.substr(begin.size());
  };
  std::string const head = "hetsched reuse 1\n";
  CHECK(error("") == "line 1: this is no profile of reuse");
  CHECK(error("{}\n") == "line 1: this is no profile of reuse");
  CHECK(error(head) == "line 2: the number of data is missing");
  CHECK(error(head + "data x\n") == "line 2: a number is missing, or too large");
  CHECK(error(head + "data 1 \n1 1 1 1\n") == "line 2: there is text behind the number");
  CHECK(error(head + "data 1000000000000000000\n1 1 1 1\n") ==
        "line 2: the file is too short for 1000000000000000000 data");
  CHECK(error(head + "data 2\n1 1 1 100000000\n") ==
        "line 4: the file ends here; expected datum 2 of 2");
  CHECK(error(head + "data 1\n1 1 1 -1\n") == "line 3: a number is missing, or too large");
  CHECK(error(head + "data 1\n1 1 1\n    ") ==
        "line 3: rows, columns, bytes of an element and uses are expected");
  CHECK(error(head + "data 1\n1 1 1 99999999999999999999\n") ==
        "line 3: a number is missing, or too large");
  CHECK(error(head + "data 1\n1 1 1 10") == "line 3: the line has no end");
  CHECK(error(head + "data 1\n1 1 1 1\n\n") == "line 4: there is text behind the last datum");
  CHECK(contains(message_of([&] { hs::Runtime<> const rt(on_threads(file.path)); }), "line 4: "));
  CHECK(message_of([&] { (void)hs::read_reuse_profile("/nonexistent/uses"); }) ==
        "hetsched: /nonexistent/uses: cannot be read");
  CHECK(contains(message_of([&] { hs::Runtime<> const rt(on_threads("/nonexistent/uses")); }),
                 "/nonexistent/uses"));

  std::string const whole(expected);
  file.write(whole);
  hs::write_reuse_profile(hs::read_reuse_profile(file.path), file.path);
  CHECK(file.text() == whole);
  std::mt19937 random(1);
  int refused = 0;
  for (int k = 0; k < 2000; ++k) {
    auto damaged = whole;
    if (k % 10 == 0) {
      damaged.resize(random() % damaged.size());
    } else {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    try {
      auto const profile = hs::detail::ReuseReader(damaged, "FILE").read();
      CHECK(profile.data.size() == 7);
    } catch (hs::Error const& caught) {
      ++refused;
      CHECK(caught.code() == hs::ErrorCode::bad_input);
      CHECK(std::string_view(caught.what()).find('\n') == std::string_view::npos);
    }
  }
  CHECK(refused > 1000);
}

TEST_SUITE_END();

} // namespace reuse_profile_test
