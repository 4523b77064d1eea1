// Feeds bytes to all that reads what a Redis server, or anyone on our channels, may say. The input
// is what comes over the wire, so that a file of the corpus can be read and written by hand.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/support.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/keys.hpp"
#include "redis/protocol/lease_answer.hpp"
#include "redis/protocol/message.hpp"
#include "redis/protocol/record_answer.hpp"
#include "redis/protocol/reply.hpp"
#include "redis/protocol/resp_reader.hpp"
#include "redis/protocol/server_error.hpp"
#include "redis/routing/cluster_map.hpp"
#include "redis/routing/sentinel_watch.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using fuzz::check;
using fuzz::prints;

/// Low, so that the fuzzer meets them.
constexpr RespLimits limits{.bytes = 1'024, .elements = 64};

struct Outcome {
  std::vector<Reply> replies{};
  bool failed = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Takes all that the reader can give now. An exception other than Error is a find.
void drain(RespReader& reader, Outcome& outcome) {
  try {
    while (auto reply = reader.next()) outcome.replies.push_back(std::move(*reply));
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::internal, "a reader fails with an internal error");
    check(prints(error.what()), "the text of a failure prints");
    outcome.failed = true;
  }
}

Outcome read_whole(std::string_view bytes) {
  RespReader reader{limits};
  Outcome outcome;
  reader.feed(bytes);
  drain(reader, outcome);
  return outcome;
}

/// Cuts the bytes as a network might, always the same for the same bytes.
Outcome read_in_pieces(std::string_view bytes) {
  RespReader reader{limits};
  Outcome outcome;
  std::uint32_t state = 2'166'136'261U;
  while (!bytes.empty() && !outcome.failed) {
    state = (state ^ static_cast<unsigned char>(bytes.front())) * 16'777'619U;
    const std::string_view piece = bytes.substr(0, 1 + state % 23);
    reader.feed(piece);
    drain(reader, outcome);
    bytes.remove_prefix(piece.size());
  }
  return outcome;
}

void check_limits(const Reply& reply, std::size_t& elements, std::size_t& bytes) {
  elements += reply.elements.size();
  bytes += reply.text.size();
  check(reply.elements.empty() || reply.is(Reply::Type::array), "only an array has elements");
  for (const Reply& element : reply.elements) check_limits(element, elements, bytes);
}

void check_unknown(const Unknown& unknown) {
  check(unknown.what.size() <= detail::longest_excerpt + 100 && prints(unknown.what),
        "it can be logged");
}

void check_payload(std::string_view bytes) {
  constexpr std::chrono::milliseconds longest = std::chrono::days{365};
  const Payload payload = parse_payload(bytes);
  if (const auto* const grant = std::get_if<Grant>(&payload)) {
    check(grant->token > 0 && grant->ttl.count() > 0 && grant->ttl <= longest &&
              grant->transition.count() >= 0 && grant->transition <= longest &&
              grant->at >= StoreTime{},
          "a grant is within its bounds");
  } else if (const auto* const acquired = std::get_if<Acquired>(&payload)) {
    check("acquired@@" + acquired->owner_id == bytes, "nothing of an event is lost");
  } else if (const auto* const released = std::get_if<Released>(&payload)) {
    check("released@@" + released->previous_owner_id == bytes, "nothing of an event is lost");
  } else {
    check_unknown(std::get<Unknown>(payload));
  }
}

void check_server_error(std::string_view text) {
  const ServerError error = parse_server_error(text);
  check(error.slot < 16'384 && error.endpoint.port > 0, "a redirection is within its bounds");
  const std::string message = to_error(error, "Redis").what();
  check(prints(message) && message.size() <= detail::longest_excerpt + 600,
        "an error can be logged");
}

/// What is made of replies to the commands that we send.
void check_answers(const Reply& reply) {
  constexpr std::chrono::milliseconds longest = std::chrono::days{365};
  const engine::LeaseRequest request{
      .mutex = "m", .contender_id = "me", .ttl = std::chrono::seconds{10}, .transition = {}};
  const auto answer = parse_lease_answer(reply, request);
  if (const auto* const record = answer.record()) {
    check(record->ttl_left.count() >= 0 && record->transition_left >= record->ttl_left &&
              record->transition_left <= longest,
          "a lease is within its bounds");
  }
  const RecordResult result = parse_record_answer(reply);
  if (const auto* const found = std::get_if<RecordAnswer>(&result)) {
    check(found->record.now >= SystemTime{} && found->record.text == reply.elements[2].text,
          "a record is as the server has it");
  } else {
    check(prints(std::get<Error>(result).what()), "an error can be logged");
  }
  const auto map = parse_cluster_slots(reply, Endpoint{});
  if (const auto* const known = std::get_if<ClusterMap>(&map)) {
    check(known->served() <= slot_count, "a cluster has no more than its slots");
  }
}

void check_reply(const Reply& reply) {
  std::size_t elements = 0;
  std::size_t bytes = 0;
  check_limits(reply, elements, bytes);
  check(elements <= limits.elements && bytes <= limits.bytes, "a reply is within the limits");

  if (reply.is(Reply::Type::error)) check_server_error(reply.text);
  check_answers(reply);
  const Message message = parse_message(reply);
  if (const auto* const published = std::get_if<Published>(&message)) {
    check_payload(published->payload);
  } else if (const auto* const unknown = std::get_if<Unknown>(&message)) {
    check_unknown(*unknown);
  }
}

/// A command of the lines of the input is read as the same words.
void check_command(std::string_view bytes) {
  const auto words = fuzz::split(bytes, '\n');
  std::string command;
  append_command(command, words);
  RespReader reader;
  reader.feed(command);
  const auto reply = reader.next();
  check(reply && reply->is(Reply::Type::array), "a command is an array");
  check(std::equal(words.begin(), words.end(), reply->elements.begin(), reply->elements.end(),
                   [](std::string_view word, const Reply& element) {
                     return element.is(Reply::Type::string) && element.text == word;
                   }),
        "a command has the words that it was made of");
  check(!reader.next(), "nothing follows a command");
}

void run_redis_reply(std::string_view bytes) {
  const Outcome outcome = read_whole(bytes);
  check(outcome == read_in_pieces(bytes), "replies do not depend on how the bytes were cut");
  for (const Reply& reply : outcome.replies) check_reply(reply);
  check_payload(bytes);
  check_server_error(bytes);
  if (const auto master = parse_switch(bytes, "mymaster")) {
    check(master->port > 0 && !master->host.empty(), "a master has an address");
  }
  check_command(bytes);
}

}  // namespace
}  // namespace simba::redis

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  simba::redis::run_redis_reply({reinterpret_cast<const char*>(data), size});
  return 0;
}
