/* What the programs have in common. */
#ifndef CHECK_H
#define CHECK_H
#include <ptxlift.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #condition,  \
                    ptxlift_last_error());                                                  \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

/* data[i] = 2 * data[i] + add, for i below n. */
static const char *const AFFINE =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .u32 launches;\n"
    ".entry affine(.param .u64 data, .param .u32 n, .param .u32 add)\n{\n"
    "    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<3>;\n"
    "    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "    mad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "    ld.param.u32 %r1, [n];\n"
    "    setp.ge.u32 %p, %r0, %r1;\n"
    "    @%p ret;\n"
    "    setp.eq.u32 %p, %r0, 0;\n"
    "    mov.u64 %d0, launches;\n"
    "    @%p red.global.add.u32 [%d0], 1;\n"
    "    ld.param.u64 %d0, [data];\n"
    "    mad.wide.u32 %d1, %r0, 4, %d0;\n"
    "    ld.global.u32 %r2, [%d1];\n"
    "    ld.param.u32 %r3, [add];\n"
    "    mad.lo.u32 %r2, %r2, 2, %r3;\n"
    "    st.global.u32 [%d1], %r2;\n"
    "    ret;\n}\n";
#endif
