// Graphs at their first-generation path.
#pragma once

#include "../graph.hpp"
