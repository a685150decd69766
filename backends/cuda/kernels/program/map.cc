// Elementwise maps.
#include <infini/expression.h>

#include "kernels/program/engines.h"

namespace infini::cuda::program {

Source begin_source(const char *file, const Phase &phase, const Composer &composer) {
    Source source(file);
    if (phase.rough) source.line("#define INFINI_ROUGH " + std::to_string(phase.rough));
    source.type("Index", composer.is_wide_index() ? "int64_t" : "int32_t");
    source.include("functions.cuh");
    source.include("program/values.cuh");
    return source;
}

namespace {

// Blocks with few vectors use memory bandwidth best, because the scheduler can start the next one
// while another waits. But starting a block takes time, too: each thread should load at least 32
// bytes, as it does for an operator with two inputs. Slow functions need two vectors per thread to
// hide latency, or one element if there are too few to occupy all multiprocessors.
struct BlockShape {
    int threads = 128, unroll = 1, width = 1;

    int64_t elements() const { return int64_t(threads) * unroll * width; }
};
BlockShape choose_block(const Phase &phase, int dense_bytes, int width) {
    constexpr int kLong = 10, kLoaded = 32, kMostUnroll = 4;
    int cost = 0;
    for (const Stage &stage : phase.nest.stages)
        cost += expression_of(phase.program, stage.number).cost;
    const bool slow = cost >= kLong;
    BlockShape shape{128, slow ? 2 : 1, width};
    while (shape.unroll * dense_bytes * width < kLoaded && shape.unroll < kMostUnroll)
        shape.unroll *= 2;
    if (slow && phase.nest.rows < shape.elements() * phase.device.multiprocessors)
        shape.unroll = shape.width = 1;
    return shape;
}

}  // namespace

Launches plan_map(Phase &phase) {
    Composer composer(phase.nest, phase.program, Direction::kMap);
    if (const int turned = composer.turned_dimension(); turned >= 0)
        return plan_tiles(phase, turned);
    Launches launches;
    const BlockShape block = choose_block(phase, composer.dense_bytes(), composer.choose_width(16));
    const int width = block.width;
    Launch launch;
    ParameterText members;
    members.add("int64_t", "count", phase.nest.rows);
    launch.wide = int32_t(members.add("int32_t", "wide", int32_t(1)));
    composer.add_members(members, launch, width);
    Source source = begin_source("program/map.cuh", phase, composer);
    source.line(members.text()).line(composer.prologue(width)).line(composer.map_text());
    source.constant("kThreads", block.threads).constant("kUnroll", block.unroll);
    launch.parameters = members.bytes();
    launch.threads = unsigned(block.threads);
    launch.grid = Grid((phase.nest.rows + block.elements() - 1) / block.elements());
    launch.code = std::make_shared<Code>(std::move(source));
    launches.usual.push_back(std::move(launch));
    return launches;
}

}  // namespace infini::cuda::program
