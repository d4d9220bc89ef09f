// Both programs as they start and end.

#include "cli/commands/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "cli/commands/lab_program.h"
#include "tests/graph/expect_error.h"

namespace foretell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::span<const CommandRow> kForetellRows =
    kCommands<Home::kForetell>;
constexpr std::span<const CommandRow> kLabRows = kCommands<Home::kLab>;

/// Words as main gets them, the program first.
class Arguments {
 public:
  Arguments(std::initializer_list<std::string> words) : words_(words) {
    words_.insert(words_.begin(), "foretell");
    for (std::string& word : words_) pointers_.push_back(word.data());
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  operator std::span<char* const>() const { return pointers_; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome RunWords(std::span<const CommandRow> rows, const Arguments& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = RunProgram(rows, words);
  return {status, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

TEST(CommandTable, HasEveryNameOnce) {
  std::set<std::string_view> names;
  for (const CommandRow& row : kForetellRows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(CommandTable, LabHasAllAndForetellWhatPredicts) {
  ASSERT_EQ(kForetellRows.size(), kLabRows.size());
  std::vector<std::string_view> only_in_lab;
  for (std::size_t i = 0; i < kLabRows.size(); ++i) {
    EXPECT_EQ(kForetellRows[i].name, kLabRows[i].name);
    EXPECT_NE(kLabRows[i].add, nullptr) << kLabRows[i].name;
    const bool lacks = kForetellRows[i].add == nullptr;
    EXPECT_EQ(lacks, kForetellRows[i].home == Home::kLab);
    if (lacks) only_in_lab.push_back(kForetellRows[i].name);
  }
  EXPECT_THAT(
      only_in_lab,
      ElementsAre("fit", "calibrate", "calibrate-device", "plan", "measure",
                  "dataset", "train", "evaluate", "compare-networks",
                  "cross-validate", "memory-classes", "serve", "serve-worker"));
}

TEST(CalledCommand, IsTheFirstWordThatIsNoFlag) {
  EXPECT_EQ(CalledCommand(Arguments{"train", "predict"}, kForetellRows)->name,
            "train");
  EXPECT_EQ(CalledCommand(Arguments{"--help", "mig"}, kForetellRows)->name,
            "mig");
  EXPECT_EQ(CalledCommand(Arguments{}, kForetellRows), nullptr);
  EXPECT_EQ(CalledCommand(Arguments{"--version"}, kForetellRows), nullptr);
  EXPECT_EQ(CalledCommand(Arguments{"trains", "train"}, kForetellRows),
            nullptr);
}

TEST(LabProgram, StandsBesideThisProgram) {
  EXPECT_EQ(LabProgram().filename(), "foretell-lab");
  EXPECT_EQ(LabProgram().parent_path(),
            std::filesystem::canonical("/proc/self/exe").parent_path());
}

TEST(GoOnAs, SaysWhatToDoWhereThereIsNoProgram) {
  ExpectError([] { GoOnAs("/missing/foretell-lab", Arguments{"train"}); },
              ErrorCode::kUnsupported, "/missing/foretell-lab: missing");
  ExpectError([] { GoOnAs("/missing/foretell-lab", Arguments{"train"}); },
              ErrorCode::kUnsupported, "`scripts/build foretell-lab`");
}

TEST(GoOnAs, SaysWhyAProgramDoesNotStart) {
  ExpectError([] { GoOnAs("/etc/passwd", Arguments{"train"}); }, ErrorCode::kIo,
              "/etc/passwd: cannot be started: Permission");
}

TEST(GoOnAsDeathTest, TakesArgumentsAndExitStatusAlong) {
  EXPECT_EXIT(GoOnAs("/bin/sh", Arguments{"-c", "exit $1", "x", "7"}),
              testing::ExitedWithCode(7), "");
}

TEST(PassOnToLab, LeavesTheProgramAloneThatHasAll) {
  PassOnToLab(Arguments{"train"}, kLabRows);
  PassOnToLab(Arguments{"predict"}, kForetellRows);
  // This test has no foretell-lab beside it.
  PassOnToLab(Arguments{"completion", "bash"}, kForetellRows);
  ExpectError([] { PassOnToLab(Arguments{"train"}, kForetellRows); },
              ErrorCode::kUnsupported, "foretell-lab");
}

TEST(ExitCode, FollowsTheKindOfError) {
  EXPECT_EQ(ExitCodeOf(ErrorCode::kInvalidArgument), kExitUsage);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kNotFound), kExitUsage);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kCorrupt), kExitModelFailed);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kUnsupported), kExitModelFailed);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kIo), kExitModelFailed);
  EXPECT_EQ(ExitCodeOf(ErrorCode::kInternal), kExitInternal);
}

TEST(RunProgram, EndsWithTheStatusOfTheCommand) {
  const Outcome version = RunWords(kForetellRows, {"version"});
  EXPECT_EQ(version.status, kExitOk);
  EXPECT_THAT(version.out, StartsWith("foretell "));
  EXPECT_THAT(version.err, IsEmpty());
  const Outcome pack = RunWords(
      kForetellRows, {"mig", "pack", "--job", "a=39000", "--job", "b=3000"});
  EXPECT_EQ(pack.status, kExitDoesNotFit);
}

TEST(RunProgram, RefusesCommandLinesThatMakeNoSense) {
  for (const Arguments& words :
       {Arguments{}, Arguments{"nonsense"}, Arguments{"version", "--frob"},
        Arguments{"mig"}, Arguments{"completion", "tcsh"}}) {
    const Outcome outcome = RunWords(kForetellRows, words);
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_FALSE(outcome.err.empty());
  }
}

TEST(RunProgram, RefusesFlagsThatAreNoNumber) {
  for (const char* value : {"nan", "-nan", "NaN", "inf"}) {
    for (const char* flag : {"--max-memory", "--timeout", "--power-limit"}) {
      const Outcome outcome =
          RunWords(kForetellRows, {"fits", "zoo:vgg11", flag, value});
      EXPECT_EQ(outcome.status, kExitUsage) << flag << value;
      EXPECT_THAT(outcome.err, HasSubstr(flag));
    }
  }
  const Outcome outcome = RunWords(
      kForetellRows, {"predict", "zoo:vgg11", "-b", "1,9223372036854775808"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("9223372036854775808 is beyond 64 bits"));
}

TEST(RunProgram, RefusesSeedsThatWouldWrapAround) {
  for (const char* command :
       {"measure", "calibrate", "plan", "fit", "train", "cross-validate"}) {
    const Outcome outcome = RunWords(kLabRows, {command, "--seed", "-1"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err,
                HasSubstr("--seed: '-1': expected a whole number from 0"));
  }
  const Outcome outcome =
      RunWords(kLabRows, {"compare-networks", "--seeds", "1,-1"});
  EXPECT_THAT(outcome.err, HasSubstr("--seeds: '-1': expected a whole number"));
  const Outcome large = RunWords(
      kLabRows, {"dataset", "split", "--seed", "18446744073709551616"});
  EXPECT_THAT(large.err, HasSubstr("18446744073709551616 is beyond 64 bits"));
}

TEST(RunProgram, PrintsErrorsOfCommandsOnOneLine) {
  const Outcome outcome =
      RunWords(kForetellRows, {"mig", "profiles", "--device", "g\nt\x1bx"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, StartsWith("foretell: error: "));
  EXPECT_THAT(outcome.err, HasSubstr("g\\x0at\\x1bx"));
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
}

TEST(RunProgram, SaysThatAPartIsMissing) {
  const Outcome outcome = RunWords(kForetellRows, {"train", "--help"});
  EXPECT_EQ(outcome.status, kExitModelFailed);
  EXPECT_THAT(outcome.err, HasSubstr("foretell-lab"));
}

TEST(RunProgram, HasOneHelpForBothPrograms) {
  const Outcome foretell = RunWords(kForetellRows, {"--help"});
  const Outcome lab = RunWords(kLabRows, {"--help"});
  EXPECT_EQ(foretell.status, kExitOk);
  EXPECT_EQ(foretell.out, lab.out);
  EXPECT_THAT(foretell.out, HasSubstr("cross-validate"));
}

TEST(Completion, KnowsNestedCommandsAndTheirFlags) {
  const Outcome bash = RunWords(kLabRows, {"completion", "bash"});
  EXPECT_THAT(bash.out, HasSubstr("'mig pack') words='"));
  EXPECT_THAT(bash.out, HasSubstr("' predict') names='predict' ;;"));
  EXPECT_THAT(bash.out, HasSubstr("'mig pack') names='mig pack' ;;"));
  EXPECT_THAT(bash.out, HasSubstr("--max-devices"));
  EXPECT_THAT(bash.out, HasSubstr("--learning-rate"));
  const Outcome zsh = RunWords(kLabRows, {"completion", "zsh"});
  EXPECT_THAT(zsh.out, StartsWith("autoload -U +X bashcompinit"));
  EXPECT_THAT(zsh.out, HasSubstr(bash.out));
}

}  // namespace
}  // namespace foretell::cli
