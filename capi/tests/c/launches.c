#include "check.h"

static void checked(void) {
    ptxlift_context *context;
    CHECK(ptxlift_context_new(NULL, &context) == PTXLIFT_STATUS_OK);
    ptxlift_module *module;
    CHECK(ptxlift_module_new(context, AFFINE, 0, &module) == PTXLIFT_STATUS_OK);
    ptxlift_kernel *kernel, *same;
    CHECK(ptxlift_module_kernel(module, "affine", &kernel) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_module_kernel(module, NULL, &same) == PTXLIFT_STATUS_OK);
    ptxlift_kernel_free(same);
    CHECK(ptxlift_kernel_parameters(kernel) == 3);
    CHECK(ptxlift_kernel_parameter_size(kernel, 0) == 8);
    CHECK(ptxlift_kernel_parameter_size(kernel, 2) == 4);
    CHECK(ptxlift_kernel_parameter_size(kernel, 3) == 0);

    uint32_t words[100];
    for (uint32_t i = 0; i < 100; i++) words[i] = i;
    ptxlift_buffer *buffer, *registered;
    CHECK(ptxlift_buffer_new(context, sizeof words, &buffer) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_buffer_write(buffer, 0, words, sizeof words) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_buffer_register(context, words, sizeof words, 0, &registered) == PTXLIFT_STATUS_OK);
    uint64_t address = ptxlift_buffer_address(buffer);
    uint32_t n = 100, add = 7;
    const void *args[] = {&address, &n, &add};
    ptxlift_launch_config config = {.grid = {4}, .block = {32}};
    for (int round = 0; round < 3; round++)
        CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_OK);
    uint32_t out[100];
    CHECK(ptxlift_buffer_read(buffer, 0, out, sizeof out) == PTXLIFT_STATUS_OK);
    for (uint32_t i = 0; i < 100; i++) CHECK(out[i] == 8 * i + 7 * (1 + 2 + 4));

    /* Memory of the caller's, in the interpreter. */
    address = ptxlift_buffer_address(registered);
    CHECK(address == (uint64_t)(uintptr_t)words);
    config.engine = 1;
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_OK);
    for (uint32_t i = 0; i < 100; i++) CHECK(words[i] == 2 * i + 7);
    uint32_t launches = 0;
    CHECK(ptxlift_module_read(module, "launches", &launches, 4) == PTXLIFT_STATUS_OK);
    CHECK(launches == 4);
    launches = 40;
    CHECK(ptxlift_module_write(module, "launches", &launches, 4) == PTXLIFT_STATUS_OK);

    /* What goes wrong. */
    config.engine = 0;
    n = 101;
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_FAULT);
    CHECK(strstr(ptxlift_last_error(), "out of bounds") && strstr(ptxlift_last_error(), "(4, 0, 0)"));
    n = 100;
    ptxlift_buffer_free(registered);
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_FAULT);
    CHECK(ptxlift_launch(kernel, &config, args, 2) == PTXLIFT_STATUS_USAGE);
    CHECK(strstr(ptxlift_last_error(), "3 parameters"));
    config.block[0] = 2048;
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_USAGE);
    CHECK(ptxlift_launch(NULL, &config, args, 3) == PTXLIFT_STATUS_USAGE);
    CHECK(ptxlift_buffer_read(buffer, 1, out, sizeof out) == PTXLIFT_STATUS_USAGE);
    ptxlift_module *wrong = module;
    CHECK(ptxlift_module_new(context, ".version 8.0\n.target sm_80\n.entry k() {\n  frobnicate;\n  nonsense;\n}", 0, &wrong)
          == PTXLIFT_STATUS_TEXT);
    CHECK(wrong == NULL);
    CHECK(strstr(ptxlift_last_error(), "frobnicate") && strstr(ptxlift_last_error(), "nonsense"));
    CHECK(ptxlift_module_kernel(module, "afine", &same) == PTXLIFT_STATUS_USAGE);
    CHECK(strstr(ptxlift_last_error(), "did you mean `affine`?"));

    /* Handles go in any order. */
    ptxlift_context_free(context);
    ptxlift_module_free(module);
    address = ptxlift_buffer_address(buffer);
    config.block[0] = 32;
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_OK);
    ptxlift_kernel_free(kernel);
    ptxlift_buffer_free(buffer);
    ptxlift_buffer_free(NULL);
}

static void host_memory(const char *engine, const char *checks) {
    ptxlift_options *options = ptxlift_options_new();
    CHECK(ptxlift_options_set(options, "memory", "host") == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_options_set(options, "checks", checks) == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_options_set(options, "engine", engine) == PTXLIFT_STATUS_OK);
    ptxlift_context *context;
    CHECK(ptxlift_context_new(options, &context) == PTXLIFT_STATUS_OK);
    ptxlift_module *module;
    CHECK(ptxlift_module_new(context, AFFINE, strlen(AFFINE), &module) == PTXLIFT_STATUS_OK);
    ptxlift_kernel *kernel;
    CHECK(ptxlift_module_kernel(module, "affine", &kernel) == PTXLIFT_STATUS_OK);
    uint32_t *words = malloc(4000);
    for (uint32_t i = 0; i < 1000; i++) words[i] = i;
    uint32_t n = 1000, add = 1;
    const void *args[] = {&words, &n, &add};
    ptxlift_launch_config config = {.grid = {8}, .block = {128}};
    CHECK(ptxlift_launch(kernel, &config, args, 3) == PTXLIFT_STATUS_OK);
    for (uint32_t i = 0; i < 1000; i++) CHECK(words[i] == 2 * i + 1);
    free(words);
    ptxlift_kernel_free(kernel);
    ptxlift_module_free(module);
    ptxlift_context_free(context);
    CHECK(ptxlift_options_set(options, "engine", "steam") == PTXLIFT_STATUS_OK);
    CHECK(ptxlift_context_new(options, &context) == PTXLIFT_STATUS_USAGE);
    CHECK(strstr(ptxlift_last_error(), "steam") && context == NULL);
    ptxlift_options_free(options);
}

int main(void) {
    checked();
    host_memory("native", "on");
    host_memory("native", "off");
    host_memory("interpreter", "on");
    host_memory("tiered", "off");
    return 0;
}
