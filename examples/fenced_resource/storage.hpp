#pragma once

#include <string>
#include <vector>

#include "simba/core/time.hpp"

/// The fenced resource: it refuses a fencing token smaller than the greatest that it has seen. That
/// is all there is to fencing; it knows nothing of locks, leases and clocks.
class Storage {
 public:
  struct Record {
    simba::FencingToken token = 0;
    std::string text{};
  };

  /// False: refused, and nothing has changed.
  bool write(const Record& record) {
    if (record.token < greatest_) return false;
    greatest_ = record.token;  // with a disk: kept in the same transaction as the record
    records_.push_back(record);
    return true;
  }

  simba::FencingToken greatest_token() const noexcept { return greatest_; }
  const std::vector<Record>& records() const noexcept { return records_; }

 private:
  simba::FencingToken greatest_ = 0;
  std::vector<Record> records_;
};
