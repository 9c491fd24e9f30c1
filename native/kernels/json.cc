#include "kernels/json.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <version>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock {

namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostTokens = 1 << 20;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Returns the value of four hexadecimal digits, or -1.
int hex4(const char* at) noexcept {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = at[i];
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

// Returns the first byte that is '"', '\\' or a control character, or `end`.
const char* plain_until(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  for (; end - at >= 16; at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    const __m128i slash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
    const int mask = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
    if (mask) return at + std::countr_zero(static_cast<unsigned>(mask));
  }
#endif
  while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

class Parser {
 public:
  Parser(const char* text, std::size_t size, std::vector<JsonToken>& tape)
      : text_(text), at_(text), end_(text + size), tape_(tape), most_(tape.size() + kMostTokens) {}

  bool document() {
    skip_space();
    if (at_ == end_ || *at_ != '{' || !container(0)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() noexcept {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  bool take(char wanted) noexcept {
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  JsonToken* add(JsonKind kind) {
    if (tape_.size() >= most_) return nullptr;
    JsonToken& token = tape_.emplace_back();
    token.kind = kind;
    return &token;
  }

  bool container(int depth) {
    if (depth == kDeepest) return false;
    const bool is_object = *at_++ == '{';
    const std::size_t place = tape_.size();
    if (!add(is_object ? JsonKind::kObject : JsonKind::kArray)) return false;
    std::int64_t length = 0;
    if (!take(is_object ? '}' : ']')) {
      do {
        if (is_object) {
          skip_space();
          if (at_ == end_ || *at_ != '"' || !string() || !take(':')) return false;
        }
        skip_space();
        if (!value(depth)) return false;
        ++length;
      } while (take(','));
      if (!take(is_object ? '}' : ']')) return false;
    }
    tape_[place].length = length;
    tape_[place].end = static_cast<std::int64_t>(tape_.size());
    return true;
  }

  bool value(int depth) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
      case '[':
        return container(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true", JsonKind::kTrue);
      case 'f':
        return word("false", JsonKind::kFalse);
      case 'n':
        return word("null", JsonKind::kNull);
      default:
        return number();
    }
  }

  bool word(const char* name, JsonKind kind) {
    const std::size_t size = std::strlen(name);
    if (static_cast<std::size_t>(end_ - at_) < size || std::memcmp(at_, name, size)) return false;
    at_ += size;
    return add(kind);
  }

  bool string() {
    const char* const begin = ++at_;
    JsonKind kind = JsonKind::kText;
    for (;;) {
      at_ = plain_until(at_, end_);
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) return false;
      if (*at_ == '"') break;
      kind = JsonKind::kEscaped;
      if (!escape()) return false;
    }
    JsonToken* const token = add(kind);
    if (!token) return false;
    token->begin = begin - text_;
    token->end = at_++ - text_;
    return true;
  }

  bool escape() noexcept {
    if (end_ - at_ < 2) return false;
    const char kind = at_[1];
    at_ += 2;
    if (kind != 'u') return kind && std::strchr("\"\\/bfnrt", kind);
    if (end_ - at_ < 4) return false;
    const int first = hex4(at_);
    at_ += 4;
    if (first < 0xD800 || first > 0xDFFF) return first >= 0;
    if (first > 0xDBFF || end_ - at_ < 6 || at_[0] != '\\' || at_[1] != 'u') return false;
    const int second = hex4(at_ + 2);
    at_ += 6;
    return second >= 0xDC00 && second <= 0xDFFF;
  }

  bool number() {
    const char* const begin = at_;
    if (*at_ == '-') ++at_;
    if (at_ == end_ || !is_digit(*at_)) return false;
    if (*at_ == '0') {
      ++at_;
    } else {
      digits();
    }
    bool is_real = false;
    if (at_ < end_ && *at_ == '.') {
      ++at_;
      if (!digits()) return false;
      is_real = true;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return false;
      is_real = true;
    }
    JsonToken* const token = add(is_real ? JsonKind::kFloat : JsonKind::kInt);
    if (!token) return false;
    if (!is_real) return std::from_chars(begin, at_, token->whole).ec == std::errc();
#if defined(__cpp_lib_to_chars)
    return std::from_chars(begin, at_, token->real).ec == std::errc();
#else
    return false;
#endif
  }

  bool digits() noexcept {
    const char* const begin = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return at_ > begin;
  }

  const char* const text_;
  const char* at_;
  const char* const end_;
  std::vector<JsonToken>& tape_;
  const std::size_t most_;
};

void append_utf8(int point, std::string& into) {
  const auto add = [&into](int byte) { into += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6), add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12), add(0x80 | (point >> 6 & 0x3F)), add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | point >> 18), add(0x80 | (point >> 12 & 0x3F)), add(0x80 | (point >> 6 & 0x3F)),
        add(0x80 | (point & 0x3F));
  }
}

}  // namespace

bool parse_json_object(const char* text, std::size_t size, std::vector<JsonToken>& tape) {
  return Parser(text, size, tape).document();
}

void unescape_json(const char* text, const JsonToken& token, std::string& into) {
  into.clear();
  const char* at = text + token.begin;
  const char* const end = text + token.end;
  while (at < end) {
    const void* const found = std::memchr(at, '\\', static_cast<std::size_t>(end - at));
    const char* const slash = found ? static_cast<const char*>(found) : end;
    into.append(at, slash);
    if (slash == end) return;
    at = slash + 2;
    switch (slash[1]) {
      case 'b':
        into += '\b';
        break;
      case 'f':
        into += '\f';
        break;
      case 'n':
        into += '\n';
        break;
      case 'r':
        into += '\r';
        break;
      case 't':
        into += '\t';
        break;
      case 'u': {
        int point = hex4(at);
        at += 4;
        if (point >= 0xD800 && point <= 0xDFFF) {
          point = 0x10000 + ((point - 0xD800) << 10) + (hex4(at + 2) - 0xDC00);
          at += 6;
        }
        append_utf8(point, into);
        break;
      }
      default:
        into += slash[1];
    }
  }
}

}  // namespace penstock
