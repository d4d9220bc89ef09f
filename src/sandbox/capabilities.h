#pragma once

namespace foretell::sandbox {

/// Gives up for ever what root, or a process with capabilities, may do beyond
/// other users; programs that are executed do not get it back, which requires
/// PR_SET_NO_NEW_PRIVS. With `reads_files` it may still read files of other
/// users. Throws Error(kIo).
void DropCapabilities(bool reads_files);

}  // namespace foretell::sandbox
