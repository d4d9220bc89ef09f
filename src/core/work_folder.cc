// Next to each folder is a file that its process has locked (flock), which the
// kernel unlocks when the process ends, however it does. Folders are made and
// swept under a lock of the place, so that none is seen without its lock.
#include "src/core/work_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "src/core/failure.h"

namespace foretell {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLockEnding = ".lock";
/// Of the place itself; no folder is called so.
constexpr char kPlaceLock[] = "place.lock";

fs::path TemporaryFolder() {
  std::error_code failed;
  const fs::path folder = fs::temp_directory_path(failed);
  return failed ? "/tmp" : folder;
}

fs::path Place() {
  return TemporaryFolder() / fmt::format("foretell-{}", geteuid());
}

/// Whether `place` is a folder that is this user's alone: another user may have
/// made one of that name.
bool IsOwn(const fs::path& place) {
  struct stat status = {};
  return lstat(place.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 077) == 0;
}

Descriptor OpenLock(const fs::path& path, int flags) {
  return Descriptor(
      open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
}

bool Locks(const Descriptor& file, int flags) {
  if (!file.is_open()) return false;
  int result = 0;
  do {
    result = flock(file.number(), LOCK_EX | flags);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

fs::path LockOf(const fs::path& folder) {
  return folder.string().append(kLockEnding);
}

/// Removes what belongs to no process, `folder` and its lock, either of which
/// may be missing.
void RemoveUnlessUsed(const fs::path& folder) {
  const Descriptor lock = OpenLock(LockOf(folder), 0);
  if (lock.is_open() && !Locks(lock, LOCK_NB)) return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::remove(LockOf(folder), ignored);
}

/// Requires the lock of `place`.
void SweepPlace(const fs::path& place) {
  std::set<fs::path> folders;
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(place, ignored)) {
    if (entry.path().filename() == kPlaceLock) continue;
    const bool is_lock = entry.path().extension() == kLockEnding;
    folders.insert(is_lock ? place / entry.path().stem() : entry.path());
  }
  for (const fs::path& folder : folders) RemoveUnlessUsed(folder);
}

std::string MakeIn(const fs::path& place) {
  std::string path = place / "foretell-XXXXXX";
  if (mkdtemp(path.data()) != nullptr) return path;
  throw IoFailure("{}: cannot be made: {}", path, SystemMessage(errno));
}

}  // namespace

WorkFolder::WorkFolder() {
  const fs::path place = Place();
  mkdir(place.c_str(), 0700);
  // A folder of another user: then this one is never swept.
  if (!IsOwn(place)) {
    path_ = MakeIn(TemporaryFolder());
    return;
  }
  const Descriptor place_lock = OpenLock(place / kPlaceLock, O_CREAT);
  Locks(place_lock, 0);
  SweepPlace(place);
  path_ = MakeIn(place);
  lock_ = OpenLock(LockOf(path_), O_CREAT | O_EXCL);
  Locks(lock_, 0);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  fs::remove(LockOf(path_), ignored);
}

std::string WorkFolder::operator/(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

void WorkFolder::Sweep() {
  const fs::path place = Place();
  if (!IsOwn(place)) return;
  const Descriptor place_lock = OpenLock(place / kPlaceLock, O_CREAT);
  if (Locks(place_lock, LOCK_NB)) SweepPlace(place);
}

}  // namespace foretell
