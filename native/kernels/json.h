// One JSON object in memory, parsed to a tape of tokens. Only plain objects: the rest is left to Python's json.
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
    std::int64_t begin;   // kText, kEscaped: begin in the text
    std::int64_t length;  // kObject: pairs; kArray: values
  };
  std::int64_t end;  // kText, kEscaped: end in the text; containers: the token after their content
};

// Returns whether the bytes are one object with whitespace around, and plain: at most 64 levels, numbers in the range
// of int64 and double, no lone surrogates, at most a million tokens. Text may still be invalid UTF-8. Tokens are
// appended to the tape.
bool parse_json_object(const char* text, std::size_t size, std::vector<JsonToken>& tape);

// Returns the UTF-8 text of a kEscaped token of `text`, which the parser has checked.
void unescape_json(const char* text, const JsonToken& token, std::string& into);

}  // namespace penstock
