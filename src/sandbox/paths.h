#pragma once

#include <linux/landlock.h>

#include <cstdint>
#include <span>
#include <string>

namespace foretell::sandbox {

inline constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
/// Libraries can be loaded by it, too.
inline constexpr std::uint64_t kReadFolders =
    kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
/// A program, or the loader that its file names.
inline constexpr std::uint64_t kRunProgram =
    kReadFile | LANDLOCK_ACCESS_FS_EXECUTE;
/// Regular files and folders can be made, changed, deleted and renamed; into
/// another folder only where the kernel knows that right (Linux 5.19).
inline constexpr std::uint64_t kChangeFiles =
    kReadFolders | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER;

/// What may be done at and below a path, to what a link there leads to.
struct PathRule {
  std::string path;
  std::uint64_t rights = 0;
  /// Holds for a regular file alone: where a stranger has put a link to a
  /// folder, nothing is allowed.
  bool is_file = false;
};

/// Whether the kernel has Landlock.
bool IsPathLockSupported();

/// Forbids this process for ever, with its children to come, to open, make,
/// change or execute any file that no rule allows. Rules for paths that do not
/// exist are left out. Requires PR_SET_NO_NEW_PRIVS. Throws Error(kIo).
void AllowPathsOnly(std::span<const PathRule> rules);

}  // namespace foretell::sandbox
