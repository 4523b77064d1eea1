// Servers that are none.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <netinet/in.h>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console.hpp"
#include "support/patience.hpp"

namespace simba::postgresql::test {
namespace {

using testing::HasSubstr;

std::string message(char kind, const std::string& body) {
  const auto size = static_cast<std::uint32_t>(body.size() + 4);
  std::string text{kind};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(size >> shift & 0xFFU);
  return text + body;
}

/// Logs everyone in, and then says the same for ever.
class RogueServer {
 public:
  RogueServer(std::string endless, std::chrono::microseconds pause)
      : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 5) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::runtime_error{"no port for a rogue server"};
    }
    options.port = ntohs(address.sin_port);
    options.user = "me";
    options.listen = Listen::no;
    thread_ = std::thread{[this, what = std::move(endless), pause] { serve(what, pause); }};
  }
  ~RogueServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  RogueServer(const RogueServer&) = delete;
  RogueServer& operator=(const RogueServer&) = delete;

  PostgreSqlOptions options;

 private:
  void serve(const std::string& endless, std::chrono::microseconds pause) const {
    const std::string zero(4, '\0');
    const std::string greeting = message('R', zero) + message('K', zero + zero) + message('Z', "I");
    for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::array<char, 4096> asked{};
      if (::recv(client, asked.data(), asked.size(), 0) <= 0) continue;
      ::send(client, greeting.data(), greeting.size(), MSG_NOSIGNAL);
      if (::recv(client, asked.data(), asked.size(), 0) <= 0) continue;
      const std::string begin = message('1', "") + message('2', "") +
                                message('T', std::string("\0\1c\0", 4) + std::string(18, '\0'));
      ::send(client, begin.data(), begin.size(), MSG_NOSIGNAL);
      while (::send(client, endless.data(), endless.size(), MSG_NOSIGNAL) > 0) {
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
      }
    }
  }

  const int listener_;
  std::thread thread_;
};

std::size_t resident_pages() {
  std::ifstream facts{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t resident = 0;
  facts >> all >> resident;
  return resident;
}

std::string many(const std::string& one) {
  std::string text;
  while (text.size() < 60'000) text += one;
  return text;
}

TEST(PostgreSqlRogue, EndlessAnswersCostNeitherMemoryNorTime) {
  const std::string row = message('D', std::string("\0\1\0\0\3\xE8", 6) + std::string(1'000, 'x'));
  const std::string null = message('D', std::string("\0\1\xFF\xFF\xFF\xFF", 6));
  const std::string notification =
      message('A', std::string(4, '\0') + "simba_mutex" + '\0' + std::string(1'000, 'x') + '\0');
  // The beginning of a row of a gigabyte.
  const std::string huge = std::string{"D\x40\0\0\0", 5} + std::string(60'000, '\0');
  for (const auto& [name, endless] :
       std::vector<std::pair<const char*, std::string>>{{"rows", many(row)},
                                                        {"rows without a value", many(null)},
                                                        {"notifications", many(notification)},
                                                        {"one row", huge}}) {
    SCOPED_TRACE(name);
    RogueServer server{endless, 0us};
    Client client{server.options};
    const std::size_t before = resident_pages();
    std::size_t most = before;
    const LocalTime begun = sql::real_now();
    {
      const std::jthread watcher{[&most](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          most = std::max(most, resident_pages());
          std::this_thread::yield();
        }
      }};
      const Error error = error_of([&] { client.database.connect(begun + 60s, client.closing); });
      EXPECT_THAT(error.what(), HasSubstr("sent more than 32 MiB"));
    }
    EXPECT_LT(sql::real_now() - begun, support::scaled(30s));
    EXPECT_LT((most - before) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 256U << 20U);
  }
}

TEST(PostgreSqlRogue, AServerThatNeverFallsSilentIsGivenUpAtTheDeadline) {
  const std::string notice = message('N', std::string("SNOTICE\0Mx\0\0", 12));
  RogueServer server{notice, 200us};
  Client client{server.options};
  const LocalTime begun = sql::real_now();
  const Error error = error_of([&] { client.database.connect(begun + 300ms, client.closing); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_LT(sql::real_now() - begun, support::scaled(10s));
}

}  // namespace
}  // namespace simba::postgresql::test
