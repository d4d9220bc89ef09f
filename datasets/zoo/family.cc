#include "datasets/zoo/family.h"

#include "foretell/error.h"

namespace foretell::zoo {

InputSpec BatchedInput(std::string name, DType dtype,
                       const std::vector<std::int64_t>& dims) {
  InputSpec spec{.name = std::move(name), .dtype = dtype};
  spec.dims.emplace();
  spec.dims->push_back({.value = std::nullopt, .symbol = "batch"});
  for (const std::int64_t dim : dims) spec.dims->push_back({.value = dim});
  return spec;
}

InputSpec ImageInput(std::int64_t channels, std::int64_t size) {
  return BatchedInput("image", DType::kF32, {channels, size, size});
}

void Require(bool condition, const std::string& message) {
  if (!condition) throw Error(ErrorCode::kInvalidArgument, message);
}

}  // namespace foretell::zoo
