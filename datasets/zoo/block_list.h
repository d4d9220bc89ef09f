#pragma once

#include <fmt/core.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace foretell::zoo {

/// Registers what `make` returns for 0 to `count` - 1 in `parent`, as a
/// torch.nn.ModuleList `name` does: with the paths "name.0", "name.1", ….
/// Returns the modules.
template <typename Make>
auto AddBlockList(torch::nn::Module& parent, const std::string& name,
                  std::int64_t count, const Make& make) {
  const auto list =
      parent.register_module(name, std::make_shared<torch::nn::Module>());
  std::vector<decltype(make(count))> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    blocks.push_back(list->register_module(fmt::format("{}", i), make(i)));
  }
  return blocks;
}

}  // namespace foretell::zoo
