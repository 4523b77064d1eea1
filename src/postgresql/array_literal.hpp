#pragma once

#include <string>
#include <string_view>

namespace simba::postgresql {

/// The text form of a PostgreSQL array, which goes to the server as a parameter.
class ArrayLiteral {
 public:
  /// Throws InvalidArgumentError where `element` has a NUL, which no text of PostgreSQL can hold.
  void add(std::string_view element);
  void add_null();

  /// Ends the array.
  std::string take() &&;

 private:
  std::string text_{"{"};
};

}  // namespace simba::postgresql
