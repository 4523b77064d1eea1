#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace simba::redis {

/// Appends a command to `out` as the server wants to read it. Arguments may hold any bytes.
void append_command(std::string& out, std::span<const std::string_view> words);

/// The same as a text of its own.
std::string command(std::initializer_list<std::string_view> words);

}  // namespace simba::redis
