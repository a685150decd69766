// Graphs under the first generation's path.
#pragma once

#include "../graph.hpp"
