#pragma once

#include <string_view>

namespace simba::mysql {

/// What the first bytes from a server say, before anything was sent to it.
enum class Greeting {
  incomplete,  ///< more bytes must come before that can be said
  offers_tls,
  refuses,  ///< an error, such as "too many connections"
  no_tls,   ///< it offers none, or the client library would not understand the greeting
};

/// Reads the beginning of a stream as the client library will.
Greeting read_greeting(std::string_view bytes) noexcept;

}  // namespace simba::mysql
