// SPDX-License-Identifier: MIT
// StarPU: data registered, dependencies inferred. Its submitting thread is not a worker and shares
// the cores with them.

#include "kernels.hpp"

#include <starpu.h>

#include <cstdlib>

namespace {

using overhead::Number;

void touch(void* /*buffers*/[], void* argument) {
  ++static_cast<Number*>(argument)->value;
}

template <int Last>
void update(void* buffers[], void* /*argument*/) {
  ++reinterpret_cast<Number*>(STARPU_VARIABLE_GET_PTR(buffers[Last]))->value;
}

overhead::Tiles::View view(void* buffer) {
  return {reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer)),
          STARPU_MATRIX_GET_NX(buffer),
          STARPU_MATRIX_GET_NY(buffer),
          STARPU_MATRIX_GET_LD(buffer)};
}

starpu_codelet codelet(starpu_cpu_func_t function,
                       std::initializer_list<starpu_data_access_mode> modes) {
  starpu_codelet cl;
  starpu_codelet_init(&cl);
  cl.cpu_funcs[0] = function;
  cl.nbuffers = static_cast<int>(modes.size());
  int i = 0;
  for (auto const mode : modes) {
    cl.modes[i++] = mode;
  }
  return cl;
}

class Peer {
public:
  explicit Peer(overhead::Request const& request) {
    ::setenv("STARPU_SILENT", "1", 0);
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = request.workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    overhead::require(starpu_init(&conf) == 0, "starpu_init failed");
  }

  Peer(Peer const&) = delete;
  Peer& operator=(Peer const&) = delete;

  ~Peer() {
    for (auto handle : handles_) {
      starpu_data_unregister(handle);
    }
    starpu_shutdown();
  }

  static std::string version() {
    int major = 0;
    int minor = 0;
    int release = 0;
    starpu_get_version(&major, &minor, &release);
    return "StarPU " + std::to_string(major) + "." + std::to_string(minor) + "." +
           std::to_string(release);
  }

  void independent(std::vector<Number>& numbers) {
    for (auto& number : numbers) {
      auto* const task = starpu_task_create();
      task->cl = &touch_;
      task->cl_arg = &number;
      submit(task);
    }
    starpu_task_wait_for_all();
  }

  void independent_data(std::vector<Number>& numbers) {
    auto const& data = handles(numbers.data(), numbers.size());
    for (auto const handle : data) {
      insert(update1_, {handle});
    }
    starpu_task_wait_for_all();
  }

  void chain(Number& number, std::size_t n) {
    auto const handle = handles(&number, 1)[0];
    for (std::size_t i = 0; i < n; ++i) {
      insert(update1_, {handle});
    }
    starpu_task_wait_for_all();
  }

  void cholesky_graph(std::vector<Number>& numbers, std::size_t t) {
    auto const& data = handles(numbers.data(), numbers.size());
    auto const a = [&](std::size_t i, std::size_t j) { return data[i * t + j]; };
    overhead::for_each_cholesky_task(
        t,
        [&](std::size_t k) { insert(update1_, {a(k, k)}); },
        [&](std::size_t k, std::size_t i) { insert(update2_, {a(k, k), a(i, k)}); },
        [&](std::size_t k, std::size_t j) { insert(update2_, {a(j, k), a(j, j)}); },
        [&](std::size_t k, std::size_t i, std::size_t j) {
          insert(update3_, {a(i, k), a(j, k), a(i, j)});
        });
    starpu_task_wait_for_all();
  }

  void cholesky(overhead::Matrix& matrix, std::size_t tile) {
    hetsched::linalg::use_one_blas_thread();
    overhead::Tiles const a(matrix, tile);
    auto const t = a.count();
    std::vector<starpu_data_handle_t> data(t * t);
    for (std::size_t j = 0; j < t; ++j) {
      for (auto i = j; i < t; ++i) {
        auto const x = a(i, j);
        starpu_matrix_data_register(&data[i * t + j],
                                    STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(x.data()),
                                    static_cast<std::uint32_t>(x.ld()),
                                    static_cast<std::uint32_t>(x.rows()),
                                    static_cast<std::uint32_t>(x.cols()),
                                    sizeof(double));
      }
    }
    auto const at = [&](std::size_t i, std::size_t j) { return data[i * t + j]; };
    overhead::for_each_cholesky_task(
        t,
        [&](std::size_t k) { insert(potrf_, {at(k, k)}, 3); },
        [&](std::size_t k, std::size_t i) { insert(trsm_, {at(k, k), at(i, k)}, 2); },
        [&](std::size_t k, std::size_t j) { insert(syrk_, {at(j, k), at(j, j)}, 1); },
        [&](std::size_t k, std::size_t i, std::size_t j) {
          insert(gemm_, {at(i, k), at(j, k), at(i, j)});
        });
    starpu_task_wait_for_all();
    for (std::size_t j = 0; j < t; ++j) {
      for (auto i = j; i < t; ++i) {
        starpu_data_unregister(data[i * t + j]);
      }
    }
  }

private:
  static void submit(starpu_task* task) {
    overhead::require(starpu_task_submit(task) == 0, "starpu_task_submit failed");
  }

  static void
  insert(starpu_codelet& cl, std::initializer_list<starpu_data_handle_t> data, int priority = 0) {
    auto* const task = starpu_task_create();
    task->cl = &cl;
    task->priority = priority;
    int i = 0;
    for (auto const handle : data) {
      task->handles[i++] = handle;
    }
    submit(task);
  }

  std::vector<starpu_data_handle_t> const& handles(Number* first, std::size_t count) {
    while (handles_.size() < count) {
      starpu_data_handle_t handle = nullptr;
      starpu_variable_data_register(&handle,
                                    STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(first + handles_.size()),
                                    sizeof(Number));
      handles_.push_back(handle);
    }
    return handles_;
  }

  starpu_codelet touch_ = codelet(touch, {});
  starpu_codelet update1_ = codelet(update<0>, {STARPU_RW});
  starpu_codelet update2_ = codelet(update<1>, {STARPU_R, STARPU_RW});
  starpu_codelet update3_ = codelet(update<2>, {STARPU_R, STARPU_R, STARPU_RW});
  starpu_codelet potrf_ =
      codelet([](void* buffers[], void*) { overhead::potrf(view(buffers[0])); }, {STARPU_RW});
  starpu_codelet trsm_ =
      codelet([](void* buffers[], void*) { overhead::trsm(view(buffers[0]), view(buffers[1])); },
              {STARPU_R, STARPU_RW});
  starpu_codelet syrk_ =
      codelet([](void* buffers[], void*) { overhead::syrk(view(buffers[0]), view(buffers[1])); },
              {STARPU_R, STARPU_RW});
  starpu_codelet gemm_ =
      codelet([](void* buffers[],
                 void*) { overhead::gemm(view(buffers[0]), view(buffers[1]), view(buffers[2])); },
              {STARPU_R, STARPU_R, STARPU_RW});
  std::vector<starpu_data_handle_t> handles_;
};

} // namespace

int main(int argc, char** argv) {
  return overhead::peer_main<Peer>(argc, argv);
}
