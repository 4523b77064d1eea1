#include "simba/testkit/fault.hpp"

#include <utility>

namespace simba::testkit {

namespace {

Error lost() { return {ErrorKind::in_doubt, "fault store: the answer was lost"}; }

}  // namespace

Fault::Fault(Kind kind, Error error) : kind_{kind}, error_{std::move(error)} {}

Fault Fault::fail(Error error) { return {Kind::fail, std::move(error)}; }

Fault Fault::fail() {
  return fail({ErrorKind::unavailable, "fault store: the store is unreachable"});
}

Fault Fault::swallow() { return {Kind::swallow, lost()}; }

Fault Fault::lose_answer(Error error) { return {Kind::lose_answer, std::move(error)}; }

Fault Fault::lose_answer() { return lose_answer(lost()); }

Fault Fault::hold_answer() { return {Kind::hold_answer, lost()}; }

Fault Fault::hold_request() { return {Kind::hold_request, lost()}; }

}  // namespace simba::testkit
