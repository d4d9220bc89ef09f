#pragma once

#include <string>
#include <string_view>

namespace foretell::serve {

/// `content_type` with the media type and the names of its parameters in lower
/// case; their case is not significant (RFC 9110, 8.3.1). Values of parameters
/// stay: the boundary of a form is case-sensitive.
std::string WithNamesInLowerCase(std::string_view content_type);

/// The media type of `content_type` in lower case, without parameters:
/// "application/json" of "Application/JSON; charset=utf-8".
std::string MediaType(std::string_view content_type);

}  // namespace foretell::serve
