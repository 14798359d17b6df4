// SPDX-License-Identifier: MIT
// Checkpoints of programs on several ranks: what is restored, and what stays if one cannot be made.

#include <hetsched/cluster/checkpoint.hpp>

#include "cluster/distributed_program.hpp"
#include "cluster/on_ranks.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace checkpoint_test {

using Runtime = distributed_program::RuntimeOn<hs::LoopbackTransport>;

/// A folder that goes with this.
struct Folder {
  std::string path = "/tmp/hetsched_checkpoint_XXXXXX";

  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }

  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  ~Folder() {
    auto const remove = "rm -r " + path;
    [[maybe_unused]] auto const status = std::system(remove.c_str());
  }

  [[nodiscard]] std::string file(char const* name) const { return path + "/" + name; }

  [[nodiscard]] bool has(char const* name) const { return access(file(name).c_str(), F_OK) == 0; }
};

template <class F>
std::vector<std::string> on_ranks(int ranks, F const& f) {
  hs::LoopbackNetwork net(ranks);
  return ::on_ranks::run<Runtime>(net, f);
}

struct Step : hs::Task<2>::Signature<hs::R<hs::TileView<double>>, hs::RW<hs::TileView<double>>> {
  static constexpr std::string_view name = "step";

  static void cpu(hs::TileView<double const> x, hs::TileView<double> y) {
    for (std::size_t j = 0; j < y.cols(); ++j) {
      for (std::size_t i = 0; i < y.rows(); ++i) {
        y(i, j) += x(i % x.rows(), j % x.cols()) + 1;
      }
    }
  }
};

struct Next : hs::Task<1>::Signature<hs::RW<int>> {
  static void cpu(int& step) { ++step; }
};

struct AddUp : hs::Task<2>::Signature<hs::R<hs::TileView<double>>, hs::RW<double>> {
  static void cpu(hs::TileView<double const> x, double& sum) {
    for (std::size_t j = 0; j < x.cols(); ++j) {
      for (std::size_t i = 0; i < x.rows(); ++i) {
        sum = 3 * sum + x(i, j);
      }
    }
  }
};

/// A program of ten steps on tiles with columns apart. It saves after step 5, or begins there.
double run(Runtime& rt, std::string const& path, bool restores, std::size_t tiles = 6) {
  std::vector<std::vector<double>> memory;
  std::vector<hs::DistributedHandle<hs::TileView<double>>> data;
  for (std::size_t t = 0; t < tiles; ++t) {
    memory.emplace_back(5 * 4, static_cast<double>(t));
    auto const home = static_cast<int>(t * 7) % rt.ranks();
    data.push_back(rt.data(home, memory.back().data(), 3 + t % 2, 4, 5));
  }
  int step = 0;
  auto const h_step = rt.data(rt.ranks() - 1, step);
  if (restores) {
    rt.restore(path);
  }
  while (rt.value(h_step) < 10) {
    for (std::size_t t = 0; t < tiles; ++t) {
      rt.spawn<Step>()(data[t], data[(t + 1) % tiles]);
    }
    rt.spawn<Next>()(h_step);
    if (!restores && rt.value(h_step) == 5) {
      rt.checkpoint(path);
    }
  }
  double sum = 0;
  auto const h_sum = rt.data(0, sum);
  for (auto const& tile : data) {
    rt.spawn<AddUp>()(tile, h_sum);
  }
  return rt.value(h_sum);
}

bool all(std::vector<std::string> const& thrown, char const* words) {
  for (auto const& what : thrown) {
    if (what.find(words) == std::string::npos) {
      MESSAGE(what);
      return false;
    }
  }
  return true;
}

TEST_CASE("checkpoint: a program goes on from one on another number of ranks") {
  Folder const folder;
  auto const path = folder.file("state");
  std::mutex mutex;
  std::vector<double> sums;
  for (int ranks : {3, 1, 2, 5}) {
    auto const thrown = on_ranks(ranks, [&](Runtime& rt) {
      auto const sum = run(rt, path, ranks != 3);
      std::lock_guard const guard(mutex);
      sums.push_back(sum);
    });
    CHECK(thrown == std::vector<std::string>(static_cast<std::size_t>(ranks)));
  }
  REQUIRE(sums.size() == 11);
  CHECK(sums == std::vector<double>(11, sums[0]));
}

TEST_CASE("checkpoint: the old one stays while the new one cannot be written, and goes after it") {
  Folder const folder;
  auto const path = folder.file("state");
  auto const save = [&](double value, std::size_t size) {
    return on_ranks(2, [&](Runtime& rt) {
      std::vector<double> x(size, value);
      auto const hx = rt.data(1, x.data(), size);
      rt.checkpoint(path);
    });
  };
  auto const load = [&](std::size_t size) {
    double seen = -1;
    auto const thrown = on_ranks(2, [&](Runtime& rt) {
      std::vector<double> x(size);
      auto const hx = rt.data(0, x.data(), size);
      rt.restore(path);
      if (rt.rank() == 0) {
        seen = x[size - 1];
      }
    });
    CHECK(thrown == std::vector<std::string>(2));
    return seen;
  };
  CHECK(save(1, 1000) == std::vector<std::string>(2));
  CHECK(load(1000) == 1);
  {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto const small = rlimit{4096, before.rlim_max};
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    auto const thrown = save(2, 1000); // as with a full disk
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK_MESSAGE(thrown[1].find("cannot be written") != std::string::npos, thrown[1]);
    CHECK_MESSAGE(thrown[0].find("rank 1: checkpoint failed there: ") != std::string::npos,
                  thrown[0]);
  }
  CHECK(load(1000) == 1);
  CHECK(folder.has("state.a.0"));
  CHECK_FALSE(folder.has("state.b.1"));
  CHECK(save(3, 1000) == std::vector<std::string>(2));
  CHECK(load(1000) == 3);
  CHECK(folder.has("state.b.1"));
  CHECK_FALSE(folder.has("state.a.0"));
  CHECK_FALSE(folder.has("state.a.1"));
}

TEST_CASE("checkpoint: what does not fit is refused on all ranks") {
  Folder const folder;
  auto const path = folder.file("state");
  auto const restore = [&](std::string const& from, std::size_t rows, int more) {
    return on_ranks(2, [&](Runtime& rt) {
      std::vector<double> x(100);
      auto const hx = rt.data(1, x.data(), rows, 2, rows);
      double y = 0;
      hs::DistributedHandle<double> hy;
      if (more != 0) {
        hy = rt.data(0, y);
      }
      rt.restore(from);
    });
  };
  CHECK(all(restore(path, 5, 0), "No such file or directory"));
  CHECK(on_ranks(3, [&](Runtime& rt) {
          std::vector<double> x(10, 4);
          auto const hx = rt.data(1, x.data(), 5, 2, 5);
          rt.checkpoint(path);
        }) == std::vector<std::string>(3));
  CHECK(all(restore(path, 5, 0), ""));
  CHECK(
      all(restore(path, 6, 0), "datum 0 is 5 x 2 elements of 8 bytes there, and 6 x 2 of 8 here"));
  CHECK(all(restore(path, 5, 1), "was made when 1 data were registered, and there are 2"));
  auto const part = folder.file("state.a.1");
  struct stat known{};
  REQUIRE(stat(part.c_str(), &known) == 0);
  {
    std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.put('!');
  }
  CHECK(all(restore(path, 5, 0), "datum 0 is damaged"));
  REQUIRE(truncate(part.c_str(), known.st_size - 50) == 0);
  CHECK(all(restore(path, 5, 0), "ends too early"));
  REQUIRE(unlink(part.c_str()) == 0);
  CHECK(all(restore(path, 5, 0), "No such file or directory"));
  std::ofstream(path) << "something else\n";
  CHECK(all(restore(path, 5, 0), "is no checkpoint"));
}

} // namespace checkpoint_test
