#include "config/read/file_text.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "config/messages.hpp"

namespace simba::config {
namespace {

[[noreturn]] void refuse_with(int error) {
  if (error == ENOENT) refuse("cannot read the file: no such file");
  if (error == EACCES) refuse("cannot read the file: permission denied");
  if (error == EISDIR) refuse("cannot read the file: it is a directory");
  refuse(fmt::format("cannot read the file: {}", std::generic_category().message(error)));
}

struct Closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace

std::string read_file(const std::filesystem::path& file, std::size_t limit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse_with(EISDIR);
  const std::unique_ptr<std::FILE, Closer> stream{std::fopen(file.c_str(), "rbe")};
  if (!stream) refuse_with(errno);
  std::string text(limit + 1, '\0');
  const std::size_t size = std::fread(text.data(), 1, text.size(), stream.get());
  if (std::ferror(stream.get()) != 0) refuse_with(errno);
  if (size > limit) refuse(fmt::format("the file is larger than {} KiB", limit / 1024));
  text.resize(size);
  return text;
}

}  // namespace simba::config
