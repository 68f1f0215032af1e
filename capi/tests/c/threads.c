/* 1,000 threads compile and launch at once, with failing kernels among them; then everything is given back. */
#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 1000, WORDS = 64 };
static ptxlift_context *context;

static void *work(void *number) {
    uint32_t me = (uint32_t)(uintptr_t)number;
    ptxlift_module *module;
    if (me % 5 == 4) {
        CHECK(ptxlift_module_new(context, ".version 8.0\n.target sm_80\n.entry k() { bad; }", 0, &module)
              == PTXLIFT_STATUS_TEXT);
        CHECK(strstr(ptxlift_last_error(), "`bad`"));
        return NULL;
    }
    CHECK(ptxlift_module_new(context, AFFINE, 0, &module) == PTXLIFT_STATUS_OK);
    ptxlift_kernel *kernel;
    CHECK(ptxlift_module_kernel(module, "affine", &kernel) == PTXLIFT_STATUS_OK);
    uint32_t words[WORDS];
    for (uint32_t i = 0; i < WORDS; i++) words[i] = me + i;
    ptxlift_buffer *buffer;
    CHECK(ptxlift_buffer_new(context, sizeof words, &buffer) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_buffer_write(buffer, 0, words, sizeof words) == PTXLIFT_STATUS_OK);
    uint64_t address = ptxlift_buffer_address(buffer);
    uint32_t n = me % 5 == 3 ? WORDS + 1 : WORDS, add = me;
    const void *args[] = {&address, &n, &add};
    ptxlift_launch_config config = {.grid = {3}, .block = {32}};
    ptxlift_status status = ptxlift_launch(kernel, &config, args, 3);
    if (me % 5 == 3) {
        CHECK(status == PTXLIFT_STATUS_FAULT && strstr(ptxlift_last_error(), "out of bounds"));
    } else {
        CHECK(status == PTXLIFT_STATUS_OK);
        CHECK(ptxlift_buffer_read(buffer, 0, words, sizeof words) == PTXLIFT_STATUS_OK);
        for (uint32_t i = 0; i < WORDS; i++) CHECK(words[i] == 2 * (me + i) + me);
    }
    ptxlift_kernel_free(kernel);
    ptxlift_module_free(module);
    ptxlift_buffer_free(buffer);
    return NULL;
}

/* Bytes that the process holds: what malloc has given out, and executable memory, which compiled code lies in. Resident
   memory would count what the C library keeps of a thousand ended threads as well: their stacks, and pages of its arenas. */
static size_t held(void) {
    struct mallinfo2 heap = mallinfo2();
    size_t bytes = heap.uordblks + heap.hblkhd;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    char line[4096];
    while (fgets(line, sizeof line, maps)) {
        size_t from, to;
        char rights[8];
        if (sscanf(line, "%zx-%zx %7s", &from, &to, rights) == 3 && rights[2] == 'x') bytes += to - from;
    }
    fclose(maps);
    return bytes;
}

static void round_of_threads(void) {
    static pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    CHECK(ptxlift_context_new(NULL, &context) == PTXLIFT_STATUS_OK);
    round_of_threads();
    size_t before = held();
    for (int i = 0; i < 3; i++) round_of_threads();
    size_t after = held();
    printf("held: %zu KiB after one round, %zu KiB after four\n", before / 1024, after / 1024);
    /* 2,400 modules of some ten KiB each would be tens of MiB. */
    CHECK(after < before + 512 * 1024);
    ptxlift_context_free(context);
    return 0;
}
