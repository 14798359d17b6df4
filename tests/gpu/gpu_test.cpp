// SPDX-License-Identifier: MIT
// Programs on emulated devices: where data are, statistics, errors.

#include <hetsched/capture.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/least_used_future.hpp>
#include <hetsched/policies/caches/next_use.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace gpu_test {

using Vector = hs::VectorView<double>;

struct Increment : hs::Task<1>::Signature<hs::RW<Vector>> {};

struct CountDown : hs::Task<1>::Signature<hs::RW<double>> {};

struct Set : hs::Task<2>::Signature<double, hs::W<Vector>> {};

struct Look : hs::Task<1>::Signature<hs::R<Vector>> {};

struct InOrder : hs::Task<2>::Signature<hs::RW<Vector>, hs::R<Vector>> {};

/// On cores, too.
struct Anywhere : hs::Task<1>::Signature<hs::RW<Vector>> {
  static constexpr std::string_view name = "anywhere";
};

/// Tasks take 40 on a core and 10 on a device. `Increment`, which has no name, takes 20 on a
/// device.
struct Timed {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const& task,
                                                      hs::Arch arch) const {
    auto const on_device = task.type == "anywhere" ? 10 : 20;
    return hs::Prediction{{arch == hs::ArchHost ? 40 : on_device}, {}, 1};
  }

  void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] hs::Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

/// Keeps the graph that `prepare` gets.
struct Preparing : hs::policies::Eager<> {
  static inline std::vector<int> priorities;

  void prepare(hs::placement_context auto const&, hs::TaskGraph const& graph) {
    priorities.clear();
    for (auto const& node : graph.nodes()) {
      priorities.push_back(node.priority);
    }
  }
};

/// Foretells a use of what the last task of priority 1 used.
struct Foretelling : hs::policies::Eager<> {
  static inline std::atomic<std::uint64_t> kept{0};

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    auto const view = ctx.task(task);
    if (view.priority == 1) {
      kept = view.argument(0).data;
    }
    return Eager::push(ctx, task, worker);
  }

  [[nodiscard]] hs::FutureUses future_uses(std::uint64_t data, hs::NodeId node) const {
    return {data == kept && node == hs::NodeId{1} ? 1U : 0U, 0};
  }
};

struct SpawnInside : hs::Task<2>::Signature<void*, hs::R<Vector>> {};

} // namespace gpu_test

template <>
struct hetsched::TaskBodyGPU<gpu_test::CountDown> {
  void operator()(hs::GpuStream& stream, double& left) const {
    REQUIRE(stream.run_emulated([&left] { left -= 1; }));
  }
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::Increment> {
  void operator()(hs::GpuStream& stream, gpu_test::Vector x) const {
    REQUIRE(stream.run_emulated([x] {
      for (auto& value : x) {
        value += 1;
      }
    }));
  }
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::Anywhere> : hetsched::TaskBodyGPU<gpu_test::Increment> {};

template <>
struct hetsched::TaskBodyCPU<gpu_test::Anywhere> {
  void operator()(gpu_test::Vector x) const {
    for (auto& value : x) {
      value += 1;
    }
  }
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::Set> {
  void operator()(hs::GpuStream& stream, double value, gpu_test::Vector x) const {
    REQUIRE(stream.run_emulated([x, value] { std::fill(x.begin(), x.end(), value); }));
  }
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::Look> {
  void operator()(hs::VectorView<double const>) const {}
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::InOrder> {
  void operator()(gpu_test::Vector, hs::VectorView<double const>) const {}
};

template <>
struct hetsched::TaskBodyGPU<gpu_test::SpawnInside> {
  void operator()(void* runtime, hs::VectorView<double const>) const {
    static_cast<hs::Runtime<>*>(runtime)->spawn()([] {});
  }
};

namespace gpu_test {

hs::Config with(std::string devices, int window = 4) {
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = std::move(devices);
  config.window = window;
  return config;
}

constexpr hs::NodeId first_device{1};
constexpr std::size_t n = 128; // elements: one kilobyte

std::string message_of(auto&& call) {
  try {
    call();
  } catch (hs::Error const& error) {
    return error.what();
  }
  return "";
}

TEST_SUITE_BEGIN("gpu");

TEST_CASE("gpu: sync brings data home and takes them, wait leaves them") {
  std::vector<double> x(n, 1);
  hs::Runtime<> rt(with("emu@16MB"));
  auto h = rt.data(x);
  rt.spawn<Increment>()(h);
  rt.wait();
  CHECK(rt.stats().devices[0].bytes_to_host == 0);
  rt.spawn<Increment>()(h);
  rt.sync();
  CHECK(x[0] == 3);
  CHECK(rt.stats().devices[0].bytes_from_host == 1024);
  CHECK(rt.stats().devices[0].bytes_to_host == 1024);
  x[0] = 10; // the host may write after a sync
  rt.spawn<Increment>()(h);
  rt.sync(h);

  CHECK(x[0] == 11);
  CHECK(x[1] == 4);
}

TEST_CASE("gpu: data that may only be read stay on the device") {
  std::vector<double> const x(n, 1);
  hs::Runtime<> rt(with("emu@16MB"));
  auto h = rt.data(x);
  for (int k = 0; k < 3; ++k) {
    rt.spawn<Look>()(h);
    rt.sync();
  }
  CHECK(rt.stats().devices[0].bytes_from_host == 1024);
}

TEST_CASE("gpu: the last handle brings its data home") {
  std::vector<double> x(n, 1);
  hs::Runtime<> rt(with("emu@16MB"));
  {
    auto h = rt.data(x);
    rt.spawn<Increment>()(h);
    rt.wait();
  }
  CHECK(x[n - 1] == 2);
}

TEST_CASE("gpu: so does the end of the runtime") {
  std::vector<double> x(n, 1);
  hs::Handle<Vector> h;
  {
    hs::Runtime<> rt(with("emu@16MB"));
    h = rt.data(x);
    rt.spawn<Increment>()(h);
  }
  CHECK(x[0] == 2);
}

TEST_CASE("gpu: hints move data and nothing else") {
  std::vector<double> x(n, 1), y(n, 1), z(n, 1);
  hs::Runtime<> rt(with("emu:1@2KB"));
  auto hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
  auto const counted = [&] { return rt.stats().devices[0]; };
  rt.pin(hx, first_device);
  rt.wait();
  CHECK(counted().misses == 1);
  rt.prefetch(hy, first_device);
  rt.wait();
  rt.spawn<Look>()(hy);
  rt.wait();
  CHECK(counted().hits == 1);
  rt.spawn<Look>()(hz); // hx is pinned: hy leaves
  rt.wait();
  rt.spawn<Look>()(hx);
  rt.wait();
  CHECK(counted().hits == 2);
  CHECK(counted().evictions_clean == 1);
  rt.unpin(hx, first_device);
  rt.wait();
  rt.evict(hx, first_device);
  rt.wait();
  rt.spawn<Look>()(hx);
  rt.wait();
  CHECK(counted().hits == 2);
  CHECK(counted().bytes_to_host == 0);
  CHECK(rt.stats().executed == 4 + 2); // unpin and evict are tasks
  CHECK(message_of([&] { rt.pin(hx, hs::NodeId{2}); }).find("memory node 2") != std::string::npos);
}

TEST_CASE("gpu: the cache learns what the scheduler foretells") {
  for (bool const foretold : {false, true}) {
    std::vector<double> x(n, 1), y(n, 1), z(n, 1);
    Foretelling::kept = 0;
    hs::Runtime<Foretelling, hs::policies::LeastUsedFuture> rt(with("emu:1@2KB"));
    auto hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.spawn<Look>(hs::priority(foretold ? 1 : 0))(hx);
    rt.wait();
    for (auto const& h : {hy, hz, hx}) { // z takes the place of x or y
      rt.spawn<Look>()(h);
      rt.wait();
    }
    CHECK(rt.stats().devices[0].hits == (foretold ? 1 : 0));
  }
}

TEST_CASE("gpu: what is invalidated is not brought home") {
  std::vector<double> x(n, 1);
  hs::Runtime<> rt(with("emu@16MB"));
  auto h = rt.data(x);
  rt.spawn<Increment>()(h);
  rt.invalidate(h);
  rt.spawn<Set>()(5.0, h);
  rt.sync();

  CHECK(x[0] == 5);
  CHECK(rt.stats().devices[0].bytes_to_host == 1024);
  CHECK(rt.stats().devices[0].bytes_from_host == 1024);
}

TEST_CASE("gpu: a task that can never fit is refused at once, by name") {
  std::vector<double> x(3 * n);
  hs::Runtime<> rt(with("emu:1@2KB"));
  auto h = rt.data(x);
  auto const message = message_of([&] { rt.spawn<Look>()(h); });
  CHECK(message.find("Look") != std::string::npos);
  CHECK(message.find("emulated device 0") != std::string::npos);
  CHECK(message.find("1024 bytes") != std::string::npos);
  rt.sync();
}

TEST_CASE("gpu: pins can leave too little, and that is told") {
  std::vector<double> x(n), y(2 * n);
  hs::Runtime<> rt(with("emu:1@2KB"));
  auto hx = rt.data(x), hy = rt.data(y);
  rt.pin(hx, first_device);
  rt.wait();
  rt.spawn<Look>()(hy);
  auto const message = message_of([&] { rt.sync(); });
  CHECK(message.find("Look") != std::string::npos);
  CHECK(message.find("1024 bytes are missing") != std::string::npos);
}

TEST_CASE("gpu: a GPU body spawns nothing") {
  std::vector<double> x(n);
  hs::Runtime<> rt(with("emu@16MB"));
  auto h = rt.data(x);
  rt.spawn<SpawnInside>()(static_cast<void*>(&rt), h);
  CHECK(message_of([&] { rt.sync(); }).find("inside a GPU body") != std::string::npos);
}

TEST_CASE("gpu: a list of devices that cannot be read is refused, by entry") {
  for (std::string const list : {"emu:x",
                                 "emu:2@",
                                 "emu@12Q",
                                 "gpu",
                                 "cuda:0,0",
                                 "emu:1;",
                                 "emu:99",
                                 "emu:62;emu",
                                 "emu:1@1KB?slow=no"}) {
    auto const message = message_of([&] { hs::Runtime<> rt(with(list)); });
    CAPTURE(list);
    CAPTURE(message);
    CHECK(message.size() > 20);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("gpu: the devices are workers and memory nodes of their own") {
  hs::Runtime<> rt(with("emu:2@64KB"));
  CHECK(rt.workers().size() == 3);
  CHECK(rt.workers()[2].arch == hs::ArchCUDA);
  CHECK(rt.workers()[2].node == hs::NodeId{2});
  CHECK(rt.nodes().size() == 3);
  CHECK(rt.nodes()[1].capacity_bytes == 64 * 1024);
  CHECK(rt.stats().devices[1].name.find("emulated") != std::string::npos);
  hs::Runtime<> odd(with("emu:1@1000"));
  CHECK(odd.nodes()[1].capacity_bytes == 768); // a multiple of 256
}

// Belady 1966: for a known sequence of uses, evicting the datum whose next use is farthest away
// gives the fewest misses.
TEST_CASE("gpu: NextUse misses as often as the optimum does") {
  constexpr std::size_t data_count = 9;
  constexpr std::size_t places = 4;
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::size_t> uses(60);
    for (auto& use : uses) {
      use = random() % data_count;
    }
    std::set<std::size_t> held;
    std::uint64_t misses = 0;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      if (held.contains(uses[k])) {
        continue;
      }
      ++misses;
      if (held.size() == places) {
        auto farthest = *held.begin();
        std::size_t when = 0;
        for (auto const datum : held) {
          auto next = k;
          while (next < uses.size() && uses[next] != datum) {
            ++next;
          }
          if (next > when) {
            when = next;
            farthest = datum;
          }
        }
        held.erase(farthest);
      }
      held.insert(uses[k]);
    }
    std::vector<std::vector<double>> data(data_count, std::vector<double>(n));
    std::vector<double> order(n);
    hs::Runtime<hs::policies::Eager<>, hs::policies::NextUse> rt(
        with("emu:1@" + std::to_string(places + 1) + "KB", 1));
    std::vector<hs::Handle<Vector>> handles;
    for (auto& datum : data) {
      handles.push_back(rt.data(datum));
    }
    // One chain, so tasks run in the order in which they are spawned. It begins on worker 0, which
    // works in sync only, so all tasks are known before the first one runs.
    auto chain = rt.data(order);
    rt.spawn(hs::SetArch(hs::ArchHost))([](auto&&) {}, hs::write(chain));
    for (auto const use : uses) {
      rt.spawn<InOrder>()(chain, handles[use]);
    }
    rt.sync();
    CHECK(rt.stats().devices[0].misses == misses + 1); // the chain's own datum misses, too
  }
}

//                              min    avg
//   0: Anywhere x --> 1          20 10  40 20    a core (40) and two devices (10)
//   2: Increment y, on devices   20     20
//   3: Anywhere z, too large     40     40       for a device: it is for the core
TEST_CASE("gpu: priorities count the classes that may run a task") {
  using hs::Priorities;
  std::vector<double> x(n), y(n), z(4 * n);
  for (auto const& [how, expected] :
       {std::pair(Priorities::bottom_min, std::vector<int>{1, 0, 1, 2}),
        std::pair(Priorities::bottom_avg, std::vector<int>{1, 0, 0, 1})}) {
    auto config = with("emu:2@2KB");
    config.priorities = how;
    hs::Runtime<Preparing, hs::policies::Lru, Timed> rt(config);
    auto hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
    rt.run(rt.capture([&] {
      rt.spawn<Anywhere>()(hx);
      rt.spawn<Anywhere>()(hx);
      rt.spawn<Increment>()(hy);
      rt.spawn<Anywhere>()(hz);
    }));
    CHECK(Preparing::priorities == expected);
    CHECK(z[0] == (how == Priorities::bottom_min ? 1 : 2));
  }
}

TEST_CASE("gpu: captured graphs run again with devices, and a condition's datum is brought home") {
  std::vector<double> x(n, 0);
  double steps = 0;
  hs::Runtime<> rt(with("emu:1"));
  auto const hx = rt.data(x);
  auto const hsteps = rt.data(steps);
  auto const graph = rt.capture([&] {
    rt.spawn()([](double& left) { left = 3; }, hs::write(hsteps));
    rt.spawn_while(hsteps, [&] {
      rt.spawn<Increment>()(hx);
      rt.spawn<CountDown>()(hsteps); // on the device
    });
    rt.spawn_if(hsteps, [&] { rt.spawn<Increment>()(hx); });
  });
  for (int run = 1; run <= 3; ++run) {
    rt.run(graph);
    CHECK(x[0] == 3 * run);
    CHECK(steps == 0);
  }
}

} // namespace gpu_test
