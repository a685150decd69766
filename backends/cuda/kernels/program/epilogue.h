// The epilogue of a kernel: a map over its result (INFINI_PROGRAM_EPILOGUE), as text that a kernel
// of any family can include, and its parameters.
//
//     auto epilogue = Epilogue::make(operation);         // null: not possible
//     epilogue->add_to(source);                          // before the kernel's own definitions
//     ... struct MyParams { ...; };                      // in device code: a member, aligned to 16
//         struct Params : MyParams { alignas(16) epilogue::Params epilogue_params; };
//         epilogue::apply<n>(p.epilogue_params, batch, row, column, values);
//                                                        // float values[n], n = 1, 2, 4, 8
//     ... epilogue->fill(arguments, bytes + aligned(sizeof(MyParams), 16));  // host, each run
//
// apply() stores all outputs of the program; the kernel stores nothing.
#pragma once

#include "kernels/program/compose.h"

namespace infini::cuda::program {

class Epilogue {
public:
    static std::unique_ptr<Epilogue> make(const Operation &operation);

    void add_to(Source &source) const;
    size_t bytes() const { return launch_.parameters.size(); }
    void fill(const Arguments &arguments, char *to) const { launch_.fill(arguments, to); }

private:
    Launch launch_;  // only for its parameters
    std::string text_;
    int rough_ = 0;
};

}  // namespace infini::cuda::program
