#include "http/server.hpp"

#include <atomic>
#include <dirent.h>
#include <fcntl.h>
#include <future>
#include <memory>
#include <mutex>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "raw_client.hpp"
#include "simba/core/error.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/own_certificate.hpp"
#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

namespace simba::http {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view host = "Host: localhost\r\n";

std::string get(std::string_view path, std::string_view headers = "") {
  return "GET " + std::string{path} + " HTTP/1.1\r\n" + std::string{host} + std::string{headers} +
         "\r\n";
}

/// Answers "METHOD path?query body".
Response echo(const Request& request) {
  return {.body = request.method + " " + request.path + "?" + request.query + " " + request.body};
}

Server start(std::function<Response(const Request&)> answer = echo, ServerOptions options = {}) {
  return Server{{.host = "127.0.0.1"}, answering(std::move(answer)), std::move(options)};
}

std::uint16_t port_of(const Server& server) { return server.address().port; }

TEST(HttpServer, AnswersWithWhatTheHandlerReturns) {
  const Server server = start([](const Request& request) {
    EXPECT_EQ(request.header("x-thing"), "a b");
    EXPECT_EQ(request.peer, "127.0.0.1");
    return Response{.status = 404,
                    .content_type = "text/html",
                    .body = "<p>",
                    .headers = {{"X-Answer", "one\r\nX-Split: two"}}};
  });
  RawClient client{port_of(server), get("/", "X-Thing: a b\r\nConnection: close\r\n")};
  const std::string answer = client.until_closed();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/html\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Answer: oneX-Split: two\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n<p>"));
}

TEST(HttpServer, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  const Server server = start();
  std::string all;
  for (int i = 0; i < 100; ++i) all += get("/" + std::to_string(i));
  RawClient client{port_of(server), all + get("/last", "Connection: close\r\n")};
  const std::string answer = client.until_closed();
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answer.find("GET /" + std::to_string(i) + "? ", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_THAT(answer, EndsWith("GET /last? "));
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  const Server server = start();
  RawClient client{port_of(server), "HEAD /a HTTP/1.1\r\n" + std::string{host} + "\r\n"};
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("Content-Length: 9\r\n"));
  client.send(get("/b", "Connection: close\r\n"));
  const std::string next = client.until_closed();
  EXPECT_THAT(next, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(next, EndsWith("GET /b? "));
}

TEST(HttpServer, ReadsBodiesOfAnyFraming) {
  const Server server = start();
  RawClient sized{port_of(server), "POST /p?q=1 HTTP/1.1\r\n" + std::string{host} +
                                       "Content-Length: 3\r\nConnection: close\r\n\r\nabc"};
  EXPECT_THAT(sized.until_closed(), EndsWith("POST /p?q=1 abc"));
  RawClient chunked{port_of(server), "POST /p HTTP/1.1\r\n" + std::string{host} +
                                         "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                                         "2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n"};
  EXPECT_THAT(chunked.until_closed(), EndsWith("POST /p? abc"));
  RawClient careful{port_of(server), "POST /p HTTP/1.1\r\n" + std::string{host} +
                                         "Content-Length: 3\r\nExpect: 100-continue\r\n"
                                         "Connection: close\r\n\r\n"};
  EXPECT_THAT(careful.until("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue\r\n"));
  careful.send("abc");
  EXPECT_THAT(careful.until_closed(), EndsWith("POST /p? abc"));
}

TEST(HttpServer, TakesNothingThatComesBehindABodyForAHeader) {
  const Server server = start([](const Request& request) {
    return Response{.body = std::string{request.header("X-Admin")}};
  });
  RawClient client{port_of(server), "POST /p HTTP/1.1\r\n" + std::string{host} +
                                        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                                        "1\r\na\r\n0\r\nX-Admin: yes\r\nHost: other\r\n\r\n"};
  const std::string answer = client.until_closed();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 0\r\n"));
}

TEST(HttpServer, ClosesAfterARequestOfHttp10WhichNeedsNoHost) {
  const Server server = start();
  RawClient client{port_of(server), "OPTIONS /leader HTTP/1.0\r\n\r\n"};
  const std::string answer = client.until_closed();
  EXPECT_THAT(answer, StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("OPTIONS /leader? "));
}

class HttpServerRefuses : public ::testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(HttpServerRefuses, WhatIsNoRequest) {
  std::atomic<int> calls{0};
  const Server server = start([&](const Request&) {
    ++calls;
    return Response{};
  });
  RawClient client{port_of(server), GetParam().first};
  EXPECT_THAT(client.until_closed(),
              StartsWith("HTTP/1.1 " + std::to_string(GetParam().second) + " "));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(parse_request(GetParam().first).refused, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, HttpServerRefuses,
    ::testing::Values(
        std::pair{std::string{"\x16\x03\x01\x02 a TLS greeting\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/1.1\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"}, 400},
        std::pair{std::string{"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/2.0\r\nHost: a\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"}, 400},
        std::pair{std::string{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n"},
                  400},
        std::pair{"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9'000, 'x') + "\r\n\r\n", 431},
        std::pair{"GET /" + std::string(5'000, 'x') +
                      " HTTP/1.1\r\nHost: a\r\nX: " + std::string(5'000, 'x') + "\r\n\r\n",
                  431},
        std::pair{"GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
        std::pair{std::string{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"}, 413},
        std::pair{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n" +
                      std::string(65'537, 'x') + "\r\n0\r\n\r\n",
                  413}));

TEST(HttpServer, LetsAClientThatStillSendsReadItsRefusal) {
  const Server server = start();
  RawClient client{port_of(server),
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"};
  for (int i = 0; i < 100; ++i) client.send(std::string(10'000, 'x'));
  EXPECT_THAT(client.until_closed(), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, ClosesConnectionsOfClientsThatAreSlow) {
  const Server server =
      start(echo, {.request_time = 200ms, .idle_time = 200ms, .answer_time = 200ms});
  RawClient silent{port_of(server)};
  RawClient slow_header{port_of(server), "GET / HT"};
  RawClient slow_body{port_of(server),
                      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"};
  RawClient idle{port_of(server), get("/")};
  EXPECT_EQ(silent.until_closed(), "");
  EXPECT_EQ(slow_header.until_closed(), "");
  EXPECT_EQ(slow_body.until_closed(), "");
  EXPECT_THAT(idle.until_closed(), EndsWith("GET /? "));
}

TEST(HttpServer, DropsAClientThatDoesNotTakeItsAnswer) {
  const Server server =
      start([](const Request&) { return Response{.body = std::string(64 * 1024 * 1024, 'x')}; },
            {.answer_time = 200ms});
  RawClient client{port_of(server), 4'096};
  client.send(get("/"));
  EXPECT_TRUE(support::eventually([&] { return !client.send("x"); }));
  RawClient other{port_of(server), "OPTIONS / HTTP/1.0\r\n\r\n"};
  EXPECT_THAT(other.until("\r\n\r\n"), StartsWith("HTTP/1.0 200 "));
}

TEST(HttpServer, MakesRoomForNewConnectionsByClosingWhatHasWaitedForLongest) {
  const Server server = start(echo, {.most_connections = 3});
  RawClient first{port_of(server), get("/1")};
  first.until("GET /1?");
  RawClient second{port_of(server), get("/2")};
  second.until("GET /2?");
  RawClient third{port_of(server), "GET /never-"};
  for (int i = 0; i < 20; ++i) {
    RawClient next{port_of(server), get("/next", "Connection: close\r\n")};
    EXPECT_THAT(next.until_closed(), EndsWith("GET /next? "));
  }
  EXPECT_TRUE(first.is_closed_by_server());
}

TEST(HttpServer, ReportsAHandlerThatThrows) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const Server server =
      start([](const Request&) -> Response { throw std::runtime_error{"oops"}; }, {.log = log});
  RawClient client{port_of(server), get("/", "Connection: close\r\n")};
  EXPECT_THAT(client.until_closed(), StartsWith("HTTP/1.1 500 "));
  EXPECT_TRUE(log->contains("oops"));
  RawClient again{port_of(server), get("/", "Connection: close\r\n")};
  EXPECT_THAT(again.until_closed(), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, TakesAnswersFromOtherThreadsAndMissesNone) {
  std::mutex mutex;
  std::vector<Responder> kept;
  Server server{{.host = "127.0.0.1"},
                [&](const Request& request, const Responder& respond) {
                  if (request.path == "/dropped") return;
                  const std::lock_guard lock{mutex};
                  kept.push_back(respond);
                },
                {.answer_time = 300ms}};
  RawClient dropped{port_of(server), get("/dropped", "Connection: close\r\n")};
  EXPECT_THAT(dropped.until_closed(), StartsWith("HTTP/1.1 500 "));
  const auto take = [&] {
    std::optional<Responder> taken;
    EXPECT_TRUE(support::eventually([&] {
      const std::lock_guard lock{mutex};
      if (kept.empty()) return false;
      taken = kept.back();
      kept.clear();
      return true;
    }));
    return taken.value();
  };
  RawClient answered{port_of(server), get("/", "Connection: close\r\n")};
  const Responder respond = take();
  std::thread{[&] { respond({.body = "later"}); }}.join();
  respond({.body = "twice"});
  EXPECT_THAT(answered.until_closed(), EndsWith("\r\n\r\nlater"));
  RawClient forgotten{port_of(server), get("/", "Connection: close\r\n")};
  const Responder late = take();
  EXPECT_THAT(forgotten.until_closed(), StartsWith("HTTP/1.1 503 "));
  late({.body = "too late"});
}

/// Hands its streams to the test.
class StreamServer {
 public:
  explicit StreamServer(ServerOptions options = {})
      : server_{start(
            [this](const Request&) {
              return Response{.content_type = "text/event-stream", .stream = [this](Stream stream) {
                                const std::lock_guard lock{mutex_};
                                streams_.push_back(std::move(stream));
                              }};
            },
            std::move(options))} {}

  std::uint16_t port() const { return port_of(server_); }

  Stream next() {
    std::optional<Stream> taken;
    EXPECT_TRUE(support::eventually([&] {
      const std::lock_guard lock{mutex_};
      if (streams_.empty()) return false;
      taken = streams_.back();
      streams_.pop_back();
      return true;
    }));
    return taken.value();
  }

 private:
  std::mutex mutex_;
  std::vector<Stream> streams_;  // guarded by mutex_
  Server server_;
};

TEST(HttpServer, StreamsEventsUntilTheyAreClosed) {
  StreamServer server;
  RawClient client{server.port(), get("/events")};
  const Stream stream = server.next();
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(stream.send("data: 1\n\n"));
  EXPECT_EQ(client.until("\n\n"), "data: 1\n\n");
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(stream.send("."));
  stream.close();
  EXPECT_FALSE(stream.send("x"));
  EXPECT_EQ(client.until_closed(), std::string(1'000, '.'));
}

TEST(HttpServer, DropsAStreamWhoseClientDoesNotRead) {
  StreamServer server{{.stream_bytes = 100'000}};
  RawClient slow{server.port(), 4'096};
  slow.send(get("/events"));
  const Stream stuck = server.next();
  RawClient fast{server.port(), get("/events")};
  const Stream stream = server.next();
  const auto text = std::make_shared<const std::string>(10'000, 'x');
  std::size_t sent = 0;
  while (stuck.send(text)) ASSERT_LT(++sent, 10'000U) << "it is never dropped";
  EXPECT_TRUE(slow.is_closed_by_server());
  EXPECT_TRUE(stream.send("still here"));
  EXPECT_THAT(fast.until("still here"), HasSubstr("still here"));
}

TEST(HttpServer, NoticesThatTheClientOfAStreamHasLeft) {
  StreamServer server{{.most_streams = 1}};
  {
    RawClient client{server.port(), get("/events")};
    const Stream stream = server.next();
    RawClient refused{server.port(), get("/events")};
    EXPECT_THAT(refused.until("\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
    client.leave();
    EXPECT_TRUE(support::eventually([&] { return !stream.send("anyone?"); }));
  }
  RawClient next{server.port(), get("/events")};
  EXPECT_THAT(next.until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, EndsAtOnceWhateverItsClientsDo) {
  std::optional<RawClient> client;
  std::optional<Stream> stream;
  {
    StreamServer server;
    client.emplace(server.port(), get("/events"));
    stream = server.next();
    RawClient half{server.port(), "GET / HT"};
  }
  EXPECT_TRUE(client->is_closed_by_server());
  EXPECT_FALSE(stream->send("x"));
}

TEST(HttpServer, LetsGoOfAHandlerThatBlocksAtItsEnd) {
  const auto released = std::make_shared<std::promise<void>>();
  const auto entered = std::make_shared<std::promise<void>>();
  auto server = std::make_unique<Server>(ListenAddress{.host = "127.0.0.1"},
                                         answering([released, entered](const Request&) {
                                           entered->set_value();
                                           released->get_future().wait();
                                           return Response{};
                                         }));
  RawClient client{port_of(*server), get("/")};
  entered->get_future().wait();
  server.reset();
  released->set_value();
  EXPECT_THAT(client.until_closed(), Not(HasSubstr("still open")));
}

TEST(HttpServer, CallsWhatIsToBeDoneEachSecond) {
  std::atomic<int> calls{0};
  const Server server = start(echo, {.each_second = [&] { ++calls; }});
  EXPECT_TRUE(support::eventually([&] { return calls >= 2; }));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const Server server = start();
  try {
    const Server second{server.address(), answering(echo)};
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(),
                HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(port_of(server)) +
                          ": Address already in use; choose another port"));
  }
}

TEST(HttpServer, InheritsNothingToPrograms) {
  const Server server = start();
  RawClient client{port_of(server), get("/")};
  client.until("GET /?");
  DIR* const folder = ::opendir("/proc/self/fd");
  ASSERT_NE(folder, nullptr);
  while (const dirent* const entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const int descriptor = std::atoi(entry->d_name);       // NOLINT(cert-err34-c)
    struct stat found {};
    if (descriptor <= 2 || ::fstat(descriptor, &found) != 0 || !S_ISSOCK(found.st_mode)) continue;
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
  }
  ::closedir(folder);
}

TEST(HttpServer, DoesNothingInAForkedChild) {
  std::optional<Server> server{std::in_place, ListenAddress{.host = "127.0.0.1"}, answering(echo)};
  const pid_t child = ::fork();
  if (child == 0) {
    server.reset();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  RawClient client{port_of(*server), get("/", "Connection: close\r\n")};
  EXPECT_THAT(client.until_closed(), EndsWith("GET /? "));
}

TEST(HttpServer, SpeaksTls) {
  const support::TemporaryFolder folder;
  const auto key = support::new_own_key();
  const std::unique_ptr<SSL_CTX, support::OpenSslDeleter<SSL_CTX_free>> made{
      ::SSL_CTX_new(::TLS_server_method())};
  support::use_own_certificate(made.get(), key.get());
  const std::string certificate_file = (folder.path() / "cert.pem").string();
  const std::string key_file = (folder.path() / "key.pem").string();
  BIO* const certificate_out = ::BIO_new_file(certificate_file.c_str(), "w");
  ::PEM_write_bio_X509(certificate_out, ::SSL_CTX_get0_certificate(made.get()));
  ::BIO_free(certificate_out);
  BIO* const key_out = ::BIO_new_file(key_file.c_str(), "w");
  ::PEM_write_bio_PrivateKey(key_out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  ::BIO_free(key_out);

  const Server server =
      start(echo, {.request_time = 500ms,
                   .tls = ServerTls{.certificate_file = certificate_file, .key_file = key_file}});
  const std::unique_ptr<SSL_CTX, support::OpenSslDeleter<SSL_CTX_free>> context{
      ::SSL_CTX_new(::TLS_client_method())};
  const RawClient client{port_of(server)};
  const std::unique_ptr<SSL, support::OpenSslDeleter<SSL_free>> ssl{::SSL_new(context.get())};
  ::SSL_set_fd(ssl.get(), client.descriptor());
  ASSERT_EQ(::SSL_connect(ssl.get()), 1);
  const std::string request = get("/secret", "Connection: close\r\n");
  ASSERT_GT(::SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())), 0);
  std::string answer;
  char byte = 0;
  while (::SSL_read(ssl.get(), &byte, 1) == 1) answer += byte;
  EXPECT_THAT(answer, EndsWith("GET /secret? "));

  RawClient silent{port_of(server)};
  EXPECT_TRUE(silent.is_closed_by_server());
  RawClient plain{port_of(server), get("/")};
  EXPECT_THAT(plain.until_closed(), Not(HasSubstr("HTTP/")));
}

TEST(HttpServer, SaysWhichTlsFileIsWrong) {
  try {
    const Server server = start(
        echo, {.tls = ServerTls{.certificate_file = "/no/such.pem", .key_file = "/no/key.pem"}});
    FAIL() << "a server without a certificate";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'/no/such.pem'"));
  }
}

TEST(HttpListenAddress, IsAnAddressAndAPort) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080", "--listen").host, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080", "--listen").port, 8080);
  EXPECT_EQ(parse_listen_address("[::1]:0", "--listen").host, "::1");
  EXPECT_TRUE(parse_listen_address("localhost:1", "--listen").is_loopback());
  EXPECT_TRUE(parse_listen_address("[::1]:1", "--listen").is_loopback());
  EXPECT_FALSE(parse_listen_address("0.0.0.0:1", "--listen").is_loopback());
  EXPECT_FALSE(parse_listen_address("[::]:1", "--listen").is_loopback());
  for (const auto* const wrong :
       {"", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
        "example.org:80", "[::1]", "127.0.0.1:80x", "[127.0.0.1:80"}) {
    EXPECT_THROW(parse_listen_address(wrong, "--listen"), InvalidArgumentError) << wrong;
  }
  try {
    parse_listen_address(":8080", "--listen");
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "--listen ':8080' does not begin with an address; write ADDRESS:PORT, for example "
                 "127.0.0.1:8080 for this host only, or 0.0.0.0:8080 for all");
  }
}

}  // namespace
}  // namespace simba::http
