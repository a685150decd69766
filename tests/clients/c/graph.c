/* Runs a graph that Python has saved: argv[1]. Its input x is filled with 1, 2, 3 and so on; the
 * output is printed. */
#include <infini/ext.h>
#include <infini/graph.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, infiniGetLastErrorMessage());
    return 1;
}

int main(int argc, char **argv) {
    infiniGraph_t graph;
    if (argc != 2) return fail("expected a file");
    if (infiniGraphLoad(&graph, argv[1], INFINI_DEVICE_CPU, 0) != INFINI_STATUS_SUCCESS)
        return fail("load");
    size_t inputs, outputs;
    if (infiniGraphGetInputCount(graph, &inputs) != INFINI_STATUS_SUCCESS) return fail("inputs");
    for (size_t i = 0; i < inputs; ++i) {
        infiniGraphTensor tensor = {.size = sizeof tensor};
        if (infiniGraphGetInput(graph, i, &tensor) != INFINI_STATUS_SUCCESS) return fail("input");
        printf("%s", tensor.name);
        for (size_t d = 0; d < tensor.ndim; ++d) printf(" %zu", tensor.shape[d]);
        printf("\n");
        if (strcmp(tensor.name, "x") != 0) continue;
        float *data = tensor.data;
        for (size_t k = 0; k < tensor.bytes / sizeof(float); ++k) data[k] = (float)(k + 1);
    }
    if (infiniGraphRun(graph) != INFINI_STATUS_SUCCESS) return fail("run");
    if (infiniGraphSynchronize(graph) != INFINI_STATUS_SUCCESS) return fail("synchronize");
    if (infiniGraphGetOutputCount(graph, &outputs) != INFINI_STATUS_SUCCESS) return fail("outputs");
    for (size_t i = 0; i < outputs; ++i) {
        infiniGraphTensor tensor = {.size = sizeof tensor};
        if (infiniGraphGetOutput(graph, i, &tensor) != INFINI_STATUS_SUCCESS) return fail("output");
        const float *data = tensor.data;
        printf("%s", tensor.name);
        for (size_t k = 0; k < tensor.bytes / sizeof(float); ++k) printf(" %g", data[k]);
        printf("\n");
    }
    infiniGraphTensor wrong = {.size = 3};
    if (infiniGraphGetInput(graph, 0, &wrong) != INFINI_STATUS_BAD_PARAM) return fail("size");
    if (infiniGraphGetInput(graph, 99, &wrong) != INFINI_STATUS_BAD_PARAM) return fail("index");
    if (infiniGraphRun((infiniGraph_t)&wrong) != INFINI_STATUS_BAD_PARAM) return fail("handle");
    if (infiniGraphGetInputCount(graph, NULL) != INFINI_STATUS_BAD_PARAM) return fail("null");
    if (infiniGraphDestroy(graph) != INFINI_STATUS_SUCCESS) return fail("destroy");
    return infiniGraphDestroy(graph) == INFINI_STATUS_BAD_PARAM ? 0 : fail("destroy again");
}
