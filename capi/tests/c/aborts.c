#include "check.h"

int main(void) {
    ptx_run(".version 8.0\n.target sm_80\n.entry k() { frobnicate; }", 0, NULL, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(ptx_last_error(), "frobnicate"));
    return 0;
}
