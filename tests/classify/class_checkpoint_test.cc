#include "src/classify/class_checkpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "src/classify/fit_ensemble.h"
#include "src/network/sealed.h"
#include "tests/classify/toy_steps.h"
#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;

Ensemble Toy() { return FitEnsemble(ToySteps(6), ToyInfo(), {.epochs = 1}); }

/// A checkpoint with `from` in its description replaced, sealed anew.
std::string Changed(const std::string& from, const std::string& to) {
  learned::SafeTensors content = learned::ParseSealed(
      SerializeEnsemble(Toy()), learned::kSealedClasses, "toy");
  std::string& text = content.metadata["memory_classes"];
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << text;
  text.replace(place, from.size(), to);
  return learned::SerializeSealed(std::move(content));
}

TEST(ClassCheckpoint, AnswersAsTheEnsembleThatWasWritten) {
  const Ensemble written = Toy();
  const Ensemble read = ParseEnsemble(SerializeEnsemble(written), "toy");
  const StepInputs step = ToyStep(4700).inputs;
  EXPECT_EQ(read.Answer(step).probabilities,
            written.Answer(step).probabilities);
  EXPECT_EQ(read.info().classes, written.info().classes);
  EXPECT_EQ(read.info().device, "a100-sxm4-40gb");
  EXPECT_EQ(read.info().steps, 6);
  EXPECT_EQ(SerializeEnsemble(read), SerializeEnsemble(written));
}

TEST(ClassCheckpoint, RefusesAFlippedBit) {
  std::string bytes = SerializeEnsemble(Toy());
  bytes[bytes.size() - 3] ^= 1;
  ExpectError(ErrorCode::kCorrupt, "toy: content has the hash",
              [&] { ParseEnsemble(bytes, "toy"); });
}

TEST(ClassCheckpoint, RefusesWhatItCannotRead) {
  const auto expect = [](ErrorCode code, const std::string& bytes,
                         const std::string& part) {
    ExpectError(code, part, [&] { ParseEnsemble(bytes, "toy"); });
  };
  expect(ErrorCode::kUnsupported,
         Changed("\"schema_version\":1", "\"schema_version\":2"),
         "toy: schema_version is 2, expected 1");
  expect(ErrorCode::kCorrupt, Changed("[5000.0]", "[]"), "toy: edges_mib");
  expect(ErrorCode::kCorrupt, Changed("\"members\":2", "\"members\":33"),
         "members");
  expect(ErrorCode::kCorrupt, Changed("\"members\":2", "\"members\":1"),
         "tensors");
  expect(ErrorCode::kCorrupt, Changed("activation_cos", "activation_tan"),
         "numbers");
}

}  // namespace
}  // namespace foretell::classify
