#include "src/correct/model_field.h"

#include <fmt/core.h>

namespace foretell {

std::string FieldPlace(std::string_view name) {
  return fmt::format("{{{}}}", name);
}

std::string WithField(std::string model, std::string_view name,
                      std::string_view value) {
  const std::string place = FieldPlace(name);
  const std::size_t at = model.find(place);
  if (at != std::string::npos) return model.replace(at, place.size(), value);
  const char sign = model.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}{}={}", model, sign, name, value);
}

}  // namespace foretell
