// SPDX-License-Identifier: MIT
// Coming from StarPU: vector scaling by a codelet, on filtered data, with a reduction. Above each
// line is the call that it stands for. docs/moving.md has the table.
//
// Expected output:
//   x[0] = 3.14, sum 3140

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include <cstdio>
#include <functional>
#include <vector>

namespace hs = hetsched;
using Vector = hs::VectorView<double>;

// struct starpu_codelet scal = {.cpu_funcs = {...}, .cuda_funcs = {...}, .nbuffers = 1,
//                               .modes = {STARPU_RW}};
struct Scal : hs::Task<2>::Signature<double, hs::RW<Vector>> {
  static void cpu(double factor, Vector v) {
    for (auto& element : v) {
      element *= factor;
    }
  }

  static void
  gpu(hs::GpuStream& stream, double factor, Vector v); // a .cu file launches a kernel here
};

// With nvcc: scal<<<blocks, threads, 0, cudaStream_t(stream.native())>>>(...). This is for emulated
// devices.
void Scal::gpu(hs::GpuStream& stream, double factor, Vector v) {
  (void)stream.run_emulated([=] { cpu(factor, v); });
}

int main() {
  std::vector<double> x(1000, 1.0);
  double sum = 0;
  // starpu_init(NULL);
  hs::Runtime<> rt;
  {
    // starpu_vector_data_register(&handle, STARPU_MAIN_RAM, ptr, n, sizeof(x[0]));
    auto const handle = rt.data(x);
    auto const total = rt.data(sum);
    // starpu_data_partition_plan(handle, &filter, children); .filter_func =
    // starpu_vector_filter_block
    auto parts = rt.partition(handle, hs::block_rows(250));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      // starpu_task_insert(&scal, STARPU_VALUE, &factor, sizeof(factor), STARPU_RW, children[k],
      //                    STARPU_PRIORITY, 2, 0);
      rt.spawn<Scal>(hs::priority(2))(3.14, parts[k]);
      // starpu_task_insert(&add, STARPU_R, children[k], STARPU_REDUX, total, 0);
      rt.spawn(hs::label("add"))(
          [](hs::VectorView<double const> v, double& mine) {
            for (auto const element : v) {
              mine += element;
            }
          },
          hs::read(parts[k]),
          hs::reduce<hs::Sum<double>>(total));
    }
    // starpu_data_unpartition_submit(handle, ...);
    rt.join(parts);
    // starpu_task_wait_for_all();
    rt.sync();
  } // starpu_data_unregister(handle): the last handle goes
  std::printf("x[0] = %g, sum %g\n", x[0], sum);
} // starpu_shutdown()
