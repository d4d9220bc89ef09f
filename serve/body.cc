#include "serve/body.h"

namespace foretell::serve {
namespace {

/// What a part takes beside its texts.
constexpr std::size_t kPartBytes = sizeof(httplib::MultipartFormData);

/// Counts what comes and tells what is kept.
class Taken {
 public:
  explicit Taken(std::size_t most) : most_(most) {}

  /// Whether `count` more bytes are kept, with all before.
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

}  // namespace

Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
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
  body.is_too_large = taken.is_full();
  return body;
}

}  // namespace foretell::serve
