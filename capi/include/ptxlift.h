/* The C library of ptxlift: runs NVIDIA PTX on the CPU.
 *
 * Its own interface: a context (ptxlift_context_new) compiles modules (ptxlift_module_new), whose kernels
 * (ptxlift_module_kernel) are launched as often as one likes (ptxlift_launch). All handles may be used by several threads at
 * once; freeing one while another thread uses it is an error of the caller's. ptx_run is gpuocelot's entry point. The library
 * also has the part of the CUDA driver API that cuda.h declares and README.md lists.
 *
 * This file is made by cbindgen from the sources.
 */

#ifndef PTXLIFT_H
#define PTXLIFT_H

#include <stddef.h>
#include <stdint.h>

// What a function says. All but the first leave a message for `ptxlift_last_error`.
typedef enum ptxlift_status {
  // Done.
  PTXLIFT_STATUS_OK = 0,
  // The PTX text is wrong: the message has all its errors with their source lines.
  PTXLIFT_STATUS_TEXT = 1,
  // The library was used wrongly: a null pointer, no such kernel, arguments that do not fit, a grid out of range.
  PTXLIFT_STATUS_USAGE = 2,
  // The kernel did wrong: the message has what, the PTX line, block, thread and address.
  PTXLIFT_STATUS_FAULT = 3,
  // The text is right, and needs something that this library or machine lacks.
  PTXLIFT_STATUS_UNSUPPORTED = 4,
  // A bug of the library.
  PTXLIFT_STATUS_INTERNAL = 70,
} ptxlift_status;

// Memory that kernels of a context reach.
typedef struct ptxlift_buffer ptxlift_buffer;

// An engine, which compiles and runs, and a device, which has the memory that kernels reach.
typedef struct ptxlift_context ptxlift_context;

// A kernel of a module.
typedef struct ptxlift_kernel ptxlift_kernel;

// A module: its code, and memory for its variables.
typedef struct ptxlift_module ptxlift_module;

// What a context is made like. See `ptxlift_options_set`.
typedef struct ptxlift_options ptxlift_options;

// What a launch is asked to do. All zeros mean one thread in one block, and everything else as the context says.
typedef struct ptxlift_launch_config {
  // Blocks of the grid in x, y and z; 0 counts as 1.
  uint32_t grid[3];
  // Threads of a block in x, y and z; 0 counts as 1.
  uint32_t block[3];
  // Bytes of dynamic shared memory for each block.
  uint32_t shared_bytes;
  // Who executes: 0 for the context's choice, 1 for the interpreter, 2 for native code.
  uint32_t engine;
  // Seconds that it may take; 0 for the context's limit, a negative number for no limit.
  double time_limit;
} ptxlift_launch_config;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Options as by default; `ptxlift_options_free` frees them.
struct ptxlift_options *ptxlift_options_new(void);

// Sets an option; of several values for a key the last holds. They are looked at by `ptxlift_context_new`:
//
// | key | value |
// |---|---|
// | `engine` | `native` (the default), `interpreter`, or `tiered`: native code is made when it pays |
// | `memory` | `registered` (the default): kernels reach buffers and module variables, everything else is a fault. `host`: kernels reach all memory of the process by its addresses, and one that errs can crash or corrupt it |
// | `checks` | `on` (the default), or `off`: native code does not check addresses at all, shared and local ones included |
// | `reading` | `text` (the default): modules are read by the text of the PTX ISA, or `nvidia`: as NVIDIA's tools have it in the few places where they depart from it. `ptx_run` and the driver API always do so |
// | `threads` | threads that share the blocks of a launch, 0 for as many as the machine runs at once |
// | `time_limit` | seconds that a launch may take, 10 by default, or `none` |
// | `opt_level` | `none`, `speed` (the default), `speed_and_size` |
// | `memory_limit`, `heap` | bytes of all buffers together; of the heap for `malloc` in kernels |
// | `cranelift.NAME` | a setting of Cranelift's |
//
// # Safety
// `options` came from `ptxlift_options_new`; no other thread uses it meanwhile. The strings end with a zero.
enum ptxlift_status ptxlift_options_set(struct ptxlift_options *options,
                                        const char *key,
                                        const char *value);

// Frees options; null is allowed.
//
// # Safety
// `options` is null or came from `ptxlift_options_new`, and is not used any more.
void ptxlift_options_free(struct ptxlift_options *options);

// Makes a context. `options` may be null, and may be freed afterwards. Several threads may use a context at once.
//
// # Safety
// `options` is null or came from `ptxlift_options_new`; `context` may be written.
enum ptxlift_status ptxlift_context_new(const struct ptxlift_options *options, struct ptxlift_context **context);

// Frees a context; null is allowed. Modules, kernels and buffers that were made of it stay good.
//
// # Safety
// `context` is null or came from `ptxlift_context_new`, and is not used any more.
void ptxlift_context_free(struct ptxlift_context *context);

// A buffer of so many zeros.
//
// # Safety
// `context` came from `ptxlift_context_new`; `buffer` may be written.
enum ptxlift_status ptxlift_buffer_new(const struct ptxlift_context *context,
                                       uintptr_t bytes,
                                       struct ptxlift_buffer **buffer);

// Lets kernels reach memory of the caller's as a buffer, without a copy, until the buffer is freed. With `read_only`
// other than 0 kernels may not store to it.
//
// # Safety
// `context` came from `ptxlift_context_new`; `memory` points to so many bytes, which stay there as long as the buffer and the
// launches that began before it was freed; `buffer` may be written.
enum ptxlift_status ptxlift_buffer_register(const struct ptxlift_context *context,
                                            void *memory,
                                            uintptr_t bytes,
                                            int32_t read_only,
                                            struct ptxlift_buffer **buffer);

// The address of a buffer, as kernels know it: what a pointer parameter wants. 0 for a null pointer.
//
// # Safety
// `buffer` is null or came from this library and has not been freed.
uint64_t ptxlift_buffer_address(const struct ptxlift_buffer *buffer);

// Copies bytes of a buffer, from `offset` on, to `to`.
//
// # Safety
// `buffer` came from this library and has not been freed; `to` may be written for so many bytes.
enum ptxlift_status ptxlift_buffer_read(const struct ptxlift_buffer *buffer,
                                        uintptr_t offset,
                                        void *to,
                                        uintptr_t bytes);

// Copies bytes from `from` into a buffer, from `offset` on.
//
// # Safety
// `buffer` came from this library and has not been freed; `from` may be read for so many bytes.
enum ptxlift_status ptxlift_buffer_write(const struct ptxlift_buffer *buffer,
                                         uintptr_t offset,
                                         const void *from,
                                         uintptr_t bytes);

// Frees a buffer, or ends the registration of one; null is allowed. Its memory stays until launches that began before
// have ended.
//
// # Safety
// `buffer` is null or came from this library, and is not used any more.
void ptxlift_buffer_free(struct ptxlift_buffer *buffer);

// The message of the last function that failed on the calling thread, in UTF-8; empty if none did. It is good until the
// next call on this thread.
const char *ptxlift_last_error(void);

// Runs a kernel for all threads of a grid, and waits for their end. `values` has a pointer to the value of each parameter, as
// for `cuLaunchKernel`: a pointer parameter's value is an address, of a buffer, or of host memory if the context says so.
// Several threads may launch a kernel at once.
//
// # Safety
// `kernel` came from `ptxlift_module_kernel`; `launch` may be read; `values` points to `count` pointers, each of which may be
// read for the size of its parameter. In a context whose memory is `host` the kernel does nothing that the caller may not.
enum ptxlift_status ptxlift_launch(const struct ptxlift_kernel *kernel,
                                   const struct ptxlift_launch_config *launch,
                                   const void *const *values,
                                   uintptr_t count);

// Compiles a PTX text, which ends with a zero or after `length` bytes if that is not 0. The module stays good without its
// context.
//
// # Safety
// `context` came from `ptxlift_context_new`; `text` may be read as far as it goes; `module` may be written.
enum ptxlift_status ptxlift_module_new(const struct ptxlift_context *context,
                                       const char *text,
                                       uintptr_t length,
                                       struct ptxlift_module **module);

// Frees a module; null is allowed. Its kernels stay good.
//
// # Safety
// `module` is null or came from `ptxlift_module_new`, and is not used any more.
void ptxlift_module_free(struct ptxlift_module *module);

// A kernel of a module by its name; a null pointer as name means the only one.
//
// # Safety
// `module` came from `ptxlift_module_new`; `name` is null or ends with a zero; `kernel` may be written.
enum ptxlift_status ptxlift_module_kernel(const struct ptxlift_module *module,
                                          const char *name,
                                          struct ptxlift_kernel **kernel);

// Frees a kernel; null is allowed.
//
// # Safety
// `kernel` is null or came from `ptxlift_module_kernel`, and is not used any more.
void ptxlift_kernel_free(struct ptxlift_kernel *kernel);

// The number of parameters of a kernel; 0 for a null pointer.
//
// # Safety
// `kernel` is null or came from `ptxlift_module_kernel`.
uintptr_t ptxlift_kernel_parameters(const struct ptxlift_kernel *kernel);

// The size in bytes of a parameter, counted from 0; 0 for a null pointer or one that the kernel does not have.
//
// # Safety
// `kernel` is null or came from `ptxlift_module_kernel`.
uintptr_t ptxlift_kernel_parameter_size(const struct ptxlift_kernel *kernel, uintptr_t index);

// Where a `.global` variable of a module lies, as kernels know it, and its size in bytes. Either place may be null.
//
// # Safety
// `module` came from `ptxlift_module_new`; `name` ends with a zero; `address` and `bytes` are null or may be written.
enum ptxlift_status ptxlift_module_variable(const struct ptxlift_module *module,
                                            const char *name,
                                            uint64_t *address,
                                            uintptr_t *bytes);

// Copies a `.global` or `.const` variable, from its beginning, to `to`.
//
// # Safety
// `module` came from `ptxlift_module_new`; `name` ends with a zero; `to` may be written for so many bytes.
enum ptxlift_status ptxlift_module_read(const struct ptxlift_module *module,
                                        const char *name,
                                        void *to,
                                        uintptr_t bytes);

// Copies bytes from `from` to the beginning of a `.global` or `.const` variable.
//
// # Safety
// `module` came from `ptxlift_module_new`; `name` ends with a zero; `from` may be read for so many bytes.
enum ptxlift_status ptxlift_module_write(const struct ptxlift_module *module,
                                         const char *name,
                                         const void *from,
                                         uintptr_t bytes);

// Runs the only kernel of a PTX text on a grid, and waits for its end: the entry point of gpuocelot that tinygrad's mock CUDA
// calls. Instructions do as NVIDIA's tools have it where these depart from the text of the PTX ISA. Kernels reach all memory of the process by host addresses. Null pointers, misaligned addresses, and those
// outside of shared, local and constant memory are errors all the same.
//
// `args[i]` *is* the value of parameter i, an address or an integer, cut to the parameter's size; it does not point to
// it. The same text may come again, at another address too: compiled kernels are kept by content, up to 512 texts.
// Launches of few threads are interpreted, until compiling pays. Several threads may call it at once.
//
// `rcp.approx.f64` and `sqrt.approx.f64`, which PTX lacks and tinygrad writes, give the nearest result.
//
// What goes wrong is written to standard error, and `ptx_last_error` has it. With `PTXLIFT_ABORT` set in the
// environment (and not 0) the process aborts then. `PTXLIFT_TIME_LIMIT` has the seconds that a launch may take, or `none`; 120
// otherwise.
//
// # Safety
// `source` ends with a zero; `args` has `n_args` values; the kernel does nothing that the caller may not.
void ptx_run(const char *source,
             int n_args,
             void *const *args,
             int block_x,
             int block_y,
             int block_z,
             int grid_x,
             int grid_y,
             int grid_z,
             int shared_mem_size);

// The message of the last `ptx_run` that failed on the calling thread; empty if none did. It is good until the next call on
// this thread.
const char *ptx_last_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PTXLIFT_H */
