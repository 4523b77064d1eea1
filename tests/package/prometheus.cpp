// A program that shows what Simba counts with prometheus-cpp.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <prometheus/registry.h>

#include <simba/memory/memory_factory.hpp>
#include <simba/prometheus/prometheus_collectable.hpp>
#include <simba/simba.hpp>

int main() {
  const simba::Client client{simba::memory::make_memory_factory()};
  const simba::Lock lock = client.lock("consumer");
  const simba::PrometheusCollectable collectable{[&] { return client.statistics(); }};
  const auto metrics = collectable.Collect();
  const bool owns = std::any_of(metrics.begin(), metrics.end(), [](const auto& family) {
    return family.name == "simba_owner" && family.metric.at(0).gauge.value == 1;
  });
  std::puts(owns ? "simba_owner is 1" : "simba_owner is not 1");
  return owns ? 0 : 1;
}
