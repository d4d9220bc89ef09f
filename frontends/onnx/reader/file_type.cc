#include "frontends/onnx/reader/file_type.h"

#include <algorithm>

namespace foretell::onnx {
namespace {

using std::literals::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view type;
};

constexpr std::string_view kPickle =
    "a Python pickle, for example of weights, not a network; save the network "
    "with torch.export.save, torch.jit.save or torch.onnx.export";

constexpr Signature kSignatures[] = {
    {0, "\x89PNG\r\n"sv, "a PNG image"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "GIF8"sv, "a GIF image"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "PK\x03\x04"sv, "a zip archive, such as a TorchScript file"},
    {0, "\x1f\x8b"sv, "a gzip archive"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "an xz archive"},
    {0, "BZh"sv, "a bzip2 archive"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive"},
    {257, "ustar"sv, "a tar archive"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file, such as a Keras model"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program, such as a TensorRT plug-in"},
    {0, "GGUF"sv,
     "a GGUF model, such as llama.cpp's; use the folder with the original "
     "config.json, or a network of the zoo"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {0, "\x80\x02"sv, kPickle},
    {0, "\x80\x04"sv, kPickle},
    {8, "{\""sv, "a safetensors file"},
    {0, "version https://git-lfs"sv,
     "a git-lfs pointer, so the model itself was not downloaded"},
    {0, "<!DOCTYPE"sv, "an HTML page"},
    {0, "<html"sv, "an HTML page"},
    {0, "<?xml"sv, "an XML file"},
    {0, "{"sv, "a JSON file"},
};

bool IsTextByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= ' ' && byte != 127) || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

std::string_view GuessFileType(std::string_view first_bytes) {
  for (const Signature& signature : kSignatures) {
    if (first_bytes.size() < signature.offset) continue;
    if (first_bytes.substr(signature.offset).starts_with(signature.bytes)) {
      return signature.type;
    }
  }
  const std::string_view head = first_bytes.substr(0, 512);
  const bool is_text =
      !head.empty() && std::all_of(head.begin(), head.end(), IsTextByte);
  return is_text ? "a text file"sv : ""sv;
}

}  // namespace foretell::onnx
