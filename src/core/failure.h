#pragma once

#include <fmt/core.h>

#include <utility>

#include "foretell/error.h"

/// Errors by their code, with a message that is formatted as by fmt::format:
/// `throw Corrupt("{}: no such node: {}", file, name);`.
namespace foretell {

template <typename... Args>
Error InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kInvalidArgument,
          fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Error NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kNotFound,
          fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Error Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kCorrupt,
          fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Error Unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kUnsupported,
          fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Error IoFailure(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kIo, fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Error InternalFailure(fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorCode::kInternal,
          fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace foretell
