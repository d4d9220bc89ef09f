#include <fstream>

#include "foretell/error.h"
#include "foretell/frontends.h"
#include "frontends/torchscript/archive.h"

namespace foretell {

Program LoadModel(const std::string& path, const LoadOptions& options) {
  std::string first_bytes(4, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(first_bytes.data(), 4);
  if (torchscript::LooksLikeZip(first_bytes)) return LoadTorchScript(path);
  return LoadOnnx(path, options);
}

}  // namespace foretell
