#include "support/redis/redis_console.hpp"

#include <cerrno>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>

#include <fmt/format.h>

namespace simba::support {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto console_limit = 10s;
constexpr timeval connect_limit{.tv_sec = 2, .tv_usec = 0};

RedisAnswer answer_of(const redisReply& reply) {
  RedisAnswer answer;
  switch (reply.type) {
    case REDIS_REPLY_NIL:
      answer.nil = true;
      break;
    case REDIS_REPLY_INTEGER:
      answer.text = std::to_string(reply.integer);
      break;
    case REDIS_REPLY_ARRAY:
      for (std::size_t i = 0; i < reply.elements; ++i) {
        answer.items.push_back(answer_of(*reply.element[i]));
      }
      break;
    default:
      answer.text.assign(reply.str, reply.len);
  }
  return answer;
}

std::string_view name_of(const RedisConsole::Words& words) {
  return words.empty() ? std::string_view{} : std::string_view{words.front()};
}

}  // namespace

std::vector<std::string> RedisAnswer::texts() const {
  std::vector<std::string> result;
  for (const auto& item : items) {
    result.push_back(item.text);
  }
  return result;
}

void RedisConsole::Close::operator()(redisContext* context) const noexcept { ::redisFree(context); }

RedisConsole::RedisConsole(const Location& location)
    : context_{location.socket.empty()
                   ? ::redisConnectWithTimeout(location.host.c_str(), location.port, connect_limit)
                   : ::redisConnectUnixWithTimeout(location.socket.c_str(), connect_limit)} {
  log_in("admin", location.password);
}

RedisConsole::RedisConsole(const Location& location, std::uint16_t port)
    : RedisConsole{location, port, "admin"} {}

RedisConsole::RedisConsole(const Location& location, std::uint16_t port, const std::string& user)
    : context_{::redisConnectWithTimeout(location.host.c_str(), port, connect_limit)} {
  log_in(user, location.password);
}

RedisConsole::RedisConsole(const std::string& socket, const std::string& password)
    : context_{::redisConnectUnixWithTimeout(socket.c_str(), connect_limit)} {
  log_in("admin", password);
}

RedisConsole::~RedisConsole() = default;

void RedisConsole::log_in(const std::string& user, const std::string& password) {
  if (context_ == nullptr || context_->err != 0) {
    throw std::runtime_error{
        fmt::format("no connection to Redis: {}", context_ ? context_->errstr : "no memory")};
  }
  ask({"AUTH", user, password});
}

RedisAnswer RedisConsole::ask(const Words& words) {
  send(words);
  auto answer = receive(std::chrono::duration_cast<std::chrono::milliseconds>(console_limit));
  if (!answer) {
    throw std::runtime_error{fmt::format("no answer to {}", name_of(words))};
  }
  return std::move(*answer);
}

std::string RedisConsole::value(const Words& words) {
  const auto answer = ask(words);
  return answer.nil ? "nil" : answer.text;
}

void RedisConsole::send(const Words& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* command = nullptr;
  // "auto": an int in hiredis 0.14, a long long since 1.0.
  const auto size = ::redisFormatCommandArgv(&command, static_cast<int>(words.size()), texts.data(),
                                             sizes.data());
  // Not by hiredis, which would raise SIGPIPE where the server is gone.
  const auto sent = ::send(context_->fd, command, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  ::redisFreeCommand(command);
  if (sent != size) {
    throw std::runtime_error{fmt::format("{} could not be sent", name_of(words))};
  }
}

std::optional<RedisAnswer> RedisConsole::receive(std::chrono::milliseconds span) {
  const auto deadline = Clock::now() + span;
  for (;;) {
    void* taken = nullptr;
    if (::redisReaderGetReply(context_->reader, &taken) != REDIS_OK) {
      throw std::runtime_error{fmt::format("no RESP from Redis: {}", context_->reader->errstr)};
    }
    if (taken != nullptr) {
      const std::unique_ptr<void, decltype(&::freeReplyObject)> owner{taken, &::freeReplyObject};
      const auto& reply = *static_cast<const redisReply*>(taken);
      if (reply.type == REDIS_REPLY_ERROR) {
        throw std::runtime_error{std::string{reply.str, reply.len}};
      }
      return answer_of(reply);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{context_->fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == 0) {
      return std::nullopt;
    }
    if (ready == 1 && ::redisBufferRead(context_.get()) != REDIS_OK) {
      throw std::runtime_error{fmt::format("Redis has gone: {}", context_->errstr)};
    }
  }
}

std::string info_value(std::string_view info, std::string_view key) {
  for (auto rest = info; !rest.empty();) {
    const auto line = rest.substr(0, rest.find_first_of("\r\n"));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ':') {
      return std::string{line.substr(key.size() + 1)};
    }
  }
  return {};
}

}  // namespace simba::support
