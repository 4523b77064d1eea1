// Statements that make a factory.
#include <chrono>
#include <string>

using namespace std::chrono_literals;

void program(const std::string& password) {
  // SNIPPET
}
