#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/program.h"
#include "src/program/input_draft.h"

namespace foretell {

/// The sizes of `request` by dimension, with that of kSequenceLength under the
/// name that it has in `drafts`: their only symbol other than the batch, else
/// the only one with a name typical of lengths, else the second dimensions that
/// have neither name nor size. It may also be a size that the file fixes.
///
/// Throws Error(kInvalidArgument) that lists the symbols if none or several may
/// be meant, and if `--dim` gives it another size.
std::map<std::string, std::int64_t> SizesByName(
    const std::vector<Draft>& drafts, const InputRequest& request,
    const std::string& origin);

}  // namespace foretell
