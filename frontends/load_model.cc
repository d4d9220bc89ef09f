#include "foretell/error.h"
#include "foretell/frontends.h"
#include "frontends/torchscript/archive.h"
#include "src/core/files.h"

namespace foretell {

Program LoadModel(const std::string& path, const LoadOptions& options) {
  if (torchscript::LooksLikeZip(FirstBytes(path, 4))) {
    return LoadTorchScript(path);
  }
  return LoadOnnx(path, options);
}

}  // namespace foretell
