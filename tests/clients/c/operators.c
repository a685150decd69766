/* An operator from C: describe, run, destroy; and a message when something is wrong. */
#include <infini/ext.h>
#include <infiniop.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    size_t shape[2] = {2, 4}, size;
    float x[8] = {1, -2, 3, -4, 5, -6, 7, -8}, y[8], w[4] = {1, 1, 1, 1};
    infiniopHandle_t handle;
    infiniopTensorDescriptor_t rows, weights;
    infiniopRMSNormDescriptor_t norm;
    if (infiniopCreateHandle(&handle)) return 1;
    if (infiniopCreateTensorDescriptor(&rows, 2, shape, NULL, INFINI_DTYPE_F32)) return 2;
    if (infiniopCreateTensorDescriptor(&weights, 1, shape + 1, NULL, INFINI_DTYPE_F32)) return 3;
    if (infiniopCreateRMSNormDescriptor(handle, &norm, rows, rows, weights, 1e-6f)) return 4;
    if (infiniopGetRMSNormWorkspaceSize(norm, &size) || size > 65536) return 5;
    char workspace[65536];
    if (infiniopRMSNorm(norm, workspace, size, y, x, w, NULL)) return 6;
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += y[i] * y[i];
    if (sum < 3.99f || sum > 4.01f) return 7;
    if (infiniopDestroyRMSNormDescriptor(norm)) return 8;
    if (infiniopRMSNorm(norm, workspace, size, y, x, w, NULL) != INFINI_STATUS_BAD_PARAM) return 9;
    if (!strstr(infiniGetLastErrorMessage(), "infiniopRMSNorm")) return 10;
    if (infiniopCreateRMSNormDescriptor(handle, &norm, rows, weights, weights, 1e-6f) !=
        INFINI_STATUS_BAD_TENSOR_SHAPE)
        return 11;
    printf("ok, and: %s\n", infiniGetLastErrorMessage());
    infiniopDestroyTensorDescriptor(rows);
    infiniopDestroyTensorDescriptor(weights);
    return infiniopDestroyHandle(handle);
}
