#pragma once

namespace foretell::sandbox {

/// Permanently drops the privileges of root or of a process with capabilities;
/// executed programs do not regain them, which requires PR_SET_NO_NEW_PRIVS.
/// With `reads_files` it may still read files of other users. Throws
/// Error(kIo).
void DropCapabilities(bool reads_files);

}  // namespace foretell::sandbox
