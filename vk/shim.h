// The shim makes the Vulkan calls for which the Go binding github.com/vulkan-go/vulkan is unsafe
// under Go's garbage collector: the binding frees arrays of structs in finalizers while the driver
// may still read them. The shim makes every call that takes a device or arrays of structs, with
// structures on C's stack or heap.
//
// Declarations are a subset of vulkan_core.h, so that neither headers nor
// libvulkan are needed to build.
#ifndef SFTSEQ_VK_SHIM_H
#define SFTSEQ_VK_SHIM_H

#include <stdint.h>
#include <stddef.h>

typedef uint64_t handle; // non-dispatchable handle
typedef int32_t result;  // VkResult

// ---- loading

// shim_load opens the loader and returns vkGetInstanceProcAddr, or NULL with
// dlerror's message.
void *shim_load(const char *name, const char **message);

// ---- instances

// shim_layers returns the names of the loader's layers, one per line, or NULL. The
// caller frees the string.
char *shim_layers(void);
// shim_instance_create creates an instance, optionally with the validation layer and
// its synchronisation validation.
result shim_instance_create(int validate, void **instance);

// shim_debug collects the messages of the validation layer.
typedef struct shim_debug shim_debug;
shim_debug *shim_debug_open(void *instance);
// shim_debug_take returns the messages since the last call, one per line, or NULL.
// The caller frees the string.
char *shim_debug_take(shim_debug *d);
void shim_debug_close(shim_debug *d);

// ---- physical devices

typedef struct {
    uint32_t subgroup_size, subgroup_min, subgroup_max, subgroup_operations, subgroup_stages;
    uint32_t required_stages; // shader stages that can require a subgroup size
    uint64_t max_allocation, max_buffer; // bytes; 0 if the device does not report them
    char driver_name[256], driver_info[256];
} shim_properties;
// shim_query_properties reads the properties of a physical device. They are zero for Vulkan
// versions below 1.2.
void shim_query_properties(void *instance, void *physical, uint32_t api, shim_properties *out);

typedef struct {
    uint32_t float16, memory_model, subgroup_size_control, cooperative, bfloat16; // memory_model includes device scope, which atomics need
    uint32_t statistics; // the device is only for compiling; shim_pipeline_statistics works on its pipelines
} shim_features;
// shim_query_features reads the features of a physical device. The arguments cooperative and
// bfloat16 are 1 if the device has these extensions.
void shim_query_features(void *instance, void *physical, uint32_t api, int cooperative, int bfloat16, shim_features *out);

// shim_extensions returns the names of the device's extensions, one per line, or
// NULL. The caller frees the string.
char *shim_extensions(void *instance, void *physical);

// shim_query_queue returns a queue family that can compute, or -1 if there is none. It prefers a
// family without graphics, whose work does not wait for the work of a desktop. It sets bits to the
// number of valid bits of the family's timestamps, or 0 without timestamps, and queues to the
// family's number of queues.
int shim_query_queue(void *instance, void *physical, uint32_t *bits, uint32_t *queues);

typedef struct { uint32_t m, n, k, a, b, c, result, scope; } shim_cooperative;
// shim_query_cooperative writes the shapes of cooperative matrices to out. It returns their number, at
// most room.
int shim_query_cooperative(void *instance, void *physical, shim_cooperative *out, int room);

typedef struct { uint64_t budget, usage; } shim_heap; // bytes
// shim_query_budget writes the budget and the usage of each heap, of at most room heaps, to out.
void shim_query_budget(void *instance, void *physical, shim_heap *out, int room);

// ---- devices

typedef struct shim_device shim_device;
// shim_open creates a device with SHIM_QUEUES queues of the family, and enables features with their
// extensions. If the family has fewer queues, some of the queues are the same.
enum { SHIM_QUEUES = 3 };
result shim_open(void *instance, void *physical, uint32_t api, const shim_features *f, uint32_t family, uint32_t queues, shim_device **device);
void shim_close(shim_device *d); // destroys the device

// Kinds of objects that are created and destroyed while a device is in use. shim_live returns the
// number of existing objects of a kind.
enum { SHIM_BLOCKS, SHIM_SETS, SHIM_COMMANDS, SHIM_FENCES, SHIM_QUERIES, SHIM_KINDS };
int shim_live(shim_device *d, int kind);

result shim_buffer_create(shim_device *d, uint64_t bytes, handle *buffer, uint64_t *need, uint32_t *types);
result shim_memory_allocate(shim_device *d, uint64_t bytes, uint32_t type, handle *memory);
result shim_buffer_bind(shim_device *d, handle buffer, handle memory);
result shim_memory_map(shim_device *d, handle memory, void **at);
void shim_memory_free(shim_device *d, handle buffer, handle memory);

result shim_set_layout_create(shim_device *d, uint32_t buffers, handle *layout);
result shim_pipeline_layout_create(shim_device *d, handle set_layout, uint32_t push_bytes, handle *layout);
result shim_cache_create(shim_device *d, const void *data, size_t bytes, handle *cache);
result shim_cache_read(shim_device *d, handle cache, void *data, size_t *bytes);
result shim_pipeline_create(shim_device *d, handle cache, handle layout, const uint32_t *code, size_t words,
                            const uint32_t *constants, uint32_t n, uint32_t subgroup, handle *pipeline);
void shim_pipeline_destroy(shim_device *d, handle pipeline);

typedef struct { char name[256]; uint64_t value; } shim_statistic;
// shim_pipeline_statistics reads the integers that the compiler reports for a pipeline. It returns
// their number, at most room, or -1 after an error. The device must have been opened with
// statistics.
int shim_pipeline_statistics(shim_device *d, handle pipeline, shim_statistic *out, int room);
void shim_layouts_destroy(shim_device *d, handle set_layout, handle layout);
void shim_cache_destroy(shim_device *d, handle cache);

result shim_sets_create(shim_device *d, uint32_t sets, uint32_t buffers, handle *pool);
typedef struct { handle buffer; uint64_t offset, range; } shim_range; // VkDescriptorBufferInfo
result shim_set_allocate(shim_device *d, handle pool, handle layout, const shim_range *ranges, uint32_t n, handle *set);
void shim_sets_destroy(shim_device *d, handle pool);

// ---- recording

enum { SHIM_DISPATCH, SHIM_FILL, SHIM_COPY };
typedef struct {
    uint32_t kind;
    uint32_t barrier; // 1 if the step waits for all earlier steps
    uint32_t joins;   // 1 if the step runs concurrently with the previous step and is timed with it
    handle pipeline, layout, set;
    uint32_t x, y, push_words;
    uint32_t push[32];
    uint32_t word; // value of a fill
    handle from, to; // buffers of a copy; a fill uses only to
    uint64_t from_offset, to_offset, bytes;
} shim_step;

result shim_pool_create(shim_device *d, handle *pool);
void shim_pool_destroy(shim_device *d, handle pool);
result shim_commands_allocate(shim_device *d, handle pool, void **commands);
void shim_commands_free(shim_device *d, handle pool, void *commands);
// shim_record fills a command buffer. It begins with a barrier that waits for earlier compute and
// transfer commands, and ends with a barrier that also makes writes visible to the host. If queries is
// not 0, it adds timestamps that time each step together with the steps that join it. The pool must
// have one timestamp more than there are steps with joins = 0.
result shim_record(shim_device *d, void *commands, const shim_step *steps, uint32_t n, handle queries);

result shim_queries_create(shim_device *d, uint32_t n, handle *queries);
result shim_queries_read(shim_device *d, handle queries, uint32_t n, uint64_t *ticks);
void shim_queries_destroy(shim_device *d, handle queries);

result shim_fence_create(shim_device *d, handle *fence);
void shim_fence_destroy(shim_device *d, handle fence);
// shim_submit submits commands to a queue. They start when the value of the device's timeline is at
// least the argument wait. When they complete, they set the timeline to the argument signal. An
// argument of 0 means no wait or no signal.
result shim_submit(shim_device *d, uint32_t queue, void *commands, handle fence, uint64_t wait, uint64_t signal);
result shim_wait(shim_device *d, handle fence, uint64_t nanoseconds); // waits for the fence, then resets it

#endif
