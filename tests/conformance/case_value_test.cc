#include "tests/conformance/case_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "foretell/error.h"

namespace foretell::conformance {
namespace {

using onnx::TypeInfo;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// TensorProto {dims: 2, data_type: INT8, raw_data: "\5\xfd"}.
const std::string kTwoInts("\x08\x02\x10\x03\x4a\x02\x05\xfd", 8);

TypeInfo TypeOfKind(TypeInfo::Kind kind) { return {.kind = kind}; }

std::string Field(char tag, const std::string& payload) {
  return std::string{tag, static_cast<char>(payload.size())} + payload;
}

CaseValue Read(const std::string& bytes, TypeInfo::Kind kind) {
  return ReadCaseValueFromBytes(bytes, TypeOfKind(kind), "x.pb");
}

ErrorCode CodeOf(const std::string& bytes, TypeInfo::Kind kind) {
  try {
    Read(bytes, kind);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("x.pb"));
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(CaseValue, ReadsANamelessTensor) {
  const CaseValue value = Read(kTwoInts, TypeInfo::Kind::kTensor);
  EXPECT_EQ(value.kind, CaseValue::Kind::kTensor);
  ASSERT_THAT(value.tensors, SizeIs(1));
  EXPECT_THAT(value.tensors[0].dims, ElementsAre(2));
  EXPECT_EQ(value.tensors[0].data_type, 3);
  EXPECT_EQ(value.tensors[0].bytes, "\x05\xfd");
}

TEST(CaseValue, TakesUint16ForTheBFloat16ThatTheModelDeclares) {
  // TensorProto {dims: 1, data_type: UINT16, raw_data: "\x80\x3f"}.
  const std::string one("\x08\x01\x10\x04\x4a\x02\x80\x3f", 8);
  const auto data_type_as = [&](std::int32_t declared) {
    const TypeInfo type{.kind = TypeInfo::Kind::kTensor, .elem_type = declared};
    return ReadCaseValueFromBytes(one, type, "x.pb").tensors[0].data_type;
  };
  EXPECT_EQ(data_type_as(16), 16);
  EXPECT_EQ(data_type_as(4), 4);
}

TEST(CaseValue, ReadsTheTensorsOfASequenceInOrder) {
  const std::string empty("\x08\x00\x10\x03", 4);
  const std::string sequence = Field('\x0a', "name") + "\x10\x01" +
                               Field('\x1a', kTwoInts) + Field('\x1a', empty);
  const CaseValue value = Read(sequence, TypeInfo::Kind::kSequence);
  EXPECT_EQ(value.kind, CaseValue::Kind::kSequence);
  ASSERT_THAT(value.tensors, SizeIs(2));
  EXPECT_THAT(value.tensors[0].dims, ElementsAre(2));
  EXPECT_THAT(value.tensors[1].dims, ElementsAre(0));
}

TEST(CaseValue, ReadsAnEmptySequence) {
  const CaseValue value = Read("\x10\x01", TypeInfo::Kind::kSequence);
  EXPECT_EQ(value.kind, CaseValue::Kind::kSequence);
  EXPECT_THAT(value.tensors, IsEmpty());
}

TEST(CaseValue, TellsWhatAnOptionalHolds) {
  const auto kind_of = [](const std::string& bytes) {
    return Read(bytes, TypeInfo::Kind::kOptional).kind;
  };
  EXPECT_EQ(kind_of(std::string("\x10\x00", 2)), CaseValue::Kind::kAbsent);
  EXPECT_EQ(kind_of("\x10\x01" + Field('\x1a', kTwoInts)),
            CaseValue::Kind::kTensor);
  EXPECT_EQ(kind_of("\x10\x03" + Field('\x2a', Field('\x1a', kTwoInts))),
            CaseValue::Kind::kSequence);
}

TEST(CaseValue, RefusesWhatNoValueCanHold) {
  EXPECT_EQ(CodeOf("", TypeInfo::Kind::kMap), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf("", TypeInfo::Kind::kSparseTensor), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(Field('\x2a', ""), TypeInfo::Kind::kSequence),
            ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(Field('\x3a', ""), TypeInfo::Kind::kOptional),
            ErrorCode::kUnsupported);
}

TEST(CaseValue, SaysWhenAFileIsCutShort) {
  EXPECT_EQ(CodeOf(kTwoInts.substr(0, 7), TypeInfo::Kind::kTensor),
            ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf("\x1a\x09only", TypeInfo::Kind::kSequence),
            ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf("\x80", TypeInfo::Kind::kSequence), ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace foretell::conformance
