// SPDX-License-Identifier: MIT
// Bodies that attract each other, in steps of time. A task for each block of bodies reads all
// positions of one step and writes its block of the next; two arrays take turns. The program spawns
// all steps at once and waits at the end.
//
// Expected output:
//   after 20 steps the centre has moved by less than 1e-9: yes

#include <hetsched/hetsched.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace hs = hetsched;

struct Body { // data of one's own: any type that can be copied
  double x, y, vx, vy;
};

using Bodies = hs::VectorView<Body>;

struct Step : hs::Task<3>::Signature<std::size_t, hs::R<Bodies>, hs::W<Bodies>> {
  static void cpu(std::size_t first, hs::VectorView<Body const> now, Bodies next) {
    double const dt = 1e-3;
    for (std::size_t k = 0; k < next.size(); ++k) {
      auto body = now[first + k];
      double ax = 0;
      double ay = 0;
      for (auto const& other : now) {
        auto const dx = other.x - body.x;
        auto const dy = other.y - body.y;
        auto const r2 = dx * dx + dy * dy + 1e-2;
        auto const pull = 1 / (r2 * std::sqrt(r2));
        ax += dx * pull;
        ay += dy * pull;
      }
      body.vx += dt * ax;
      body.vy += dt * ay;
      body.x += dt * body.vx;
      body.y += dt * body.vy;
      next[k] = body;
    }
  }
};

double centre(std::vector<Body> const& bodies) {
  double sum = 0;
  for (auto const& body : bodies) {
    sum += body.x + body.y;
  }
  return sum / static_cast<double>(bodies.size());
}

int main() {
  std::array<std::vector<Body>, 2> bodies;
  bodies[0].resize(400);
  bodies[1].resize(400);
  for (std::size_t k = 0; k < bodies[0].size(); ++k) {
    auto const angle = 0.7 * static_cast<double>(k);
    auto const radius = 1 + 0.01 * static_cast<double>(k);
    bodies[0][k] = {radius * std::cos(angle), radius * std::sin(angle), 0, 0};
  }
  auto const before = centre(bodies[0]);

  hs::Runtime<> rt;
  std::array const handles{rt.data(bodies[0]), rt.data(bodies[1])};
  std::size_t const block = 50;
  for (std::size_t step = 0; step < 20; ++step) {
    auto const blocks = rt.partition(handles[(step + 1) % 2], hs::block_rows(block));
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      rt.spawn<Step>()(k * block, handles[step % 2], blocks[k]);
    }
  }
  rt.sync();
  bool const still = std::abs(centre(bodies[0]) - before) < 1e-9; // forces cancel out
  std::printf("after 20 steps the centre has moved by less than 1e-9: %s\n", still ? "yes" : "no");
}
