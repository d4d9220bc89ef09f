#pragma once

#include <memory>
#include <vector>

namespace torch {
class Library;
}

namespace foretell::meta {

/// Defines an operator for each kernel of Liger that a trace may run; the
/// definitions live as long as `libraries`.
void DefineLigerOperators(
    std::vector<std::unique_ptr<torch::Library>>& libraries);

}  // namespace foretell::meta
