#include "product_parts.h"
namespace infini::cuda {
std::shared_ptr<const Product> make_skinny_product(const ProductShape &, Device &) {
    return nullptr;
}
}  // namespace infini::cuda
