#pragma once

#include "frontends/exported/archive.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Finds parameters that are one tensor under two names and notes them in
/// `model`: torch.export lists all names, and its graph reads the last. They
/// have the same type, shape and record. If records are empty (files of the
/// meta device), a name that nothing reads is treated as another name of a
/// weight of another module that is
///   - read by the module of the unread one (an embedding that is also the
///   head),
///   - or, if that module does not run: already known to be tied, the table of
///     an embedding, or a weight of the same last name in an inner module (a
///     bias that is passed to a layer).
/// Any other unread name is a separate weight that this step does not need.
void NoteShared(Model& model, const Archive& archive);

}  // namespace foretell::exported
