#pragma once

#include "frontends/exported/archive.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Finds parameters that are one tensor under two names and notes them in
/// `model`: torch.export lists all names, and its graph reads the last. They
/// have one type, one shape and one record. Where records are empty (files of
/// the meta device), a name that nothing reads is taken for another name of a
/// weight of another module that is
///   - read by the module of the unread one (an embedding that is also the
///   head),
///   - or, where that module does not run: known to be tied already, the table
///     of an embedding, or of the same last name in a module inside (a bias
///     that is handed to a layer).
/// Any other is a weight of its own that this step does not need.
void NoteShared(Model& model, const Archive& archive);

}  // namespace foretell::exported
