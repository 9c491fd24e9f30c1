// One JSON object in memory, taken apart into a tape of tokens. Only what is plain: the rest is left to Python's json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

enum class JsonKind : std::uint8_t { kNull, kFalse, kTrue, kInt, kFloat, kText, kEscaped, kObject, kArray };

// A value or a key, in the order of the text. A container's token comes before its content.
struct JsonToken {
  JsonKind kind;
  union {
    std::int64_t whole;   // kInt
    double real;          // kFloat
    std::int64_t begin;   // kText, kEscaped: where it begins in the text
    std::int64_t length;  // kObject: pairs; kArray: values
  };
  std::int64_t end;  // kText, kEscaped: where it ends in the text; containers: the token after their content
};

// Whether the bytes are one object and whitespace around it, and all of it is plain: no deeper than 64, numbers in the
// range of int64 and double, no lone surrogates, no more tokens than a million. Text may still be no UTF-8. The tape is
// appended to.
bool parse_json_object(const char* text, std::size_t size, std::vector<JsonToken>& tape);

// The UTF-8 text that a kEscaped of `text` stands for; the parser has checked it.
void unescape_json(const char* text, const JsonToken& token, std::string& into);

}  // namespace penstock
