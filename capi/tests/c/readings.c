/* Where NVIDIA's tools depart from the text of the PTX ISA: ptx_run and the driver API follow them, contexts as they are told. */
#include "check.h"

typedef unsigned CUresult;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, int);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuMemAlloc_v2(uint64_t *, size_t);
CUresult cuMemcpyDtoH_v2(void *, uint64_t, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                        void **);

/* ffffffff + 2: saturated by the text, not by NVIDIA's tools. */
static const char *const SUM =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".entry sum(.param .u64 to)\n{\n"
    "    .reg .b32 %r<2>; .reg .b64 %d;\n"
    "    ld.param.u64 %d, [to];\n"
    "    mov.u32 %r0, 0xffffffff;\n"
    "    vadd.u32.u32.u32.sat %r1, %r0, 2;\n"
    "    st.global.u32 [%d], %r1; ret;\n}\n";

static uint32_t in_context(const char *reading) {
    ptxlift_options *options = ptxlift_options_new();
    if (reading) CHECK(ptxlift_options_set(options, "reading", reading) == PTXLIFT_STATUS_OK);
    ptxlift_context *context;
    CHECK(ptxlift_context_new(options, &context) == PTXLIFT_STATUS_OK);
    ptxlift_options_free(options);
    ptxlift_module *module;
    ptxlift_kernel *kernel;
    ptxlift_buffer *buffer;
    CHECK(ptxlift_module_new(context, SUM, 0, &module) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_module_kernel(module, NULL, &kernel) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_buffer_new(context, 4, &buffer) == PTXLIFT_STATUS_OK);
    uint64_t address = ptxlift_buffer_address(buffer);
    const void *args[] = {&address};
    uint32_t sum[2];
    for (uint32_t engine = 1; engine <= 2; engine++) {
        ptxlift_launch_config config = {.engine = engine};
        CHECK(ptxlift_launch(kernel, &config, args, 1) == PTXLIFT_STATUS_OK);
        CHECK(ptxlift_buffer_read(buffer, 0, &sum[engine - 1], 4) == PTXLIFT_STATUS_OK);
    }
    CHECK(sum[0] == sum[1]);
    ptxlift_kernel_free(kernel);
    ptxlift_buffer_free(buffer);
    ptxlift_module_free(module);
    ptxlift_context_free(context);
    return sum[0];
}

int main(void) {
    CHECK(in_context(NULL) == 0xffffffff);
    CHECK(in_context("text") == 0xffffffff);
    CHECK(in_context("nvidia") == 1);
    ptxlift_options *options = ptxlift_options_new();
    CHECK(ptxlift_options_set(options, "reading", "mine") == PTXLIFT_STATUS_OK);
    ptxlift_context *context;
    CHECK(ptxlift_context_new(options, &context) == PTXLIFT_STATUS_USAGE);
    CHECK(strstr(ptxlift_last_error(), "text or nvidia"));
    ptxlift_options_free(options);

    uint32_t sum = 0;
    void *args[] = {&sum};
    ptx_run(SUM, 1, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(sum == 1);

    CUcontext driver;
    CUmodule module;
    CUfunction function;
    uint64_t to;
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&driver, 0, 0) == 0);
    CHECK(cuModuleLoadData(&module, SUM) == 0 && cuModuleGetFunction(&function, module, "sum") == 0);
    CHECK(cuMemAlloc_v2(&to, 4) == 0);
    void *parameters[] = {&to};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) == 0);
    sum = 0;
    CHECK(cuMemcpyDtoH_v2(&sum, to, 4) == 0);
    CHECK(sum == 1);
    CHECK(cuCtxDestroy_v2(driver) == 0);
    return 0;
}
