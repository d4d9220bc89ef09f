#include "tests/fuzz/promises.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace foretell::fuzz {

void Require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

void RequireGoodMessage(const Error& error, std::string_view origin) {
  const std::string what = error.what();
  Require(what.starts_with(origin), "no origin in: " + what);
  Require(what.find('\n') == std::string::npos, "two lines: " + what);
  Require(error.code() != ErrorCode::kInternal, "internal error: " + what);
}

ScratchFile::ScratchFile(std::string_view name)
    : path_((std::filesystem::temp_directory_path() /
             fmt::format("foretell_fuzz_{}_{}", getpid(), name))
                .string()) {}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void ScratchFile::Write(std::string_view bytes) const {
  std::ofstream(path_, std::ios::binary) << bytes;
}

}  // namespace foretell::fuzz
