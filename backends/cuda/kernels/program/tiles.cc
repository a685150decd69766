// Maps that read some tensors transposed; see device/program/map_tile.cuh.
#include <algorithm>

#include "kernels/program/engines.h"

namespace infini::cuda::program {

std::string Composer::tile_text(int tile, int width) const {
    const int count = nest_.kept.count;
    const std::string down = std::to_string(count - 2);
    std::string tiles, reads, fetches, places, moves, split;
    for (int i = count - 3; i > 0; --i)
        split += "    const Index a" + std::to_string(i) + " = take(rest, p.kd[" +
                 std::to_string(i - 1) + "]);\n";
    if (count > 2) split += "    const Index a0 = rest;\n";
    for (int slot : operands_) {
        if (!moves_kept(slot)) continue;
        const std::string j = std::to_string(number_[size_t(slot)]);
        std::string outer = "line * p.k" + j + "[" + down + "]",
                    inner = "d * p.k" + j + "[" + down + "]";
        for (int i = 0; i < count - 2; ++i)
            outer += " + a" + std::to_string(i) + " * p.k" + j + "[" + std::to_string(i) + "]";
        if (access_[size_t(slot)] == Access::kDense) outer += " + column", inner += " + a";
        if (access_[size_t(slot)] == Access::kStrided)
            outer += " + column * p.i" + j, inner += " + a * p.i" + j;
        places += "    at.o" + j + " = " + outer + ";\n";
        moves += "    at.o" + j + " += " + inner + ";\n";
        if (!turned_[size_t(slot)]) continue;
        tiles += std::string("    ") + device_type(nest_.slots[size_t(slot)].dtype) + " t" + j +
                 "[kTile][kTile + 1];\n";
        reads += "    read_tile<" + std::to_string(turned_width(slot, width > 1 ? 16 : 1)) +
                 ">(tiles.t" + j + ", p.b" + j + " + base.o" + j + ", p.i" + j +
                 ", lines, columns);\n";
        fetches += "#pragma unroll\n    for (int i = 0; i < n; ++i) in.l" + j + "[i] = tiles.t" +
                   j + "[a + i][d];\n";
    }
    return "constexpr int kTile = " + std::to_string(tile) + ";\nstruct Tiles {\n" + tiles +
           "};\nINFINI_DEVICE Place locate_tile(const Params &p, Index rest, Index line, Index "
           "column) {\n"
           "    Place at{};\n" +
           split + places +
           "    return at;\n}\nINFINI_DEVICE Place move_in_tile(const Params &p, Place at, Index "
           "d, Index "
           "a) {\n" +
           moves +
           "    return at;\n}\nINFINI_DEVICE void read_tiles(const Params &p, const Place &base, "
           "Tiles "
           "&tiles, int lines, int columns) {\n" +
           reads +
           "}\ntemplate <int n>\nINFINI_DEVICE void fetch_turned(const Tiles &tiles, int d, int a, "
           "In<n> "
           "&in) {\n" +
           fetches + "}\n";
}

namespace {

// Makes the transposed dimension the second to last.
LoopNest with_turned_last(const LoopNest &nest, int turned) {
    LoopNest moved = nest;
    auto move = [&](int64_t *values) {
        std::rotate(values + turned, values + turned + 1, values + nest.kept.count - 1);
    };
    move(moved.kept.size);
    for (Slot &slot : moved.slots) move(slot.kept);
    return moved;
}

Launch plan_tile(Phase &phase, const LoopNest &nest, int most) {
    constexpr int kThreads = 256;
    Composer composer(nest, phase.program, Direction::kMap);
    composer.turn();
    const int width = composer.choose_width(most);
    int bytes = 1;
    for (const Slot &slot : nest.slots) bytes = std::max(bytes, slot.bytes);
    const int tile = bytes <= 2 ? 64 : 32;
    const Walk &kept = nest.kept;
    const int64_t columns = kept.size[kept.count - 1], lines = kept.size[kept.count - 2];
    const int64_t across = (columns + tile - 1) / tile, down = (lines + tile - 1) / tile;
    Launch launch;
    ParameterText members;
    members.add("int64_t", "tiles_across", across);
    members.add("int64_t", "tiles_down", down);
    members.add("int64_t", "columns", columns);
    members.add("int64_t", "lines", lines);
    composer.add_members(members, launch, width);
    Source source = begin_source("program/map_tile.cuh", phase, composer);
    source.constant("kThreads", kThreads).include("program/tile.cuh");
    source.line(members.text()).line(composer.prologue(width)).line(composer.map_text());
    source.line(composer.tile_text(tile, width));
    launch.parameters = members.bytes();
    launch.threads = kThreads;
    launch.grid = Grid(nest.rows / (columns * lines) * across * down);
    launch.code = std::make_shared<Code>(std::move(source));
    return launch;
}

}  // namespace

Launches plan_tiles(Phase &phase, int turned) {
    const LoopNest nest = with_turned_last(phase.nest, turned);
    Launches launches;
    launches.usual.push_back(plan_tile(phase, nest, 16));
    launches.unaligned.push_back(plan_tile(phase, nest, 1));
    return launches;
}

}  // namespace infini::cuda::program
