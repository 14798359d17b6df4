// SPDX-License-Identifier: MIT
// Super-tasks: whole on devices, in small tasks on cores.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>

#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::on_cpus;

namespace super_tasks_test {

using Block = hs::VectorView<std::int64_t>;
using ConstBlock = hs::VectorView<std::int64_t const>;

void add_to(Block c, ConstBlock a, ConstBlock b) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = 3 * c[i] + a[i] * b[i];
  }
}

/// For each block of a super-block: C = 3 C + L U, L and U of its row and column.
struct Update : hs::Task<4>::Signature<std::size_t,
                                       hs::R<hs::Each<Block>>,
                                       hs::R<hs::Each<Block>>,
                                       hs::RW<hs::Each<Block>>> {
  static void gpu(hs::GpuStream& stream,
                  std::size_t rows,
                  hs::Each<ConstBlock> left,
                  hs::Each<ConstBlock> upper,
                  hs::Each<Block> blocks) {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      auto const c = blocks[k];
      auto const a = left[k % rows];
      auto const b = upper[k / rows];
      REQUIRE(stream.run_emulated([=] { add_to(c, a, b); }));
    }
  }

  template <class Rt>
  static void cpu(Rt& rt,
                  std::size_t rows,
                  hs::Each<hs::Handle<Block>> left,
                  hs::Each<hs::Handle<Block>> upper,
                  hs::Each<hs::Handle<Block>> blocks) {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      rt.spawn()(
          add_to, hs::read_write(blocks[k]), hs::read(left[k % rows]), hs::read(upper[k / rows]));
    }
  }
};

/// `edge` x `edge` super-blocks of 3 x 2 blocks, and factors that change from one step to the next.
class Steps {
public:
  template <class Rt>
  void run(Rt& rt, int steps) {
    for (auto* const all : {&left_, &upper_, &blocks_}) {
      for (auto& block : *all) {
        handles_.push_back(rt.data(block));
      }
    }
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < edge; ++i) {
        for (std::size_t j = 0; j < edge; ++j) {
          rt.template spawn<Update>(hs::reuse(static_cast<std::int32_t>(i + j)))(
              rows,
              some(0, i * rows, rows),
              some(left_.size(), j * cols, cols),
              some(left_.size() + upper_.size(), (i + j * edge) * rows * cols, rows * cols));
        }
      }
      rt.spawn()(
          [](hs::Each<Block> all) {
            for (auto const v : all) {
              v[0] += 1;
            }
          },
          hs::read_write(some(0, 0, left_.size() + upper_.size())));
    }
    rt.sync();
    handles_.clear();
  }

  [[nodiscard]] std::vector<std::vector<std::int64_t>> const& blocks() const { return blocks_; }

private:
  static constexpr std::size_t edge = 4;
  static constexpr std::size_t rows = 3;
  static constexpr std::size_t cols = 2;
  using Values = std::vector<std::vector<std::int64_t>>;

  [[nodiscard]] static Values filled(std::size_t count) {
    Values values(count, std::vector<std::int64_t>(8));
    for (std::size_t k = 0; k < count; ++k) {
      values[k][k % 8] = static_cast<std::int64_t>(k) + 1;
    }
    return values;
  }

  [[nodiscard]] std::vector<hs::Handle<Block>>
  some(std::size_t from, std::size_t first, std::size_t count) const {
    auto const begin = handles_.begin() + static_cast<std::ptrdiff_t>(from + first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  Values left_ = filled(edge * rows);
  Values upper_ = filled(edge * cols);
  Values blocks_ = filled(edge * edge * rows * cols);
  std::vector<hs::Handle<Block>> handles_;
};

TEST_SUITE_BEGIN("devices");

TEST_CASE("super-tasks: on cores and devices the same as in order, however little memory") {
  Steps in_order;
  {
    auto config = on_cpus(1);
    config.devices = "none";
    hs::Runtime<> rt(config);
    in_order.run(rt, 6);
  }
  std::uint64_t on_devices = 0;
  auto const run = [&](int cpus, std::string const& devices, bool guided) {
    CAPTURE(cpus);
    CAPTURE(devices);
    CAPTURE(guided);
    auto config = on_cpus(cpus);
    config.devices = devices;
    using Scheduler = hs::policies::Multigrain<>;
    hs::Runtime<Scheduler, hs::policies::ReuseGuided> rt(config,
                                                         Scheduler::Config{.guided = guided});
    Steps steps;
    steps.run(rt, 6);
    CHECK(steps.blocks() == in_order.blocks());
    for (auto const& device : rt.stats().devices) {
      on_devices += device.misses;
    }
  };
  for (int const cpus : {1, 2}) {
    for (std::string const devices : {"none", "emu:1@3072", "emu:1@8192", "emu:2@4096"}) {
      run(cpus, devices, true);
      run(cpus, devices, false);
    }
  }
  for (int k = 0; on_devices == 0 && k < 500; ++k) { // on a busy machine cores may do it all
    run(1, "emu:1@8192", true);
  }
  CHECK(on_devices > 0);
}

TEST_SUITE_END();

} // namespace super_tasks_test
