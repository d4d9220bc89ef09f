#include "foretell/error.h"

#include "src/core/printable.h"

namespace foretell {

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(Printable(message)), code_(code) {}

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error WithContext(std::string_view context, const Error& error) {
  return Error(error.code(), std::string(context) + ": " + error.what());
}

}  // namespace foretell
