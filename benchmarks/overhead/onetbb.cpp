// SPDX-License-Identifier: MIT
// oneTBB: task_group for tasks without data and for nested ones; a flow graph with explicit edges
// where there are dependencies. Making the graph is measured: the others infer it meanwhile.

#include "kernels.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <deque>
#include <memory>

namespace {

namespace tbb = oneapi::tbb;
using overhead::Number;

class Peer {
public:
  explicit Peer(overhead::Request const& request)
      : limit_(tbb::global_control::max_allowed_parallelism,
               static_cast<std::size_t>(request.workers)),
        arena_(request.workers) {}

  static std::string version() { return std::string("oneTBB ") + TBB_runtime_version(); }

  void independent(std::vector<Number>& numbers) {
    arena_.execute([&] {
      tbb::task_group group;
      for (auto& number : numbers) {
        group.run([x = &number] { ++x->value; });
      }
      group.wait();
    });
  }

  void chain(Number& number, std::size_t n) {
    arena_.execute([&] {
      Graph graph;
      Node* before = nullptr;
      for (std::size_t i = 0; i < n; ++i) {
        auto* const node = graph.add([x = &number] { ++x->value; });
        graph.edge(before, node);
        before = node;
      }
      graph.run();
    });
  }

  void cholesky_graph(std::vector<Number>& numbers, std::size_t t) {
    arena_.execute([&] {
      Graph graph;
      add_cholesky(graph, numbers, t);
      graph.run();
    });
  }

  void cholesky_again(std::vector<Number>& numbers, std::size_t t) {
    arena_.execute([&] {
      if (!kept_) {
        kept_ = std::make_unique<Graph>();
        add_cholesky(*kept_, numbers, t);
      }
      kept_->run();
    });
  }

  std::uint64_t fibonacci(int n) {
    std::uint64_t result = 0;
    arena_.execute([&] { result = nested(n); });
    return result;
  }

private:
  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

  class Graph {
  public:
    template <class Body>
    Node* add(Body&& body) {
      return &nodes_.emplace_back(graph_, [body](tbb::flow::continue_msg) { body(); });
    }

    void edge(Node* from, Node* to) {
      if (from == nullptr) {
        first_.push_back(to);
      } else {
        tbb::flow::make_edge(*from, *to);
      }
    }

    void run() {
      for (auto* node : first_) {
        node->try_put({});
      }
      graph_.wait_for_all();
    }

  private:
    tbb::flow::graph graph_;
    std::deque<Node> nodes_;
    std::vector<Node*> first_;
  };

  static void add_cholesky(Graph& graph, std::vector<Number>& numbers, std::size_t t) {
    std::vector<Node*> writer(t * t, nullptr); // the last task that wrote a tile
    auto const last = [&](std::size_t i, std::size_t j) -> Node*& { return writer[i * t + j]; };
    auto const task = [&](std::size_t i, std::size_t j, std::initializer_list<Node*> before) {
      auto* const node = graph.add([x = &numbers[i * t + j]] { ++x->value; });
      bool const root = last(i, j) == nullptr && before.size() == 0;
      if (root || last(i, j) != nullptr) {
        graph.edge(last(i, j), node);
      }
      for (auto* from : before) {
        graph.edge(from, node);
      }
      last(i, j) = node;
    };
    overhead::for_each_cholesky_task(
        t,
        [&](std::size_t k) { task(k, k, {}); },
        [&](std::size_t k, std::size_t i) { task(i, k, {last(k, k)}); },
        [&](std::size_t k, std::size_t j) { task(j, j, {last(j, k)}); },
        [&](std::size_t k, std::size_t i, std::size_t j) { task(i, j, {last(i, k), last(j, k)}); });
  }

  static std::uint64_t nested(int n) {
    if (n < 2) {
      return static_cast<std::uint64_t>(n);
    }
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    tbb::task_group group;
    group.run([&a, n] { a = nested(n - 1); });
    group.run([&b, n] { b = nested(n - 2); });
    group.wait();
    return a + b;
  }

  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::unique_ptr<Graph> kept_;
};

} // namespace

int main(int argc, char** argv) {
  return overhead::peer_main<Peer>(argc, argv);
}
