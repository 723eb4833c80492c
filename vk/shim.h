// What the binding github.com/vulkan-go/vulkan cannot do, or cannot do safely
// under Go's garbage collector: it frees arrays of structs from finalizers while
// the driver may still read them. Every call that takes arrays or goes to a
// device goes this way; the structures live on C's stack or heap.
//
// Declarations are a subset of vulkan_core.h, so that neither headers nor
// libvulkan are needed to build.
#ifndef SFTSEQ_VK_SHIM_H
#define SFTSEQ_VK_SHIM_H

#include <stdint.h>
#include <stddef.h>

typedef uint64_t handle; // a handle that is not dispatchable
typedef int32_t result;  // VkResult

// ---- loading

// shim_load opens the loader and returns vkGetInstanceProcAddr, or NULL with
// dlerror's message.
void *shim_load(const char *name, const char **message);

// ---- instances

// shim_layers lists the loader's layers, one a line, to be freed, or NULL.
char *shim_layers(void);
// shim_instance_create connects to the loader, under the validation layer, with
// synchronisation validation, or without it.
result shim_instance_create(int validate, void **instance);

// shim_debug collects the messages of the validation layer.
typedef struct shim_debug shim_debug;
shim_debug *shim_debug_open(void *instance);
// shim_debug_take returns the messages so far, one a line, to be freed, or NULL.
char *shim_debug_take(shim_debug *d);
void shim_debug_close(shim_debug *d);

// ---- physical devices

typedef struct {
    uint32_t subgroup_size, subgroup_min, subgroup_max, subgroup_operations, subgroup_stages;
    uint32_t required_stages; // in which a size of subgroups can be asked for
    uint64_t max_allocation, max_buffer; // bytes; 0 where the device does not say
    char driver_name[256], driver_info[256];
} shim_properties;
// All zero below Vulkan 1.2.
void shim_query_properties(void *instance, void *physical, uint32_t api, shim_properties *out);

typedef struct {
    uint32_t float16, memory_model, subgroup_size_control, cooperative, bfloat16; // memory_model: with device scope, for atomics
    uint32_t statistics; // the device compiles and executes nothing; its pipelines have shim_pipeline_statistics
} shim_features;
// Cooperative and bfloat16 say whether their extensions are there.
void shim_query_features(void *instance, void *physical, uint32_t api, int cooperative, int bfloat16, shim_features *out);

// shim_extensions lists the device's extensions, one a line, to be freed, or NULL.
char *shim_extensions(void *instance, void *physical);

// shim_query_queue picks a family that computes, one without graphics if there is
// one: its work does not wait for a desktop's. It returns -1 if there is none.
// Bits are those of its timestamps that count, 0 if it has none; queues is how many
// it has.
int shim_query_queue(void *instance, void *physical, uint32_t *bits, uint32_t *queues);

typedef struct { uint32_t m, n, k, a, b, c, result, scope; } shim_cooperative;
int shim_query_cooperative(void *instance, void *physical, shim_cooperative *out, int room);

typedef struct { uint64_t budget, usage; } shim_heap;
void shim_query_budget(void *instance, void *physical, shim_heap *out, int room);

// ---- devices

typedef struct shim_device shim_device;
// shim_open creates a device with SHIM_QUEUES queues of the family, of which some are the
// same if that has fewer, and enables features with their extensions.
enum { SHIM_QUEUES = 3 };
result shim_open(void *instance, void *physical, uint32_t api, const shim_features *f, uint32_t family, uint32_t queues, shim_device **device);
void shim_close(shim_device *d); // destroys the device

// The objects that are created and destroyed while a device works, of which
// shim_live counts those that there are.
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
// shim_pipeline_statistics returns how many integers the compiler reports of a pipeline, at most
// room, or -1. The device was opened with the feature statistics.
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
    uint32_t barrier; // what came before is finished first
    uint32_t joins;   // goes beside the step before, and is timed with it
    handle pipeline, layout, set;
    uint32_t x, y, push_words;
    uint32_t push[32];
    uint32_t word; // of a fill
    handle from, to; // of a copy; to of a fill
    uint64_t from_offset, to_offset, bytes;
} shim_step;

result shim_pool_create(shim_device *d, handle *pool);
void shim_pool_destroy(shim_device *d, handle pool);
result shim_commands_allocate(shim_device *d, handle pool, void **commands);
void shim_commands_free(shim_device *d, handle pool, void *commands);
// shim_record fills a command buffer. It begins and ends with a barrier between
// compute, transfer and host. With queries (a pool of timestamps, one more than steps
// that join none) it times each step with those that join it.
result shim_record(shim_device *d, void *commands, const shim_step *steps, uint32_t n, handle queries);

result shim_queries_create(shim_device *d, uint32_t n, handle *queries);
result shim_queries_read(shim_device *d, handle queries, uint32_t n, uint64_t *ticks);
void shim_queries_destroy(shim_device *d, handle queries);

result shim_fence_create(shim_device *d, handle *fence);
void shim_fence_destroy(shim_device *d, handle fence);
// shim_submit hands commands to a queue, behind what was handed to that one. They wait
// until the device's timeline has come to a value, and take it to another when they are
// done; 0: neither.
result shim_submit(shim_device *d, uint32_t queue, void *commands, handle fence, uint64_t wait, uint64_t signal);
result shim_wait(shim_device *d, handle fence, uint64_t nanoseconds); // and resets it

#endif
