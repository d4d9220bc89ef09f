#pragma once

#include "frontends/exported/document.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Takes the equations that the file's `guards_code` states between sizes of
/// inputs ("L['x'].size()[1]//2 == L['skip'].size()[1]"): a symbol that equals
/// a formula of others is replaced by it everywhere, and the others become
/// Model::guards. Ignores inequalities: they repeat the ranges, or exclude 0
/// and 1, which is not checked.
void ApplyGuards(const Document& document, Model& model);

/// Writes `replacement` for `symbol` in all sizes of `model`.
void Substitute(Model& model, const std::string& symbol,
                const SizeExpression& replacement);

}  // namespace foretell::exported
