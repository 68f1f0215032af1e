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

static long resident(void) {
    long pages = 0, skipped = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &skipped, &pages) == 2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void round_of_threads(void) {
    static pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    malloc_trim(0);
}

int main(void) {
    CHECK(ptxlift_context_new(NULL, &context) == PTXLIFT_STATUS_OK);
    round_of_threads();
    round_of_threads();
    long before = resident();
    for (int i = 0; i < 3; i++) round_of_threads();
    long after = resident();
    printf("resident: %ld KiB after two rounds, %ld KiB after five\n", before, after);
    /* 3,000 modules of some ten KiB each would be tens of MiB. */
    CHECK(after - before < 8 * 1024);
    ptxlift_context_free(context);
    return 0;
}
