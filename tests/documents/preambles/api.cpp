// Statements inside a function of a program that has a client.
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "simba/simba.hpp"

using namespace std::chrono_literals;

void write(simba::FencingToken token, std::stop_token lost);
void sweep(std::stop_token stop);
void serve(simba::FencingToken token);
void send_to(const std::string& endpoint);
struct Vault {
  std::string current_password() const;
};

void program(simba::Client client, std::stop_token stop, std::shared_ptr<Vault> vault) {
  // SNIPPET
}
