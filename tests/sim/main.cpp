#include "sim/command.hpp"

int main(int argc, char** argv) { return simba::sim::run({argv + 1, argv + argc}); }
