#include "support/jvm/curator_contender.hpp"

#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::support {

namespace {

constexpr const char* curator = "/usr/share/java/curator-recipes.jar";
constexpr const char* program = SIMBA_TEST_JAVA_CLASSES "/CuratorContender.class";

std::int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::vector<std::string> command(const std::string& servers, const std::string& path,
                                 const std::string& contender_id,
                                 std::chrono::milliseconds session_timeout) {
  // Java has no clock that goes on while the machine sleeps, so it is told by how much they differ.
  const auto offset = nanoseconds(CLOCK_BOOTTIME) - nanoseconds(CLOCK_MONOTONIC);
  auto words = curator_program("CuratorContender");
  words.insert(words.end(), {servers, path, contender_id, std::to_string(session_timeout.count()),
                             "5000", std::to_string(offset)});
  return words;
}

}  // namespace

std::vector<std::string> curator_program(const std::string& main_class) {
  return {java_program(),
          "-Xmx64m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-Xshare:auto",
          "-XX:-UsePerfData",
          "-Dfile.encoding=UTF-8",
          "-Dstdout.encoding=UTF-8",
          "-cp",
          fmt::format("{}:{}:/usr/share/java/slf4j-nop.jar", SIMBA_TEST_JAVA_CLASSES, curator),
          main_class};
}

std::string CuratorContender::missing() {
  if (::access(curator, R_OK) != 0) {
    return fmt::format("there is no {}: apt-get install libcurator-recipes-java", curator);
  }
  if (::access(program, R_OK) != 0) {
    return fmt::format("there is no {}: configure and build again", program);
  }
  return {};
}

CuratorContender::CuratorContender(const Location& location, const std::string& path,
                                   std::string contender_id,
                                   std::chrono::milliseconds session_timeout)
    : CuratorContender{connect_string(location), path, std::move(contender_id), session_timeout} {}

CuratorContender::CuratorContender(const std::string& servers, const std::string& path,
                                   std::string contender_id,
                                   std::chrono::milliseconds session_timeout)
    : contender_id_{std::move(contender_id)},
      process_{command(servers, path, contender_id_, session_timeout)} {
  if (said("ready").empty()) {
    throw std::runtime_error{fmt::format("Curator does not start; it has said:\n{}", transcript())};
  }
}

std::string CuratorContender::leader() {
  constexpr std::string_view key = "leader ";
  return process_.ask("leader?", key).substr(key.size());
}

bool CuratorContender::leads() { return process_.ask("leads?", "leads ") == "leads yes"; }

}  // namespace simba::support
