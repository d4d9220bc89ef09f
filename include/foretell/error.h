#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace foretell {

/// Error kinds that a caller may need to distinguish.
enum class ErrorCode {
  kInvalidArgument,  ///< The caller's request makes no sense (flags, shapes).
  kNotFound,         ///< A file, device, profile or name does not exist.
  kCorrupt,          ///< A file violates its own format.
  kUnsupported,      ///< A valid file needs something that foretell lacks.
  kIo,               ///< The operating system refused a read or a write.
  kInternal,         ///< A broken invariant of foretell itself: a bug.
};

/// Stable lower-case identifier used in JSON output, e.g. "invalid_argument".
std::string_view ErrorCodeName(ErrorCode code);

/// The one exception that foretell throws.
///
/// `what()` is a single line that names the file, the place in it and both
/// values, e.g. `model.onnx: node 'conv1' (Conv): kernel_shape has rank 1,
/// expected 2`. Control characters in a file's names become `\xNN`.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Returns `error` with `context` and ": " put before its message.
Error WithContext(std::string_view context, const Error& error);

}  // namespace foretell
