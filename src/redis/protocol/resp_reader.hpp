#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "redis/protocol/reply.hpp"

namespace simba::redis {

/// What one reply may take up. More is a server that is broken or hostile.
struct RespLimits {
  std::size_t bytes = 8U << 20U;     ///< on the wire
  std::size_t line = 64U << 10U;     ///< of a text whose length is not announced
  std::size_t elements = 1U << 17U;  ///< of all its arrays together
  std::size_t depth = 8;             ///< arrays within each other; no more than hiredis 0.14 allows
};

/// Makes replies of the bytes that a server sends, on the reader of hiredis.
///
/// Memory: what was fed and is not yet given out, and no more for what a server only announces.
/// Threads: used by one thread at a time.
class RespReader {
 public:
  explicit RespReader(const RespLimits& limits = {});
  ~RespReader();
  RespReader(const RespReader&) = delete;
  RespReader& operator=(const RespReader&) = delete;

  /// Takes what was read from the connection, cut anywhere. Limits are judged by `next`, so call
  /// that until it gives nothing before feeding more.
  void feed(std::string_view bytes);

  /// The next whole reply, if it has come. Throws Error (internal) if the bytes are no RESP or
  /// pass a limit; the connection must then be closed, and every later call throws again.
  std::optional<Reply> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simba::redis
