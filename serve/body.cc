#include "serve/body.h"

#include <memory>

namespace foretell::serve {
namespace {

constexpr char kEncoding[] = "Content-Encoding";
constexpr char kNotUnpacked[] =
    "Content-Encoding is not gzip, deflate or br, or the body is a form";
constexpr char kNotPacked[] = "the body does not match its Content-Encoding";

using Unpacker = std::unique_ptr<httplib::detail::decompressor>;

/// What a part takes in addition to its texts.
constexpr std::size_t kPartBytes = sizeof(httplib::MultipartFormData);

/// Counts the bytes that arrive and decides which are kept.
class Taken {
 public:
  explicit Taken(std::size_t most) : most_(most) {}

  /// Whether `count` more bytes are kept, in addition to all before.
  bool Take(std::size_t count) {
    is_full_ = is_full_ || count > most_ - size_;
    if (!is_full_) size_ += count;
    return !is_full_;
  }
  bool is_full() const { return is_full_; }

 private:
  std::size_t most_;
  std::size_t size_ = 0;
  bool is_full_ = false;
};

/// Returns and removes the encoding of the body, or httplib would unpack all of
/// it. httplib has not read the body yet, and its const reference is to a
/// variable of its own, so it may be changed.
std::string TakeEncoding(httplib::Headers& headers) {
  std::string encoding;
  const auto [begin, end] = headers.equal_range(kEncoding);
  for (auto header = begin; header != end; ++header) {
    encoding += encoding.empty() ? header->second : ", " + header->second;
  }
  headers.erase(begin, end);
  return encoding == "identity" ? "" : encoding;
}

/// Null for encodings that are not supported.
Unpacker UnpackerOf(const std::string& encoding) {
  if (encoding == "gzip" || encoding == "deflate") {
    return std::make_unique<httplib::detail::gzip_decompressor>();
  }
  if (encoding == "br") {
    return std::make_unique<httplib::detail::brotli_decompressor>();
  }
  return nullptr;
}

Body ReadPacked(Unpacker unpacker, const httplib::ContentReader& read,
                std::size_t most) {
  Body body;
  if (unpacker == nullptr) body = {.refusal = 415, .reason = kNotUnpacked};
  Taken taken(most);
  const auto add_bytes = [&](const char* data, std::size_t count) {
    if (taken.Take(count)) body.bytes.append(data, count);
    return !taken.is_full();
  };
  body.is_whole = read([&](const char* data, std::size_t count) {
    if (body.refusal != 0) return true;
    if (unpacker->decompress(data, count, add_bytes)) return true;
    body.refusal = taken.is_full() ? 413 : 400;
    body.reason = kNotPacked;
    return true;
  });
  return body;
}

Body ReadPlain(const httplib::Request& http, const httplib::ContentReader& read,
               std::size_t most) {
  Body body;
  Taken taken(most);
  const auto add_bytes = [&](const char* data, std::size_t count) {
    if (taken.Take(count)) body.bytes.append(data, count);
    return true;
  };
  const auto add_part = [&](const httplib::MultipartFormData& part) {
    if (taken.Take(kPartBytes + part.name.size() + part.filename.size())) {
      body.parts.push_back(part);
    }
    return true;
  };
  const auto add_to_part = [&](const char* data, std::size_t count) {
    if (taken.Take(count)) body.parts.back().content.append(data, count);
    return true;
  };
  body.is_whole = http.is_multipart_form_data() ? read(add_part, add_to_part)
                                                : read(add_bytes);
  if (taken.is_full()) body.refusal = 413;
  return body;
}

}  // namespace

Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
              std::size_t most) {
  auto& headers = const_cast<httplib::Request&>(http).headers;
  const std::string encoding = TakeEncoding(headers);
  if (encoding.empty()) return ReadPlain(http, read, most);
  const bool is_form = http.is_multipart_form_data();
  // httplib would look for the parts of a form in packed bytes.
  if (is_form) headers.erase("Content-Type");
  return ReadPacked(is_form ? nullptr : UnpackerOf(encoding), read, most);
}

}  // namespace foretell::serve
