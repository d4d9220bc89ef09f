#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "src/program/input_draft.h"

namespace foretell {

/// The sizes of `request` by dimension, with that of kSequenceLength under the
/// name that it has in `drafts`: their only symbol but for the batch, else the
/// only one that is called as lengths are, else the second dimensions that have
/// neither name nor size. It may also be a size that the file fixes.
///
/// Throws Error(kInvalidArgument) that lists the symbols where none or several
/// may be meant, and where `--dim` gives it another size.
std::map<std::string, std::int64_t> SizesByName(
    const std::vector<Draft>& drafts, const InputRequest& request,
    const std::string& origin);

}  // namespace foretell
