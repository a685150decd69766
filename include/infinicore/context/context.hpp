// The context's functions at their first-generation path, with the types that they use.
#pragma once

#include "../context.hpp"
#include "../device.hpp"
#include "../graph/graph.hpp"
#include "../memory.hpp"
