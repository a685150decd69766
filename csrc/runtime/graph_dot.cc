// Graphs as pictures: infinirtGraphDebugDotPrint writes the DOT language.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "graph_memory.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

std::string text(const char *format, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    return buffer;
}

const char *kind_name(infinirtMemcpyKind kind) {
    switch (kind) {
        case infinirtMemcpyHostToHost:
            return "host to host";
        case infinirtMemcpyHostToDevice:
            return "host to device";
        case infinirtMemcpyDeviceToHost:
            return "device to host";
        case infinirtMemcpyDeviceToDevice:
            return "device to device";
        default:
            return "default";
    }
}

class Writer {
public:
    Writer(FILE *file, unsigned flags) : file_(file), flags_(flags) {}

    void write(const Graph &graph) {
        fprintf(file_, "digraph graph_%" PRIu64 " {\n    node [shape=box, fontname=monospace];\n",
                graph.id);
        write_inside(graph, 1);
        fprintf(file_, "}\n");
    }

private:
    void write_inside(const Graph &graph, int depth) {
        for (const Node *node : graph.nodes) {
            fprintf(file_, "%*snode_%" PRIu64 " [label=\"%s\"];\n", depth * 4, "", node->id,
                    label(*node).c_str());
            if (!node->child) continue;
            fprintf(file_,
                    "%*ssubgraph cluster_%" PRIu64 " {\n%*slabel=\"graph of node %" PRIu64 "\";\n",
                    depth * 4, "", node->child->id, depth * 4 + 4, "", node->id);
            write_inside(*node->child, depth + 1);
            fprintf(file_, "%*s}\n", depth * 4, "");
        }
        for (const Node *node : graph.nodes)
            for (const Node *earlier : node->dependencies)
                fprintf(file_, "%*snode_%" PRIu64 " -> node_%" PRIu64 ";\n", depth * 4, "",
                        earlier->id, node->id);
    }

    bool shows(unsigned flag) const {
        return flags_ & (flag | static_cast<unsigned>(infinirtGraphDebugDotFlagsVerbose));
    }

    std::string label(const Node &node) const {
        std::string label = text("%" PRIu64 " %s", node.id, type_name(node.type));
        if (shows(infinirtGraphDebugDotFlagsHandles))
            label += text("\\nhandle %p", static_cast<const void *>(&node));
        if (shows(0)) label += text("\\ndevice %d", node.device->index);
        return label + parameters(node);
    }

    std::string parameters(const Node &node) const {
        switch (node.type) {
            case infinirtGraphNodeTypeMemcpy:
                return shows(infinirtGraphDebugDotFlagsMemcpyNodeParams) ? copy(node.copy) : "";
            case infinirtGraphNodeTypeMemset:
                return shows(infinirtGraphDebugDotFlagsMemsetNodeParams) ? fill(node.fill) : "";
            case infinirtGraphNodeTypeHost:
                if (!shows(infinirtGraphDebugDotFlagsHostNodeParams)) return "";
                return text("\\nfn %p\\nuserData %p", reinterpret_cast<void *>(node.host->function),
                            node.host->data);
            case infinirtGraphNodeTypeEventRecord:
            case infinirtGraphNodeTypeWaitEvent:
                if (!shows(infinirtGraphDebugDotFlagsEventNodeParams)) return "";
                return text("\\nevent %p", static_cast<void *>(node.event));
            case infinirtGraphNodeTypeMemAlloc:
                return text("\\n%zu bytes at %p", node.memory->bytes, node.memory->base);
            case infinirtGraphNodeTypeMemFree:
                return text("\\n%p", node.memory->base);
            default:
                return "";
        }
    }

    static std::string copy(const infinirtMemcpy3DParms &copy) {
        return text("\\n%s", kind_name(copy.kind)) + place("dst", copy.dstPtr, copy.dstPos) +
               place("src", copy.srcPtr, copy.srcPos) +
               text("\\nextent %zu x %zu x %zu", copy.extent.width, copy.extent.height,
                    copy.extent.depth);
    }

    static std::string place(const char *name, const infinirtPitchedPtr &pointer,
                             const infinirtPos &position) {
        return text("\\n%s %p pitch %zu position %zu, %zu, %zu", name, pointer.ptr, pointer.pitch,
                    position.x, position.y, position.z);
    }

    static std::string fill(const infinirtMemsetParams &fill) {
        return text("\\ndst %p pitch %zu\\nvalue 0x%x of %u bytes\\n%zu x %zu", fill.dst,
                    fill.pitch, fill.value, fill.elementSize, fill.width, fill.height);
    }

    FILE *file_;
    unsigned flags_;
};

}  // namespace

namespace impl {

Error GraphDebugDotPrint(Call &call, Graph &graph, const char *path, unsigned int flags) {
    FILE *file = fopen(path, "w");
    if (!file)
        return call.fail(infinirtErrorOperatingSystem,
                         "argument 2 (path): '%s' cannot be opened for writing: %m", path);
    {
        GraphLock lock;
        Writer(file, flags).write(graph);
    }
    bool failed = ferror(file);
    failed = fclose(file) != 0 || failed;
    if (failed)
        return call.fail(infinirtErrorOperatingSystem, "argument 2 (path): writing '%s' failed: %m",
                         path);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
