#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell {

/// Expects that `action` throws an Error of `code` whose message contains
/// `part`.
template <typename Action>
void ExpectError(Action action, ErrorCode code, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

}  // namespace foretell
