// Every truncation and every single-bit flip of ten small files.
//
// Any outcome but success and an Error that names the file is a failure, and so
// is one that takes 500 MB. Without a sandbox a program may run for ever, which
// a flipped bit can make of a number: such a file is given up. A crash leaves
// the damaged file in the folder for temporary files.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

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

/// Goes on in another process after each place where one had to be ended.
class Watched {
 public:
  /// Calls `work` with 0, `stride`, … below `size`, in children.
  template <typename Work>
  Watched(std::size_t size, std::size_t stride, const Work& work)
      : next_(*new(mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Place(0)) {
    while (next_ < size) {
      const pid_t child = fork();
      if (child == 0) {
        for (; next_ < size; next_ += stride) work(next_);
        _exit(testing::Test::HasFailure() ? 1 : 0);
      }
      const int status = AwaitProgress(child);
      if (next_ >= size) {
        EXPECT_EQ(status, 0);
        continue;
      }
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
          << "place " << next_ << " ended its process: " << status;
      given_up_ += 1;
      next_ += stride;
    }
  }
  ~Watched() { munmap(&next_, sizeof(Place)); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::int64_t given_up() const { return given_up_; }

 private:
  using Place = std::atomic<std::size_t>;
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{2};

  /// The status of the child, which is killed where it stays at one place.
  int AwaitProgress(pid_t child) const {
    std::size_t seen = next_;
    Clock::time_point since = Clock::now();
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (seen != next_) {
        seen = next_;
        since = Clock::now();
      } else if (Clock::now() - since > kPatience) {
        kill(child, SIGKILL);
      }
    }
    return status;
  }

  Place& next_;
  std::int64_t given_up_ = 0;
};

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
  const std::size_t bits = 8 * bytes.size();
  const Watched watched(bits, Stride(), [&](std::size_t bit) {
    const char intact = bytes[bit / 8];
    bytes[bit / 8] = static_cast<char>(intact ^ (1 << (bit % 8)));
    outcomes.Try(bytes, "bit " + std::to_string(bit % 8) + " of byte " +
                            std::to_string(bit / 8));
    bytes[bit / 8] = intact;
    if (bit + Stride() >= bits) outcomes.Print();
  });
  EXPECT_LT(watched.given_up(), 50);
  std::cout << watched.given_up() << " given up\n";
}

INSTANTIATE_TEST_SUITE_P(
    Small, DamagedTorchScript, testing::ValuesIn(SmallArchives()),
    [](const testing::TestParamInfo<SmallArchive>& archive) {
      return archive.param.name;
    });

}  // namespace
}  // namespace foretell::torchscript
