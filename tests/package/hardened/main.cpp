// Has a buffer on the stack, and a copy into it whose size only the run knows.
#include <cstdio>
#include <cstring>

int main(int count, char** words) {
  char buffer[64] = {};
  std::memcpy(buffer, words[0], std::strlen(words[0]) + static_cast<std::size_t>(count));
  return std::puts(buffer) < 0 ? 1 : 0;
}
