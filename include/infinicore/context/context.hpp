// The context's functions under the first generation's path, with the types that they use.
#pragma once

#include "../context.hpp"
#include "../device.hpp"
#include "../graph/graph.hpp"
#include "../memory.hpp"
