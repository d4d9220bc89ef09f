#pragma once

#include <string_view>

namespace foretell {

/// Whether the graph of a stranger may call the operator `name`
/// ("aten::conv2d"). Namespaces are an allow-list: aten, prim, torchvision; so
/// are aten's private operators. Of the others the few are refused that touch
/// files, standard streams, Python or other processes, that compute with what
/// they are given unseen, or that need not end.
bool IsAllowedOperator(std::string_view name);

}  // namespace foretell
