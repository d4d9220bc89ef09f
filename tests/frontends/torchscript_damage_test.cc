// Every truncation and every single-bit flip of ten small files.
//
// Any outcome but success and an Error that names the file is a failure, and so
// is one that takes 500 MB; the budgets that end a program count its work. A
// crash ends the test and leaves the damaged file in the folder for temporary
// files.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "foretell/error.h"
#include "tests/core/process_usage.h"
#include "tests/frontends/script_file.h"
#include "tests/frontends/small_archives.h"

namespace foretell::torchscript {
namespace {

/// Damaged files of one kind and what became of them.
class Outcomes {
 public:
  explicit Outcomes(const SmallArchive& archive)
      : archive_(archive), file_(archive.name + ".pt") {
    // What LibTorch sets up once counts for none of them.
    EXPECT_TRUE(Succeeds(archive.bytes)) << archive.name;
    ForgetPeakResidentBytes();
    resident_before_ = PeakResidentBytes();
  }

  /// Loads and traces `bytes` within the limits. Returns whether that worked.
  bool Try(const std::string& bytes, const std::string& damage) {
    SCOPED_TRACE(archive_.name + ": " + damage);
    const std::int64_t resident = PeakResidentBytes();
    const bool succeeded = Succeeds(bytes);
    EXPECT_LT(PeakResidentBytes() - resident, kMaxResidentGrowth);
    ++tried_;
    succeeded_ += succeeded ? 1 : 0;
    return succeeded;
  }

  void Print() const {
    std::cout << archive_.name << ", " << archive_.bytes.size()
              << " bytes: " << tried_ << " damaged files, " << succeeded_
              << " read nevertheless, memory grew by "
              << (PeakResidentBytes() - resident_before_) / 1'000'000
              << " MB\n";
  }

 private:
  bool Succeeds(const std::string& bytes) {
    file_.Write(bytes);
    try {
      const Program program = LoadTorchScript(file_.path());
      std::vector<BoundInput> inputs;
      for (const InputSpec& input : program.inputs()) {
        inputs.push_back({input.name, {DType::kF32, archive_.input}});
      }
      TraceProgram(program, inputs);
      return true;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(file_.path()), std::string::npos)
          << error.what();
      return false;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "no foretell::Error: " << error.what();
      return false;
    }
  }

  const SmallArchive& archive_;
  TemporaryFile file_;
  std::int64_t resident_before_ = 0;
  std::int64_t tried_ = 0;
  std::int64_t succeeded_ = 0;
};

/// 1, or what FORETELL_DAMAGE_STRIDE says: only every so manieth bit is
/// flipped, for builds that are slow.
std::size_t Stride() {
  const char* const stride = std::getenv("FORETELL_DAMAGE_STRIDE");
  return stride == nullptr ? 1 : std::strtoul(stride, nullptr, 10);
}

class DamagedTorchScript : public testing::TestWithParam<SmallArchive> {};

TEST_P(DamagedTorchScript, TruncatedAnywhereIsATypedError) {
  const std::string& bytes = GetParam().bytes;
  Outcomes outcomes(GetParam());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        outcomes.Try(bytes.substr(0, size), "cut to " + std::to_string(size)));
  }
  outcomes.Print();
}

TEST_P(DamagedTorchScript, WithAnyBitFlippedIsReadOrATypedError) {
  Outcomes outcomes(GetParam());
  std::string bytes = GetParam().bytes;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += Stride()) {
    const char intact = bytes[bit / 8];
    bytes[bit / 8] = static_cast<char>(intact ^ (1 << (bit % 8)));
    outcomes.Try(bytes, "bit " + std::to_string(bit % 8) + " of byte " +
                            std::to_string(bit / 8));
    bytes[bit / 8] = intact;
  }
  outcomes.Print();
}

INSTANTIATE_TEST_SUITE_P(
    Small, DamagedTorchScript, testing::ValuesIn(SmallArchives()),
    [](const testing::TestParamInfo<SmallArchive>& archive) {
      return archive.param.name;
    });

}  // namespace
}  // namespace foretell::torchscript
