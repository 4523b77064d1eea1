#pragma once

#include <string>
#include <vector>
#include <zookeeper/zookeeper.h>

#include "zookeeper/client.hpp"

namespace simba::zookeeper {

/// What an answer of the C library means.
Code code_of(int answer) noexcept;

// What came with an answer. Nothing of it is trusted: it may be missing, or its length negative.

NodeStat stat_of(const Stat* stat) noexcept;
std::string text_of(const char* text);
std::string data_of(const char* data, int length);
std::vector<std::string> names_of(const String_vector* names);

}  // namespace simba::zookeeper
