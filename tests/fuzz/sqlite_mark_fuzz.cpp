// Feeds bytes to all that the SQLite store reads beside the database: the file of liveness, marks
// of processes in rows, and the offsets of clocks in /proc. The input is a mark; the whole of it is
// also the content of the file, and the text of the offsets.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "simba/core/error.hpp"
#include "sqlite/host_clock.hpp"
#include "sqlite/liveness.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sqlite {
namespace {

using fuzz::check;
using State = Liveness::State;

class MarkWorld {
 public:
  std::filesystem::path file(const char* name) const { return folder_.path() / name; }

  Liveness open(const char* name) const {
    return {file(name), file("simba.db"), ChildProcesses::ignore,
            sql::real_now() + std::chrono::seconds{5}, closing_};
  }

 private:
  const support::TemporaryFolder folder_;
  const sql::Wakeup closing_;
};

void check_marks(const Liveness& here, const Liveness& other, std::string_view text) {
  const auto state = [&here](const std::string& mark) { return here.state_of(mark); };
  check(text == here.mark() || text == other.mark() || state(std::string{text}) == State::unknown ||
            text.starts_with(here.mark().substr(0, here.mark().find(':') + 1)),
        "nothing is known of another file");
  check(state(here.mark()) == State::alive && state(other.mark()) == State::alive,
        "who is there is alive");
  // The place of somebody else, or none at all, in the right file.
  const std::string place = here.mark().substr(0, here.mark().find(':') + 1) + std::string{text};
  check(place == here.mark() || place == other.mark() || state(place) != State::alive,
        "nobody is alive whom nobody has locked a byte for");
  if (!text.empty()) {
    check(state(other.mark() + std::string{text}) != State::alive, "a longer mark is another");
    check(state(std::string{text} + other.mark()) != State::alive, "a longer mark is another");
  }
}

void check_file(const MarkWorld& world, std::string_view content) {
  std::ofstream{world.file("any-alive"), std::ios::binary} << content;
  try {
    const Liveness one = world.open("any-alive");
    const Liveness two = world.open("any-alive");
    check(one.mark() != two.mark(), "every mark is another");
    check(one.state_of(two.mark()) == State::alive && two.state_of(one.mark()) == State::alive,
          "who is there is alive, whatever was in the file");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::configuration, "what is not ours is refused");
  }
}

void check_offsets(std::string_view text) {
  constexpr std::chrono::nanoseconds most = std::chrono::seconds{4'700'000'001};
  std::istringstream offsets{std::string{text}};
  try {
    const auto offset = boot_time_offset(offsets);
    check(offset >= -most && offset <= most, "an offset is within its bounds");
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::unsupported, "an offset out of range is not supported");
  }
}

void run_sqlite_mark(std::string_view bytes) {
  static const MarkWorld world;
  static const Liveness here = world.open("simba-alive");
  static const Liveness other = world.open("simba-alive");
  check_marks(here, other, bytes);
  check_file(world, bytes);
  check_offsets(bytes);
}

}  // namespace
}  // namespace simba::sqlite

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::sqlite::run_sqlite_mark({reinterpret_cast<const char*>(data), size});
  return 0;
}
