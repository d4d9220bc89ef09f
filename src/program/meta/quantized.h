#pragma once

#include <memory>
#include <vector>

namespace torch {
class Library;
}

namespace foretell::meta {

/// Defines the kernels that quantized layers launch, in the namespaces
/// `bitsandbytes`, `awq` and `gptq`; the definitions live as long as
/// `libraries`.
void DefineQuantizedOperators(
    std::vector<std::unique_ptr<torch::Library>>& libraries);

}  // namespace foretell::meta
