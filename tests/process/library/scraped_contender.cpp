// A process that Prometheus scrapes: it contends when told to and serves its metrics.
//
//   simba-scraped-contender <url of the store> <mutex>
//
// Says "port <number>". Obeys the lines "contend", "stop" and "quit", and says "ok".

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <asio.hpp>
#include <fmt/format.h>

#include "simba/core/metrics_text.hpp"
#include "simba/simba.hpp"

namespace {

using asio::ip::tcp;

void say(const std::string& line) { std::cout << line << std::endl; }

std::string header_value(const std::string& request, const std::string& name) {
  const auto begin = request.find(name);
  if (begin == std::string::npos) return {};
  return request.substr(begin + name.size(), request.find("\r\n", begin) - begin - name.size());
}

std::string answer_to(const std::string& request, const simba::Client& client) {
  const auto format = simba::accepted_format(header_value(request, "Accept: "));
  const std::string text = simba::metrics_text(client.statistics(), format);
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      simba::content_type(format), text.size(), text);
}

void serve_metrics(tcp::acceptor& acceptor, const simba::Client& client) {
  for (;;) {
    asio::error_code error;
    tcp::socket socket{acceptor.get_executor()};
    acceptor.accept(socket, error);
    if (error) return;  // closed
    std::string request;
    asio::read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", error);
    if (!error) asio::write(socket, asio::buffer(answer_to(request, client)), error);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: simba-scraped-contender <url of the store> <mutex>\n";
    return 2;
  }
  const simba::Client client{argv[1]};
  asio::io_context io;
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  // Ends with the process: nothing can be waiting for it then.
  std::thread{[&] { serve_metrics(acceptor, client); }}.detach();
  say(fmt::format("port {}", acceptor.local_endpoint().port()));

  simba::Election election;
  simba::Lock hostile;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    if (line == "contend") election = client.elect(argv[2], {});
    if (line == "stop") election.stop();
    // A name that must be escaped, and is shown as it is.
    if (line == "lock") hostile = client.lock("a\"b\\c\n<script>\U0001F512");
    say("ok");
  }
  election.stop();
  hostile.unlock();
  std::cout.flush();
  std::_Exit(0);
} catch (const std::exception& error) {
  std::cerr << "simba-scraped-contender: " << error.what() << std::endl;
  return 1;
}
