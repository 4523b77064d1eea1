// Feeds texts to all that reads names, data and facts of nodes. The input: a line for each name;
// the whole of it is also data, a list of servers and what a server answers to "srvr".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support.hpp"
#include "simba/core/error.hpp"
#include "simba/core/names.hpp"
#include "zookeeper/admin/four_letter_word.hpp"
#include "zookeeper/client/c_library.hpp"
#include "zookeeper/queue/node_names.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {
namespace {

using fuzz::check;

/// Whether the name is taken. An exception other than InvalidArgumentError is a find.
template <typename Check>
bool accepted(Check&& check_it) {
  try {
    check_it();
    return true;
  } catch (const InvalidArgumentError& error) {
    check(fuzz::stays_on_its_line(error.what()), "a refusal is one line");
    return false;
  }
}

void check_one(std::string_view name) {
  const bool is_name = accepted([&] { check_name("mutex name", name, 1'000'000); });
  const bool is_node = accepted([&] { check_node_name("mutex name", name); });
  if (is_name && is_node) {
    check(name.find('/') == std::string_view::npos && name != "." && name != "..",
          "a node is not a path");
    check(fuzz::stays_on_its_line(name), "a node has no control characters");
    check(steps_to("/simba/" + std::string{name}).size() == 2, "a node is one step of a path");
  }
  if (const auto sequence = sequence_of(name)) {
    check(name.ends_with(*sequence), "a sequence is the end of a name");
    check(sequence->find("latch-") == std::string_view::npos, "it follows the last mark");
  } else {
    check(name.find("latch-") == std::string_view::npos, "a mark makes a contender");
  }
}

void check_queue(const std::vector<std::string>& names) {
  const auto queue = contenders_among(names);
  const auto contenders =
      std::count_if(names.begin(), names.end(), [](const auto& n) { return sequence_of(n); });
  check(queue.size() == static_cast<std::size_t>(contenders), "no contender is lost or made up");
  check(
      std::is_sorted(queue.begin(), queue.end(),
                     [](const auto& a, const auto& b) { return sequence_of(a) < sequence_of(b); }),
      "contenders are in the order of their sequence");
  std::vector<std::string> reversed{names.rbegin(), names.rend()};
  check(contenders_among(reversed) == queue, "the order of an answer does not matter");
}

/// As the library gives them.
void check_copies(const std::vector<std::string>& names, std::string_view data) {
  std::vector<std::string> copies = names;
  std::vector<char*> pointers;
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  const String_vector vector{static_cast<std::int32_t>(pointers.size()), pointers.data()};
  check(names_of(&vector) == names, "names are kept");
  check(data_of(data.data(), static_cast<int>(data.size())) == data, "data are kept");
  check(data_of(data.data(), -1).empty(), "a node without data has none");
}

void check_stat(std::string_view bytes) {
  Stat stat{};
  stat.czxid = fuzz::take_number(bytes);
  stat.ctime = fuzz::take_number(bytes);
  stat.ephemeralOwner = fuzz::take_number(bytes);
  const NodeStat read = stat_of(&stat);
  check(read.created_zxid == stat.czxid, "the number of the change is kept");
  check(read.created_at.time_since_epoch().count() == stat.ctime, "the moment is kept");
  check(read.session == stat.ephemeralOwner || read.session == 0, "the session is kept");
  code_of(static_cast<int>(fuzz::take_number(bytes)));
}

void check_server(std::string_view text) {
  accepted([&] {
    for (const Server& server : servers_in(text)) {
      check(server.host.find_first_of(",[]") == std::string::npos, "a server is one host");
    }
  });
  const std::string version = version_in(text);
  check(version.find_first_not_of("0123456789.") == std::string::npos, "a version is of digits");
  tick_in(text);
  is_too_old(version);
  is_too_old(text);
}

void run_zookeeper_node(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view line : fuzz::split(text, '\n')) {
    check_one(line);
    if (line.find('\0') == std::string_view::npos) names.emplace_back(line);
  }
  check_queue(names);
  check_copies(names, text);
  check_stat(text);
  check_server(text);
}

}  // namespace
}  // namespace simba::zookeeper

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::zookeeper::run_zookeeper_node({reinterpret_cast<const char*>(data), size});
  return 0;
}
