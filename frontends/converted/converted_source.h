#pragma once

#include <string>

#include "foretell/program.h"

namespace foretell::converted {

/// `program` with one more sentence among the warnings of its runs, the first.
Program WithNote(const Program& program, std::string note);

}  // namespace foretell::converted
