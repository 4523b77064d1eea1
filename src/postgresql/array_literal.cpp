#include "postgresql/array_literal.hpp"

#include <utility>

#include "simba/core/error.hpp"

namespace simba::postgresql {

void ArrayLiteral::add(std::string_view element) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  for (const char c : element) {
    if (c == '\0') throw InvalidArgumentError{"a name must not contain a NUL character"};
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c;
  }
  text_ += '"';
}

void ArrayLiteral::add_null() {
  if (text_.size() > 1) text_ += ',';
  text_ += "NULL";
}

std::string ArrayLiteral::take() && {
  text_ += '}';
  return std::move(text_);
}

}  // namespace simba::postgresql
