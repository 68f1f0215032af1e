/* The driver API, declared as cuda.h does. */
#include "check.h"

typedef unsigned CUresult;
typedef uint64_t CUdeviceptr;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
CUresult cuInit(unsigned);
CUresult cuDeviceGet(int *, int);
CUresult cuDeviceGetName(char *, int, int);
CUresult cuDeviceGetAttribute(int *, unsigned, int);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, int);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuModuleUnload(CUmodule);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void **, void **);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuGetErrorName(CUresult, const char **);
CUresult cuGetErrorString(CUresult, const char **);

int main(void) {
    int device, value;
    char name[32];
    CUcontext context;
    CHECK(cuInit(0) == 0);
    CHECK(cuDeviceGet(&device, 1) == 101);
    CHECK(cuDeviceGet(&device, 0) == 0);
    CHECK(cuDeviceGetName(name, sizeof name, device) == 0 && strcmp(name, "ptxlift") == 0);
    CHECK(cuDeviceGetAttribute(&value, 10, device) == 0 && value == 32);
    CUstream stream, gone;
    CHECK(cuStreamCreate(&gone, 0) == 0 && cuStreamSynchronize(gone) == 0);
    CHECK(cuStreamDestroy_v2(gone) == 0 && cuStreamSynchronize(gone) == 400);
    CHECK(cuCtxCreate_v2(&context, 0, device) == 0);

    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.entry k() { bad; }") == 218);
    CHECK(strstr(ptxlift_last_error(), "`bad`"));
    CHECK(cuModuleLoadData(&module, AFFINE) == 0);
    CHECK(cuModuleGetFunction(&function, module, "none") == 500);
    CHECK(cuModuleGetFunction(&function, module, "affine") == 0);

    size_t before, total, now;
    CHECK(cuMemGetInfo_v2(&before, &total) == 0 && before <= total);
    CUdeviceptr data, other;
    enum { N = 100000 };
    static uint32_t words[N];
    CHECK(cuMemAlloc_v2(&data, sizeof words) == 0);
    CHECK(cuMemAlloc_v2(&other, sizeof words) == 0);
    CHECK(cuMemGetInfo_v2(&now, &total) == 0 && before - now >= 2 * sizeof words);
    for (uint32_t i = 0; i < N; i++) words[i] = i;
    CHECK(cuMemcpyHtoD_v2(data, words, sizeof words) == 0);
    uint32_t n = N, add = 9;
    void *params[] = {&data, &n, &add};
    CHECK(cuLaunchKernel(function, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL) == 0);
    CHECK(cuStreamSynchronize(NULL) == 0);
    CHECK(cuStreamCreate(&stream, 0) == 0);
    CHECK(cuLaunchKernel(function, 0, 1, 1, 256, 1, 1, 0, stream, params, NULL) == 1);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, gone, params, NULL) == 400);
    CHECK(cuStreamSynchronize(stream) == 0 && cuStreamSynchronize(gone) == 400);
    CHECK(cuMemcpyDtoD_v2(other, data, sizeof words) == 0);
    memset(words, 0, sizeof words);
    CHECK(cuMemcpyDtoH_v2(words, other, sizeof words) == 0);
    for (uint32_t i = 0; i < N; i++) CHECK(words[i] == 2 * i + 9);
    CHECK(cuMemsetD8_v2(data + 4, 0xab, 4 * N - 8) == 0);
    CHECK(cuMemsetD32_v2(data + 8, 0x12345678, N - 4) == 0);
    CHECK(cuMemcpyDtoH_v2(words, data, sizeof words) == 0);
    CHECK(words[0] == 9 && words[1] == 0xabababab && words[2] == 0x12345678 && words[N - 3] == 0x12345678);
    CHECK(words[N - 2] == 0xabababab && words[N - 1] == 2 * (N - 1) + 9);

    CUdeviceptr variable;
    size_t bytes;
    CHECK(cuModuleGetGlobal_v2(&variable, &bytes, module, "launches") == 0 && bytes == 4);
    uint32_t launches;
    CHECK(cuMemcpyDtoH_v2(&launches, variable, 4) == 0 && launches == 1);

    /* Constant memory, which no address of the device reaches from the host. */
    CUmodule constants;
    CUdeviceptr table, out;
    CHECK(cuModuleLoadData(&constants, ".version 8.0\n.target sm_80\n.address_size 64\n"
                                       ".const .u32 table[2] = {9, 8};\n"
                                       ".entry read(.param .u64 p) { .reg .b32 %r; .reg .b64 %d;\n"
                                       "ld.param.u64 %d, [p]; ld.const.u32 %r, [table+4]; st.global.u32 [%d], %r; ret; }")
          == 0);
    CHECK(cuModuleGetGlobal_v2(&table, &bytes, constants, "table") == 0 && bytes == 8);
    uint32_t pair[2];
    CHECK(cuMemcpyDtoH_v2(pair, table, 8) == 0 && pair[0] == 9 && pair[1] == 8);
    pair[0] = 77;
    CHECK(cuMemcpyHtoD_v2(table + 4, pair, 4) == 0);
    CHECK(cuMemcpyHtoD_v2(table + 4, pair, 8) == 1);
    CHECK(cuMemcpyDtoH_v2(pair, table, 8) == 0 && pair[0] == 9 && pair[1] == 77);
    CUfunction read;
    CHECK(cuModuleGetFunction(&read, constants, "read") == 0 && cuMemAlloc_v2(&out, 4) == 0);
    void *place[] = {&out};
    CHECK(cuLaunchKernel(read, 1, 1, 1, 1, 1, 1, 0, NULL, place, NULL) == 0);
    CHECK(cuMemcpyDtoH_v2(pair, out, 4) == 0 && pair[0] == 77);
    CHECK(cuMemFree_v2(out) == 0 && cuModuleUnload(constants) == 0);
    CHECK(cuMemcpyDtoH_v2(pair, table, 8) == 1);

    /* What does not fit changes nothing. */
    CHECK(cuMemsetD8_v2(data, 0xee, 4 * N + 1) == 1 && cuMemcpyDtoD_v2(data, other, 4 * N + 1) == 1);
    CHECK(cuMemcpyDtoH_v2(words, data, 4) == 0 && words[0] == 9);
    CHECK(cuMemsetD32_v2(data + 2, 1, 2) == 1);

    const char *text;
    n = N + 1;
    CUresult result = cuLaunchKernel(function, (N + 256) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
    CHECK(result == 700 && cuGetErrorName(result, &text) == 0 && strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    CHECK(cuGetErrorString(218, &text) == 0 && strcmp(text, "a PTX JIT compilation failed") == 0);
    CHECK(cuGetErrorString(12345, &text) == 1 && text == NULL);
    text = "untouched";
    CHECK(cuGetErrorName(12345, &text) == 1 && text == NULL);
    CHECK(cuMemcpyHtoD_v2(data + 4, words, sizeof words) == 1);
    CHECK(cuMemFree_v2(data + 4) == 1);
    CHECK(cuMemFree_v2(data) == 0);
    CHECK(cuMemFree_v2(data) == 1);
    CHECK(cuModuleUnload(module) == 0);
    CHECK(cuModuleUnload(module) == 400);
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == 400);
    CHECK(cuCtxDestroy_v2(context) == 0);
    CHECK(cuCtxDestroy_v2(context) == 400);
    return 0;
}
