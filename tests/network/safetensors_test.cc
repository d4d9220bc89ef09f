#include "src/network/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/datasets/expect_error.h"

namespace foretell::learned {
namespace {

using dataset_test::ExpectError;

SafeTensors Example() {
  return {.tensors = {{"a", {"F32", {2}, std::string(8, 'x')}},
                      {"b", {"U8", {2, 3}, "abcdef"}},
                      {"scalar", {"I64", {}, std::string(8, '\1')}}},
          .metadata = {{"format", "test"}}};
}

/// A file with this header and data.
std::string FileOf(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

void ExpectCorrupt(const std::string& header, const std::string& data,
                   const std::string& part) {
  ExpectError(ErrorCode::kCorrupt, part,
              [&] { ParseSafeTensors(FileOf(header, data), "t.safetensors"); });
}

TEST(SafeTensors, ReadsWhatItWrote) {
  const std::string bytes = SerializeSafeTensors(Example());
  EXPECT_EQ(ParseSafeTensors(bytes, "x"), Example());
}

TEST(SafeTensors, AlignsTheDataToEightBytes) {
  const std::string bytes = SerializeSafeTensors(Example());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0);
  EXPECT_EQ(bytes.substr(8 + length),
            std::string(8, 'x') + "abcdef" + std::string(8, '\1'));
}

TEST(SafeTensors, RefusesEveryTruncation) {
  const std::string bytes = SerializeSafeTensors(Example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseSafeTensors(bytes.substr(0, size), "x"), Error) << size;
  }
}

TEST(SafeTensors, NamesTheFileTheTensorAndBothValues) {
  ExpectCorrupt(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
                "01234567",
                "t.safetensors: tensor 'a' has 8 bytes, expected 12");
}

TEST(SafeTensors, RefusesGapsAndOverlaps) {
  ExpectCorrupt(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                    "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                "012", "tensor 'b' begins at 2, expected 1");
  ExpectCorrupt(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                    "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                "012", "tensor 'b' begins at 1, expected 2");
  ExpectCorrupt(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                "012", "data has 3 bytes, expected 2");
}

TEST(SafeTensors, RefusesHeadersThatMakeNoSense) {
  ExpectCorrupt("[]", "", "not a JSON object");
  ExpectCorrupt("{", "",
                "t.safetensors: header: line 1, column 2: found the end");
  ExpectCorrupt(R"({"a":{"dtype":"F32","shape":[1]}})", "", "data_offsets");
  ExpectCorrupt(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,1]}})",
                "0", "'F99'");
  ExpectCorrupt(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})",
                "0", "-1");
  ExpectCorrupt(R"({"__metadata__":{"x":1}})", "", "not a string");
  ExpectCorrupt(R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],)"
                R"("data_offsets":[0,0]}})",
                "", "too large");
}

TEST(SafeTensors, RefusesNamesThatOccurTwice) {
  ExpectCorrupt(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                    "a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                "0", "header: field \"a\" is given twice");
}

TEST(SafeTensors, RefusesALengthBeyondTheFile) {
  std::string bytes(8, '\xff');
  ExpectError(ErrorCode::kCorrupt, "header of",
              [&] { ParseSafeTensors(bytes, "x"); });
}

TEST(SafeTensors, WritesOnlyTensorsThatFitTheirShape) {
  SafeTensors content = Example();
  content.tensors["a"].shape = {3};
  ExpectError(ErrorCode::kInternal, "'a'",
              [&] { SerializeSafeTensors(content); });
}

}  // namespace
}  // namespace foretell::learned
