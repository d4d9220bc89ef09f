#pragma once

#include <string>
#include <string_view>

namespace foretell {

/// Where a model's name has the field `name`: "{name}".
std::string FieldPlace(std::string_view name);

/// `model` with `value` in the first FieldPlace of `name`; without one, as a
/// field of the zoo: "zoo:mlp?width=64".
std::string WithField(std::string model, std::string_view name,
                      std::string_view value);

}  // namespace foretell
