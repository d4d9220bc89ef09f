#include "src/measure/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

namespace foretell::measure {

void PrepareLibTorch(const MeasureRequest& request) {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuDNN(true);
  context.setAllowTF32CuBLAS(request.run.precision == Precision::kTf32);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicCuDNN(false);
  if (request.options.threads > 0) {
    at::set_num_threads(request.options.threads);
  }
}

MeasureEnvironment ReadEnvironment(DeviceBackend& device, const Run& run,
                                   std::vector<MeasureNote>& notes) {
  const at::Context& context = at::globalContext();
  MeasureEnvironment environment{
      .libtorch = TORCH_VERSION,
      .threads = at::get_num_threads(),
      .tf32_matmul = context.allowTF32CuBLAS(),
      .tf32_cudnn = context.allowTF32CuDNN(),
      .cudnn_benchmark = context.benchmarkCuDNN(),
      .cudnn_deterministic = context.deterministicCuDNN(),
      .autocast = run.autocast,
      .grad_mode = run.grad_mode,
      .memory_format = run.channels_last ? "channels_last" : "contiguous"};
  device.Describe(environment, notes);
  return environment;
}

}  // namespace foretell::measure
