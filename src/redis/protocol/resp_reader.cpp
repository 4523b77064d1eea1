#include "redis/protocol/resp_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <hiredis/read.h>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

struct FreeReader {
  void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
};

}  // namespace

/// The reader of hiredis calls us for each value that is complete, and for an array when its length
/// is known. We build the reply in `root`: an element is added to the array that its task's parent
/// names, which is always the last one of its own parent, so no pointer to it is moved meanwhile.
///
/// hiredis itself allocates only for what was fed, and refuses lengths below -1. For a long string
/// it waits as long as bytes come: our limit on bytes ends that. Since version 1.0 it also reads
/// RESP 3, and arrays nested as deep as they come: both are refused here.
struct RespReader::Impl {
  explicit Impl(const RespLimits& wanted) : limits{wanted} {
    reader.reset(redisReaderCreateWithFunctions(&functions()));
    if (reader == nullptr) throw std::bad_alloc{};
    reader->privdata = this;
  }

  static redisReplyObjectFunctions& functions() noexcept;
  template <typename Functions>
  static void refuse_doubles_and_booleans(Functions& functions) noexcept;
  static Impl& of(const redisReadTask* task) noexcept {
    return *static_cast<Impl*>(task->privdata);
  }

  /// Where the value of a task goes.
  Reply& place(const redisReadTask* task) {
    if (task->parent == nullptr) return root = Reply{};
    return static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
  }

  /// What hiredis takes for "out of memory"; we say what it was.
  void* refuse(std::string why) noexcept {
    failure = std::move(why);
    return nullptr;
  }

  void* make_text(const redisReadTask* task, const char* text, std::size_t size);
  void* make_array(const redisReadTask* task, std::size_t size);
  void* make_integer(const redisReadTask* task, std::int64_t value);
  void* make_nil(const redisReadTask* task);
  void* refuse_resp3() noexcept { return refuse("it contains a RESP 3 value"); }

  /// Bytes fed that belong to no value yet.
  std::size_t unread() const noexcept { return reader->len - reader->pos; }

  [[noreturn]] void fail(std::string why) {
    failure = std::move(why);
    fail_again();
  }
  [[noreturn]] void fail_again() const {
    throw Error{ErrorKind::internal, fmt::format("invalid RESP reply: {}", failure)};
  }

  const RespLimits limits;
  std::unique_ptr<redisReader, FreeReader> reader;
  Reply root{};
  std::size_t elements = 0;  ///< that the arrays of this reply have announced
  std::size_t begun = 0;     ///< bytes of this reply that were fed, and whatever follows it
  std::string failure{};     ///< not empty: all is over
};

namespace {

/// Runs what makes a value; no exception may pass through C code.
template <typename Make>
void* guarded(Make make) noexcept {
  try {
    return make();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

redisReplyObjectFunctions& RespReader::Impl::functions() noexcept {
  static redisReplyObjectFunctions all = [] {
    redisReplyObjectFunctions made{};
    made.createString = [](const redisReadTask* task, char* text, std::size_t size) {
      return guarded([&] { return of(task).make_text(task, text, size); });
    };
    // "auto": an int in hiredis 0.14, a size_t since 1.0.
    made.createArray = [](const redisReadTask* task, auto size) {
      return guarded([&] { return of(task).make_array(task, static_cast<std::size_t>(size)); });
    };
    made.createInteger = [](const redisReadTask* task, long long value) {
      return guarded([&] { return of(task).make_integer(task, value); });
    };
    made.createNil = [](const redisReadTask* task) {
      return guarded([&] { return of(task).make_nil(task); });
    };
    refuse_doubles_and_booleans(made);
    return made;  // no freeObject: `root` owns everything
  }();
  return all;
}

/// Without a function for them hiredis would leave these types of RESP 3 out of the reply in
/// silence. A template, because hiredis 0.14 does not know them.
template <typename Functions>
void RespReader::Impl::refuse_doubles_and_booleans(Functions& functions) noexcept {
  if constexpr (requires { functions.createDouble, functions.createBool; }) {
    functions.createDouble = [](const redisReadTask* task, double, char*, std::size_t) {
      return of(task).refuse_resp3();
    };
    functions.createBool = [](const redisReadTask* task, int) { return of(task).refuse_resp3(); };
  }
}

void* RespReader::Impl::make_text(const redisReadTask* task, const char* text, std::size_t size) {
  Reply::Type type{};
  switch (task->type) {
    case REDIS_REPLY_STATUS:
      type = Reply::Type::status;
      break;
    case REDIS_REPLY_ERROR:
      type = Reply::Type::error;
      break;
    case REDIS_REPLY_STRING:
      // hiredis has seen that two more bytes are there, but not which.
      if (text[size] != '\r' || text[size + 1] != '\n') {
        return refuse("a string is longer than announced");
      }
      type = Reply::Type::string;
      break;
    default:
      return refuse_resp3();
  }
  Reply& reply = place(task);
  reply.type = type;
  reply.text.assign(text, size);
  return &reply;
}

void* RespReader::Impl::make_array(const redisReadTask* task, std::size_t size) {
  if (task->type != REDIS_REPLY_ARRAY) return refuse_resp3();
  std::size_t depth = 1;
  for (const auto* outer = task->parent; outer != nullptr; outer = outer->parent) ++depth;
  if (depth > limits.depth) {
    return refuse(fmt::format("its arrays are nested more than {} deep", limits.depth));
  }
  if (size > limits.elements - elements) {
    return refuse(fmt::format("it has more than {} elements", limits.elements));
  }
  elements += size;
  Reply& reply = place(task);
  reply.type = Reply::Type::array;
  // Room for small arrays; what is only announced costs nothing.
  reply.elements.reserve(std::min<std::size_t>(size, 16));
  return &reply;
}

void* RespReader::Impl::make_integer(const redisReadTask* task, std::int64_t value) {
  Reply& reply = place(task);
  reply.type = Reply::Type::integer;
  reply.integer = value;
  return &reply;
}

void* RespReader::Impl::make_nil(const redisReadTask* task) {
  // That of RESP 2 is a string or an array without a length.
  if (task->type == REDIS_REPLY_NIL) return refuse_resp3();
  return &place(task);
}

RespReader::RespReader(const RespLimits& limits) : impl_{std::make_unique<Impl>(limits)} {}

RespReader::~RespReader() = default;

void RespReader::feed(std::string_view bytes) {
  if (!impl_->failure.empty()) return;
  if (redisReaderFeed(impl_->reader.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    impl_->failure = "out of memory";
    return;
  }
  impl_->begun += bytes.size();
}

std::optional<Reply> RespReader::next() {
  Impl& impl = *impl_;
  if (!impl.failure.empty()) impl.fail_again();

  void* whole = nullptr;
  if (redisReaderGetReply(impl.reader.get(), &whole) != REDIS_OK) {
    if (!impl.failure.empty()) impl.fail_again();
    impl.fail(static_cast<const char*>(impl.reader->errstr));
  }
  const std::size_t of_reply = whole != nullptr ? impl.begun - impl.unread() : impl.begun;
  if (of_reply > impl.limits.bytes) {
    impl.fail(fmt::format("it is longer than {} bytes", impl.limits.bytes));
  }
  // The reader looks for the end of a line from its beginning whenever more has come.
  const std::size_t unread = impl.unread();
  if (whole == nullptr && unread > impl.limits.line &&
      std::memchr(impl.reader->buf + impl.reader->pos, '\n', unread) == nullptr) {
    impl.fail(fmt::format("a line of it is longer than {} bytes", impl.limits.line));
  }
  if (whole == nullptr) return std::nullopt;

  impl.begun = impl.unread();
  impl.elements = 0;
  return std::exchange(impl.root, Reply{});
}

}  // namespace simba::redis
