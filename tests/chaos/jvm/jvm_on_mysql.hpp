#pragma once

#include <string>
#include <vector>

namespace simba::chaos {

/// A contender of the JVM library on MySQL, as unsafe as that one: it asks by an UPDATE and a
/// SELECT in one transaction at REPEATABLE READ, without any deadline, keeps the row locked until
/// the COMMIT, and considers itself the owner until a renewal says otherwise or fails.
///
/// `words`: those of `jvm_words`, then port, user, password, database and,
/// if the server wants TLS, the file of its CA, else "". Started with SIGTERM
/// blocked, it ends with it, or with the process that started it. Returns its exit code.
int run_jvm_on_mysql(const std::vector<std::string>& words);

}  // namespace simba::chaos
