#pragma once

#include <linux/landlock.h>

#include <cstdint>
#include <span>
#include <string>

namespace foretell::sandbox {

inline constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
/// Also allows loading libraries.
inline constexpr std::uint64_t kReadFolders =
    kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
/// A program, or the loader that its file names.
inline constexpr std::uint64_t kRunProgram =
    kReadFile | LANDLOCK_ACCESS_FS_EXECUTE;
/// Regular files and folders can be made, changed, deleted and renamed; into
/// another folder only with kernel support (Linux >= 5.19).
inline constexpr std::uint64_t kChangeFiles =
    kReadFolders | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER;

/// Allowed actions at and below a path, following links.
struct PathRule {
  std::string path;
  std::uint64_t rights = 0;
  /// Applies to a regular file only: allows nothing if the path has been
  /// replaced by a link to a folder.
  bool is_file = false;
};

/// True if the kernel has Landlock.
bool IsPathLockSupported();

/// Permanently forbids this process and its future children to open, create,
/// change or execute any file that no rule allows. Rules for missing paths are
/// skipped. Requires PR_SET_NO_NEW_PRIVS. Throws Error(kIo).
void AllowPathsOnly(std::span<const PathRule> rules);

}  // namespace foretell::sandbox
