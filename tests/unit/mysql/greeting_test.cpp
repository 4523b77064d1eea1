#include "mysql/greeting.hpp"

#include <string>

#include <gtest/gtest.h>

namespace simba::mysql {
namespace {

using namespace std::string_literals;

std::string packet(const std::string& payload) {
  return std::string{static_cast<char>(payload.size()), '\0', '\0', '\0'} + payload;
}

std::string greeting(const std::string& capabilities, const std::string& version = "10.11.19") {
  return packet("\x0A"s + version + '\0' + "\x07\0\0\0"s + "12345678\0"s + capabilities +
                "\x2D\x02\0"s);
}

const std::string with_tls = greeting("\xFF\xFF"s);
const std::string without_tls = greeting("\xFF\xF7"s);

TEST(MySqlGreeting, TellsWhetherTlsIsOffered) {
  EXPECT_EQ(read_greeting(with_tls), Greeting::offers_tls);
  EXPECT_EQ(read_greeting(greeting("\x00\x08"s, "")), Greeting::offers_tls);
  EXPECT_EQ(read_greeting(without_tls), Greeting::no_tls);
}

TEST(MySqlGreeting, WaitsForTheCapabilitiesAndNoLonger) {
  const std::size_t second_byte = with_tls.size() - 4;
  for (std::size_t size = 0; size <= second_byte; ++size) {
    EXPECT_EQ(read_greeting(with_tls.substr(0, size)), Greeting::incomplete) << size;
  }
  EXPECT_EQ(read_greeting(with_tls.substr(0, second_byte + 1)), Greeting::offers_tls);
}

TEST(MySqlGreeting, AnErrorIsOne) {
  EXPECT_EQ(read_greeting(packet("\xFF\x10\x04Too many connections"s)), Greeting::refuses);
  EXPECT_EQ(read_greeting(packet("\xFF\xFF\xFF"s)), Greeting::no_tls) << "a report of progress";
}

TEST(MySqlGreeting, WhateverElseOffersNoTls) {
  EXPECT_EQ(read_greeting(packet("")), Greeting::incomplete) << "no payload has come";
  EXPECT_EQ(read_greeting(packet("") + "\x0A"), Greeting::no_tls);
  EXPECT_EQ(read_greeting(packet("\x09"s + "3.20\0"s)), Greeting::no_tls) << "an old protocol";
  EXPECT_EQ(read_greeting("HTTP/1.1 400 Bad Request"), Greeting::no_tls);
  const std::string cut = packet("\x0A"s + "10.11.19\0"s + "\x07\0\0\0"s);
  EXPECT_EQ(read_greeting(cut + "12345678\0\xFF\xFF"s), Greeting::no_tls)
      << "what follows is another packet";
  EXPECT_EQ(read_greeting(packet("\x0A"s + std::string(220, '1'))), Greeting::no_tls);
}

}  // namespace
}  // namespace simba::mysql
