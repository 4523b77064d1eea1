#include "redis/routing/record_request.hpp"

#include <utility>
#include <variant>

#include "redis/protocol/record_answer.hpp"

namespace simba::redis {

RecordRequest::RecordRequest(std::shared_ptr<const RequestContext> context,
                             const std::string& mutex, RecordHandler handler)
    : RoutedScript{std::move(context), mutex, Confirmed::no},
      call_{ScriptCall::read_record(mutex)},
      writes_{false},
      handler_{std::move(handler)} {}

RecordRequest::RecordRequest(std::shared_ptr<const RequestContext> context,
                             const RecordWrite& write, RecordHandler handler)
    : RoutedScript{std::move(context), write.mutex, Confirmed::yes},
      call_{ScriptCall::write_record(write)},
      writes_{true},
      handler_{std::move(handler)} {}

void RecordRequest::succeed(const Node& node, const Reply& reply, const Reply* wait) {
  RecordResult result = parse_record_answer(reply);
  const auto* answer = std::get_if<RecordAnswer>(&result);
  if (answer != nullptr && answer->outcome == RecordAnswer::Outcome::written) {
    if (const auto error = unconfirmed(node, wait)) {
      result = Error{ErrorKind::in_doubt, error->what()};
    }
  } else if (const auto* error = std::get_if<Error>(&result);
             writes_ && error != nullptr && error->kind() == ErrorKind::internal) {
    result = Error{ErrorKind::in_doubt, error->what()};  // it may have been written all the same
  }
  handler_(std::move(result));
}

}  // namespace simba::redis
