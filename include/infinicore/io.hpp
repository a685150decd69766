// Tensors as text: `std::cout << tensor`, and print_options.
#pragma once

#include <iostream>

#include "tensor.hpp"
