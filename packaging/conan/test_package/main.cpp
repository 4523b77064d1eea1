#include <simba/simba.hpp>

int main() {
  const simba::Client client{"memory:"};
  const simba::Lock lock = client.lock("orders/42");
  return lock.held() ? 0 : 1;
}
