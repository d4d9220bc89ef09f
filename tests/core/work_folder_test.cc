#include "src/core/work_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "src/core/process.h"

namespace foretell {
namespace {

namespace fs = std::filesystem;

/// A place for temporary files that nobody else uses.
class WorkFolders : public testing::Test {
 protected:
  WorkFolders() {
    std::string name = fs::temp_directory_path() / "work_folders_XXXXXX";
    root_ = mkdtemp(name.data());
    setenv("TMPDIR", root_.c_str(), 1);
  }
  ~WorkFolders() override {
    unsetenv("TMPDIR");
    fs::remove_all(root_);
  }

  fs::path place() const {
    return root_ / ("foretell-" + std::to_string(geteuid()));
  }
  /// All but the lock of the place itself.
  int Entries() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(place())) {
      count += entry.path().filename() == "place.lock" ? 0 : 1;
    }
    return count;
  }
  /// The folder of a child, which has told its path and lives.
  static ChildProcess Hold(std::string& path) {
    ChildProcess child = ChildProcess::Fork({}, [](Channel& channel) {
      const WorkFolder folder;
      std::ofstream(folder / "file") << "text";
      channel.Send(folder.path());
      channel.Receive();
    });
    path = child.channel().Receive().value_or("");
    return child;
  }

  fs::path root_;
};

TEST_F(WorkFolders, GoWithTheirObject) {
  std::string path;
  {
    const WorkFolder folder;
    path = folder.path();
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
    std::ofstream(folder / "file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(Entries(), 0);
}

TEST_F(WorkFolders, AreSweptOnceTheirProcessIsKilled) {
  std::string killed;
  std::string living;
  ChildProcess one = Hold(killed);
  const ChildProcess other = Hold(living);
  WorkFolder::Sweep();
  EXPECT_TRUE(fs::exists(killed));
  one.Kill();
  EXPECT_TRUE(fs::exists(killed));
  WorkFolder::Sweep();
  EXPECT_FALSE(fs::exists(killed));
  EXPECT_TRUE(fs::exists(living));
}

TEST_F(WorkFolders, AreSweptByTheNextOne) {
  std::string killed;
  Hold(killed).Kill();
  EXPECT_TRUE(fs::exists(killed));
  const WorkFolder next;
  EXPECT_FALSE(fs::exists(killed));
}

TEST_F(WorkFolders, DoWithoutAPlaceThatOthersMayWrite) {
  fs::create_directory(place());
  fs::permissions(place(), fs::perms::all);
  {
    const WorkFolder folder;
    EXPECT_EQ(fs::path(folder.path()).parent_path(), root_);
  }
  WorkFolder::Sweep();
  EXPECT_TRUE(fs::is_empty(place()));
}

}  // namespace
}  // namespace foretell
