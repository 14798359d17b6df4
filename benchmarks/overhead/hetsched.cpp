// SPDX-License-Identifier: MIT
// hetsched: data declared by typed signatures, dependencies inferred.

#include <hetsched/capture.hpp>
#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/qr.hpp>

#include "../../examples/common/measure.hpp"
#include "workload.hpp"

#include <optional>

namespace hs = hetsched;
using overhead::Number;

struct Touch : hs::Task<1>::Signature<Number*> {};

struct Update : hs::Task<1>::Signature<hs::RW<Number>> {};

struct Trsm : hs::Task<2>::Signature<hs::R<Number>, hs::RW<Number>> {};

struct Gemm : hs::Task<3>::Signature<hs::R<Number>, hs::R<Number>, hs::RW<Number>> {};

struct Fibonacci : hs::Task<2>::Signature<int, std::uint64_t*> {};

template <>
struct hetsched::TaskBodyCPU<Touch> {
  void operator()(Number* x) const { ++x->value; }
};

template <>
struct hetsched::TaskBodyCPU<Update> {
  void operator()(Number& x) const { ++x.value; }
};

template <>
struct hetsched::TaskBodyCPU<Trsm> {
  void operator()(Number const& /*l*/, Number& x) const { ++x.value; }
};

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(Number const& /*l*/, Number const& /*r*/, Number& x) const { ++x.value; }
};

template <>
struct hetsched::TaskBodyCPU<Fibonacci> {
  template <class Rt>
  void operator()(Rt& rt, int n, std::uint64_t* result) const {
    if (n < 2) {
      *result = static_cast<std::uint64_t>(n);
      return;
    }
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    rt.template spawn<Fibonacci>()(n - 1, &a);
    rt.template spawn<Fibonacci>()(n - 2, &b);
    rt.sync();
    *result = a + b;
  }
};

namespace {

hs::Coroutine<std::uint64_t> call(int n) {
  if (n < 2) {
    co_return static_cast<std::uint64_t>(n);
  }
  auto const [a, b] = co_await hs::when_all(call(n - 1), call(n - 2));
  co_return a + b;
}

template <class Scheduler>
class Peer {
public:
  explicit Peer(overhead::Request const& request) : rt_(config(request)) {}

  static std::string version() { return "hetsched " HETSCHED_VERSION; }

  void independent(std::vector<Number>& numbers) {
    for (auto& number : numbers) {
      rt_.template spawn<Touch>()(&number);
    }
    rt_.sync();
  }

  void independent_data(std::vector<Number>& numbers) {
    auto const& data = handles(numbers.data(), numbers.size());
    for (auto const& datum : data) {
      rt_.template spawn<Update>()(datum);
    }
    rt_.sync();
  }

  void chain(Number& number, std::size_t n) {
    auto const& datum = handles(&number, 1)[0];
    for (std::size_t i = 0; i < n; ++i) {
      rt_.template spawn<Update>()(datum);
    }
    rt_.sync();
  }

  void cholesky_graph(std::vector<Number>& numbers, std::size_t t) {
    spawn_cholesky(numbers, t);
    rt_.sync();
  }

  void cholesky_again(std::vector<Number>& numbers, std::size_t t) {
    if (!graph_) {
      (void)handles(numbers.data(), numbers.size()); // no capture registers data
      graph_ = rt_.capture([&] { spawn_cholesky(numbers, t); });
    }
    rt_.run(*graph_);
  }

  std::uint64_t fibonacci(int n) {
    std::uint64_t result = 0;
    rt_.template spawn<Fibonacci>()(n, &result);
    rt_.sync();
    return result;
  }

  std::uint64_t fork_join(int n) { return rt_.async(call, n).get(); }

  void cholesky(overhead::Matrix& a, std::size_t tile) {
    with("cholesky", a, tile, [this](auto&& spawns) { this->run(spawns); });
  }

  std::vector<std::size_t> lu(overhead::Matrix& a, std::size_t tile) {
    with("lu", a, tile, [this](auto&& spawns) { this->run(spawns); });
    return pivots_;
  }

  void qr(overhead::Matrix& a, std::size_t tile) {
    with("qr", a, tile, [this](auto&& spawns) { this->run(spawns); });
  }

  /// The bound from the mean kernel times of the last round, all workers busy, and the GEMM rate.
  void report(std::string_view algorithm, overhead::Matrix& a, std::size_t tile) {
    auto const workers = static_cast<int>(rt_.workers().size());
    with(algorithm, a, tile, [&](auto&& spawns) {
      auto const captured = rt_.capture(spawns);
      auto const& graph = captured.tasks();
      auto const durations = hs::mean_durations(graph, stats_.types);
      std::printf("bound %.9g\n", hs::makespan_bound(graph, durations, workers).seconds());
    });
    example::Options options;
    options.cpus = workers;
    std::printf("gemm_rate %.9g\n", example::gemm_rate<hs::Runtime<>>(options, tile));
  }

private:
  /// Calls use(spawns), where spawns() spawns the tasks of an algorithm on `a`.
  template <class Use>
  void with(std::string_view algorithm, overhead::Matrix& a, std::size_t tile, Use&& use) {
    if (algorithm == "lu") {
      hs::linalg::ColumnBlocks const columns(rt_, a, tile);
      hs::linalg::Pivots const pivots(rt_, columns);
      use([&] { hs::linalg::lu(rt_, columns, pivots); });
      pivots_.resize(pivots.size());
      for (std::size_t k = 0; k < pivots.size(); ++k) {
        pivots_[k] = pivots[k];
      }
    } else {
      hs::linalg::TiledMatrix const tiles(rt_, a, tile);
      if (algorithm == "qr") {
        hs::linalg::Reflections<double> const q(rt_, tiles);
        use([&] { hs::linalg::qr(rt_, tiles, q); });
      } else {
        use([&] { hs::linalg::cholesky(rt_, tiles); });
      }
    }
  }

  void spawn_cholesky(std::vector<Number>& numbers, std::size_t t) {
    auto const& data = handles(numbers.data(), numbers.size());
    auto const a = [&](std::size_t i, std::size_t j) -> auto& { return data[i * t + j]; };
    overhead::for_each_cholesky_task(
        t,
        [&](std::size_t k) { rt_.template spawn<Update>()(a(k, k)); },
        [&](std::size_t k, std::size_t i) { rt_.template spawn<Trsm>()(a(k, k), a(i, k)); },
        [&](std::size_t k, std::size_t j) { rt_.template spawn<Trsm>()(a(j, k), a(j, j)); },
        [&](std::size_t k, std::size_t i, std::size_t j) {
          rt_.template spawn<Gemm>()(a(i, k), a(j, k), a(i, j));
        });
  }

  template <class F>
  void run(F&& spawns) {
    rt_.reset_stats();
    spawns();
    rt_.sync();
    stats_ = rt_.stats(); // a few microseconds
  }

  static hs::Config config(overhead::Request const& request) {
    hs::Config config;
    config.cpus = request.workers;
    config.timing = request.graph == "cholesky" || request.graph == "lu" || request.graph == "qr";
    return config;
  }

  std::vector<hs::Handle<Number>> const& handles(Number* first, std::size_t count) {
    while (handles_.size() < count) {
      handles_.push_back(rt_.data(first[handles_.size()]));
    }
    return handles_;
  }

  hs::Runtime<Scheduler> rt_;
  std::vector<hs::Handle<Number>> handles_;
  std::optional<hs::CapturedGraph> graph_;
  hs::Stats stats_;
  std::vector<std::size_t> pivots_;
};

} // namespace

int main(int argc, char** argv) {
  int status = 2;
  std::string_view const wanted = argc == 7 ? argv[6] : "ws";
  if (example::for_each_scheduler(wanted, [&]<class S>(example::Named<S>) {
        status = overhead::peer_main<Peer<S>>(argc, argv);
      }) == 0) {
    std::fprintf(stderr, "%s: no scheduler '%s'\n", argv[0], argv[6]);
  }
  return status;
}
