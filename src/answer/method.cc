#include <optional>
#include <string_view>

#include "foretell/predictor.h"
#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<4> kMethodNames = {"auto", "analytic", "learned", "pmgns"};

}  // namespace

std::string_view MethodName(Method method) {
  return NameIn(kMethodNames, method);
}

std::optional<Method> ParseMethod(std::string_view name) {
  return FindIn<Method>(kMethodNames, name);
}

}  // namespace foretell
