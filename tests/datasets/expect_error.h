#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell::dataset_test {

/// Expects `action` to throw an Error of `code` whose message has `part`.
template <typename Action>
void ExpectError(ErrorCode code, const std::string& part, Action action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with '" << part << "'";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCodeName(error.code()), ErrorCodeName(code));
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

}  // namespace foretell::dataset_test
