#include "src/program/exchanges.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/collective.h"

namespace foretell::exchanges {
namespace {

constexpr char kOverload[] = "foretell";

/// Overloads, so that what is recorded has the names of other exchanges.
void DefineExchanges() {
  // Never destroyed, as an operator's kernel may run at the end of a process.
  static auto& library = *new torch::Library(torch::Library::FRAGMENT, "c10d",
                                             std::nullopt, __FILE__, __LINE__);
  for (const std::string_view target : {kAllGather, kRotate, kAllToAll}) {
    const std::string name =
        std::string(target.substr(target.rfind(':') + 1)) + "." + kOverload;
    library.def(
        (name + "(Tensor input, str plan, int gpus, int bytes, int[] sizes) -> "
                "Tensor")
            .c_str());
    library.impl(
        name.c_str(),
        torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                        [](const at::Tensor& input, c10::string_view /*plan*/,
                           std::int64_t /*gpus*/, std::int64_t /*bytes*/,
                           at::IntArrayRef sizes) {
                          return at::empty(sizes, input.options());
                        }));
  }
}

/// Exchanges a tensor of `bytes` in all for a result of `sizes`.
at::Tensor ExchangeTensor(std::string_view target, const at::Tensor& input,
                          std::int64_t bytes,
                          const std::vector<std::int64_t>& sizes,
                          const ParallelSpec& spec) {
  static std::once_flag once;
  std::call_once(once, &DefineExchanges);
  torch::jit::Stack stack = {input, ToString(ModelPart(spec)),
                             std::int64_t{spec.gpus}, bytes, sizes};
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(std::string(target).c_str(), kOverload)
      .callBoxed(&stack);
  return stack.front().toTensor();
}

std::int64_t BytesOf(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

}  // namespace

at::Tensor Gather(const at::Tensor& input, const ParallelSpec& spec) {
  return ExchangeTensor(kAllGather, input, spec.gpus * BytesOf(input),
                        {spec.gpus * input.numel()}, spec);
}

at::Tensor Rotate(const at::Tensor& input, const ParallelSpec& spec) {
  return ExchangeTensor(kRotate, input, BytesOf(input), input.sizes().vec(),
                        spec);
}

at::Tensor AllToAll(const at::Tensor& input, std::int64_t rows,
                    const ParallelSpec& spec) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  const std::int64_t most = std::max(rows, sizes[0]);
  const std::int64_t bytes_of_row =
      sizes[0] == 0 ? 0 : BytesOf(input) / sizes[0];
  sizes[0] = rows;
  return ExchangeTensor(kAllToAll, input, most * bytes_of_row, sizes, spec);
}

}  // namespace foretell::exchanges
