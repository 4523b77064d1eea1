// Statements that write to a database of the reader.
#include <stdexcept>

#include "simba/locker/simba_locker.hpp"

struct Database {
  template <typename... Values>
  int execute(const char* statement, Values... values);
};

void program(simba::SimbaLocker& lock, Database& database, long balance, long id) {
  // SNIPPET
}
