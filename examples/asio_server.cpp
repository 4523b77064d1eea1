// A server that locks per request, on one thread: simba/asio.hpp. It answers each line that a
// client sends, at most one client at a time for each order, on however many servers.
//
//   simba-example-asio-server [URL of a store]
//
// To show something without a second terminal it is its own client, and ends after that.

#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "simba/asio.hpp"
#include "simba/simba.hpp"
#include "store_url.hpp"

using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

asio::awaitable<std::string> read_line(tcp::socket& socket) {
  std::string line;
  const std::size_t length = co_await asio::async_read_until(
      socket, asio::dynamic_buffer(line, 100), '\n', asio::use_awaitable);
  co_return line.substr(0, length - 1);
}

/// One request. Waiting for the lock keeps no thread: other requests are served meanwhile.
asio::awaitable<void> answer(tcp::socket socket, simba::Client client) {
  const std::string order = co_await read_line(socket);
  simba::Lock lock =
      co_await simba::async_lock(client, "orders-" + order, {.wait = 10s}, asio::use_awaitable);
  const std::string reply = "order " + order + " settled\n";
  co_await simba::async_unlock(std::move(lock), asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(reply), asio::use_awaitable);
}

asio::awaitable<void> serve(tcp::acceptor& acceptor, simba::Client client, int requests) {
  for (int i = 0; i < requests; ++i) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), answer(std::move(socket), client), asio::detached);
  }
}

asio::awaitable<void> request(tcp::endpoint server, std::string order) {
  tcp::socket socket{co_await asio::this_coro::executor};
  co_await socket.async_connect(server, asio::use_awaitable);
  const std::string line = order + "\n";
  co_await asio::async_write(socket, asio::buffer(line), asio::use_awaitable);
  const std::string reply = co_await read_line(socket);
  std::cout << reply << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  simba::Client client{store_url(argc, argv)};
  asio::io_context context{1};
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  asio::co_spawn(context, serve(acceptor, client, 3), asio::detached);
  for (const char* order : {"1", "1", "2"}) {
    asio::co_spawn(context, request(acceptor.local_endpoint(), order), asio::detached);
  }
  static_cast<void>(client.owner("orders-1"));  // throws here if the store cannot be used
  context.run();
  client.close();     // before the context is destroyed
  context.restart();  // so that the handlers of what it cancelled still run
  context.run();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "simba-example-asio-server: " << error.what() << std::endl;
  return 1;
}
