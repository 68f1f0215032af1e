#include "check.h"

static const char *const STORE =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".entry store(.param .u64 to, .param .u32 value, .param .u8 small)\n{\n"
    "    .reg .b32 %%r<4>; .reg .b64 %%d<2>;\n"
    "    ld.param.u64 %%d0, [to]; ld.param.u32 %%r0, [value]; ld.param.u8 %%r1, [small];\n"
    "    mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x; mad.lo.u32 %%r2, %%r2, %%r3, 0;\n"
    "    mov.u32 %%r3, %%tid.x; add.u32 %%r2, %%r2, %%r3;\n"
    "    mad.wide.u32 %%d0, %%r2, 4, %%d0;\n"
    "    mad.lo.u32 %%r0, %%r0, %%r2, %%r1; add.u32 %%r0, %%r0, %d;\n"
    "    st.global.u32 [%%d0], %%r0; ret;\n}\n";

/* The two instructions that PTX lacks, and where an error is in such a text. */
static const char *const DOUBLES =
    ".version 7.5\n.target sm_35\n.address_size 64\n"
    ".entry doubles(.param .u64 to, .param .f64 x)\n{\n"
    "    .reg .b64 %%d; .reg .f64 %%f<3>;\n"
    "    ld.param.u64 %%d, [to]; ld.param.f64 %%f0, [x];\n"
    "    rcp.approx.f64 %%f1, %%f0; sqrt.approx.f64 %%f2, %%f0;%s\n"
    "    st.global.f64 [%%d], %%f1; st.global.f64 [%%d+8], %%f2; ret;\n}\n";

static void doubles(void) {
    char text[1024];
    double out[2], third = 3, quarter = 2.25;
    void *args[2] = {out};
    snprintf(text, sizeof text, DOUBLES, "");
    memcpy(&args[1], &third, 8);
    ptx_run(text, 2, args, 1, 1, 1, 1, 1, 1, 0);
    /* Behind its last bit 1/3 goes on with 0101...: less than half of the last place. */
    CHECK(out[0] == 0x1.5555555555555p-2);
    memcpy(&args[1], &quarter, 8);
    ptx_run(text, 2, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(out[1] == 1.5);
    snprintf(text, sizeof text, DOUBLES, " sin.approx.f64 %f2, %f0;");
    ptx_run(text, 2, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), ":8:66"));
    CHECK(strstr(ptx_last_error(), "sin.approx.f64"));
    CHECK(!strstr(ptx_last_error(), ":8:5\n"));
    /* What PTX has stays as it is beside them. */
    snprintf(text, sizeof text, DOUBLES, " rsqrt.approx.f64 %f2, %f0;");
    quarter = 0.25;
    memcpy(&args[1], &quarter, 8);
    ptx_run(text, 2, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(out[0] == 4 && out[1] > 1.999 && out[1] < 2.001);
}

int main(void) {
    /* One buffer for the texts, as callers have it. */
    static char text[4096];
    static uint32_t out[4096];
    void *args[] = {out, (void *)(uintptr_t)0xffffffff00000003, (void *)(uintptr_t)0x1105};
    for (int round = 0; round < 2; round++) {
        for (int plus = 0; plus < 700; plus++) {
            snprintf(text, sizeof text, STORE, plus);
            memset(out, 0xff, sizeof out);
            ptx_run(text, 3, args, 4, 1, 1, 3, 1, 1, 0);
            for (uint32_t i = 0; i < 12; i++) CHECK(out[i] == 3 * i + 5 + (uint32_t)plus);
            CHECK(out[12] == 0xffffffff);
        }
    }
    /* More work: native code. */
    ptx_run(text, 3, args, 1024, 1, 1, 4, 1, 1, 0);
    for (uint32_t i = 0; i < 4096; i++) CHECK(out[i] == 3 * i + 5 + 699);

    CHECK(strcmp(ptx_last_error(), "") == 0);
    ptx_run(text, 2, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "3 parameters"));
    ptx_run(text, 3, args, 2000, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "2000"));
    ptx_run(text, 3, args, 1, 1, 1, -1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "-1"));
    ptx_run(NULL, 0, NULL, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "null"));
    args[0] = NULL;
    ptx_run(text, 3, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "out of bounds"));
    ptx_run("", 0, NULL, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), ".version"));
    doubles();
    return 0;
}
