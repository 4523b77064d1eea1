#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "process/cli/program.hpp"
#include "support/patience.hpp"
#include "unit/http/raw_client.hpp"

namespace simba::support {

/// `simba serve` on a free port of the loopback, asked over real connections.
class ServedPage {
 public:
  struct Answer {
    int status = 0;
    std::string head{};
    std::string body{};

    /// The body as an object; empty if it is none.
    nlohmann::json object() const { return nlohmann::json::parse(body, nullptr, false); }
  };

  explicit ServedPage(const std::string& url, std::vector<std::string> options = {})
      : program_{words(url, std::move(options))} {
    program_.says("\n");
    const auto line = nlohmann::json::parse(program_.out(), nullptr, false);
    if (!line.is_object()) throw std::runtime_error{"simba serve: " + program_.err()};
    const std::string address = line.at("url");
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }

  std::uint16_t port() const noexcept { return port_; }
  CliProgram& program() noexcept { return program_; }

  /// `lines` are further lines of the head, each with its end.
  Answer get(const std::string& path, const std::string& lines = {}) const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host() + "\r\n" + lines +
               "Connection: close\r\n\r\n");
  }

  Answer post(const std::string& path, const std::string& body, const std::string& lines) const {
    return ask(
        fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{}"
                    "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                    path, host(), lines, body.size(), body));
  }

  Answer ask(const std::string& request) const {
    http::RawClient client{port_, request};
    const std::string all = client.until_closed();
    Answer answer;
    const auto end = all.find("\r\n\r\n");
    if (!all.starts_with("HTTP/1.1 ") || end == std::string::npos) return answer;
    answer.status = std::stoi(all.substr(9, 3));
    answer.head = all.substr(0, end + 2);
    answer.body = all.substr(end + 4);
    return answer;
  }

  /// The mutex as the API has it, once `is` says that it is as it should be.
  template <typename Is>
  nlohmann::json mutex(const std::string& name, Is is, const std::string& lines = {}) const {
    nlohmann::json found;
    eventually([&] {
      found = get("/api/mutexes/" + name, lines).object();
      return found.is_object() && found.contains("owner") && is(found);
    });
    return found;
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  static std::vector<std::string> words(const std::string& url, std::vector<std::string> options) {
    std::vector<std::string> all{"serve", "-b", url, "--json", "--listen", "127.0.0.1:0"};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }

  CliProgram program_;
  std::uint16_t port_ = 0;
};

}  // namespace simba::support
