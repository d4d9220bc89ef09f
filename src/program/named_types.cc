#include "src/program/named_types.h"

namespace foretell {
namespace {

thread_local bool named_types_follow = false;

}  // namespace

NamedTypesScope::NamedTypesScope() { named_types_follow = true; }
NamedTypesScope::~NamedTypesScope() { named_types_follow = false; }
bool NamedTypesScope::IsActive() { return named_types_follow; }

}  // namespace foretell
