#pragma once

#include <functional>
#include <string>

#include "frontends/exported/document.h"
#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Number of the slot that has a name.
using SlotOf = std::function<int(const std::string& name)>;
/// Reads a graph inside of an argument.
using ReadInner = std::function<std::shared_ptr<const Graph>(const Json&)>;

/// Reads an `Argument` of the schema: a union of constants, names of values,
/// lists of them, and graphs. Devices are mapped to meta; the interpreter
/// substitutes its own. Throws what Document does; Error(kUnsupported) for
/// Python objects and for layouts that are not strided.
Argument ReadArgument(const Document& document, const Json& value,
                      const SlotOf& slot_of, const ReadInner& read_inner);

/// The element type for which the schema has `code`.
at::ScalarType ReadScalarType(const Document& document, std::int64_t code);

}  // namespace foretell::exported
