// Declarations shared by the files of the shim.
#ifndef SFTSEQ_VK_SHIM_INTERNAL_H
#define SFTSEQ_VK_SHIM_INTERNAL_H

#include "shim.h"

typedef void (*function)(void);
typedef function (*get_proc)(void *, const char *);
extern get_proc shim_instance_proc; // vkGetInstanceProcAddr

static const uint32_t api12 = 1u << 22 | 2u << 12, api13 = 1u << 22 | 3u << 12;

// ---- structures of vulkan_core.h

enum { // VkStructureType
    TYPE_APPLICATION = 0, TYPE_INSTANCE = 1, TYPE_QUEUE = 2, TYPE_DEVICE = 3, TYPE_SUBMIT = 4, TYPE_ALLOCATE = 5, TYPE_FENCE = 8, TYPE_SEMAPHORE = 9, TYPE_QUERY_POOL = 11, TYPE_BUFFER = 12, TYPE_SHADER = 16,
    TYPE_CACHE = 17, TYPE_STAGE = 18, TYPE_COMPUTE = 29, TYPE_LAYOUT = 30, TYPE_SET_LAYOUT = 32,
    TYPE_SET_POOL = 33, TYPE_SETS = 34, TYPE_WRITE_SET = 35, TYPE_POOL = 39, TYPE_COMMANDS = 40,
    TYPE_BEGIN = 42, TYPE_BARRIER = 46, TYPE_FEATURES12 = 51, TYPE_FEATURES13 = 53,
    TYPE_FEATURES2 = 1000059000, TYPE_PROPERTIES2 = 1000059001, TYPE_MEMORY2 = 1000059006,
    TYPE_SUBGROUP = 1000094000, TYPE_MESSENGER = 1000128004, TYPE_MAINTENANCE3 = 1000168000,
    TYPE_BFLOAT16 = 1000141000, TYPE_DRIVER = 1000196000, TYPE_SUBGROUP_SIZE = 1000225000, TYPE_REQUIRED_SIZE = 1000225001, TYPE_TIMELINE = 1000207002, TYPE_TIMELINE_SUBMIT = 1000207003, TYPE_BUDGET = 1000237000,
    TYPE_VALIDATION = 1000247000,
    TYPE_EXECUTABLE_FEATURES = 1000269000, TYPE_EXECUTABLE = 1000269003, TYPE_STATISTIC = 1000269004, TYPE_COOPERATIVE = 1000506000, TYPE_COOPERATIVE_SHAPE = 1000506001, TYPE_MAINTENANCE4 = 1000413001,
};

typedef struct { uint32_t type; void *next; uint32_t f[55]; } features2;
typedef struct { uint32_t type; void *next; uint32_t f[47]; } features12;
typedef struct { uint32_t type; void *next; uint32_t f[15]; } features13;
typedef struct { uint32_t type; void *next; uint32_t cooperative, robust; } features_cooperative;
typedef struct { uint32_t type; void *next; uint32_t type16, dot, cooperative; } features_bfloat16;
typedef struct { uint32_t type; void *next; uint32_t info; } features_executable;
enum { F12_FLOAT16 = 7, F12_TIMELINE = 37, F12_MEMORY_MODEL = 41, F12_MEMORY_MODEL_DEVICE = 42, F13_SIZE_CONTROL = 7 };

enum { COMPUTE_STAGE = 0x20 };

struct shim_device {
    void *device, *queues[SHIM_QUEUES];
    uint32_t family;
    handle timeline;
    int live[SHIM_KINDS];
    result (*statistics)(void *, const void *, uint32_t *, void *); // NULL unless the device is only for compiling
    void (*DestroyDevice)(void *, const void *);
    void (*GetDeviceQueue)(void *, uint32_t, uint32_t, void **);
    result (*CreateBuffer)(void *, const void *, const void *, handle *);
    void (*DestroyBuffer)(void *, handle, const void *);
    void (*GetBufferMemoryRequirements)(void *, handle, void *);
    result (*AllocateMemory)(void *, const void *, const void *, handle *);
    void (*FreeMemory)(void *, handle, const void *);
    result (*BindBufferMemory)(void *, handle, handle, uint64_t);
    result (*MapMemory)(void *, handle, uint64_t, uint64_t, uint32_t, void **);
    result (*CreateDescriptorSetLayout)(void *, const void *, const void *, handle *);
    void (*DestroyDescriptorSetLayout)(void *, handle, const void *);
    result (*CreatePipelineLayout)(void *, const void *, const void *, handle *);
    void (*DestroyPipelineLayout)(void *, handle, const void *);
    result (*CreatePipelineCache)(void *, const void *, const void *, handle *);
    result (*GetPipelineCacheData)(void *, handle, size_t *, void *);
    void (*DestroyPipelineCache)(void *, handle, const void *);
    result (*CreateShaderModule)(void *, const void *, const void *, handle *);
    void (*DestroyShaderModule)(void *, handle, const void *);
    result (*CreateComputePipelines)(void *, handle, uint32_t, const void *, const void *, handle *);
    void (*DestroyPipeline)(void *, handle, const void *);
    result (*CreateDescriptorPool)(void *, const void *, const void *, handle *);
    void (*DestroyDescriptorPool)(void *, handle, const void *);
    result (*AllocateDescriptorSets)(void *, const void *, handle *);
    void (*UpdateDescriptorSets)(void *, uint32_t, const void *, uint32_t, const void *);
    result (*CreateCommandPool)(void *, const void *, const void *, handle *);
    void (*DestroyCommandPool)(void *, handle, const void *);
    result (*AllocateCommandBuffers)(void *, const void *, void **);
    void (*FreeCommandBuffers)(void *, handle, uint32_t, void **);
    result (*BeginCommandBuffer)(void *, const void *);
    result (*EndCommandBuffer)(void *);
    void (*CmdBindPipeline)(void *, uint32_t, handle);
    void (*CmdBindDescriptorSets)(void *, uint32_t, handle, uint32_t, uint32_t, const handle *, uint32_t, const uint32_t *);
    void (*CmdPushConstants)(void *, handle, uint32_t, uint32_t, uint32_t, const void *);
    void (*CmdDispatch)(void *, uint32_t, uint32_t, uint32_t);
    void (*CmdFillBuffer)(void *, handle, uint64_t, uint64_t, uint32_t);
    void (*CmdCopyBuffer)(void *, handle, handle, uint32_t, const void *);
    void (*CmdPipelineBarrier)(void *, uint32_t, uint32_t, uint32_t, uint32_t, const void *, uint32_t, const void *, uint32_t, const void *);
    void (*CmdResetQueryPool)(void *, handle, uint32_t, uint32_t);
    void (*CmdWriteTimestamp)(void *, uint32_t, handle, uint32_t);
    result (*CreateQueryPool)(void *, const void *, const void *, handle *);
    void (*DestroyQueryPool)(void *, handle, const void *);
    result (*GetQueryPoolResults)(void *, handle, uint32_t, uint32_t, size_t, void *, uint64_t, uint32_t);
    result (*CreateFence)(void *, const void *, const void *, handle *);
    void (*DestroyFence)(void *, handle, const void *);
    result (*WaitForFences)(void *, uint32_t, const handle *, uint32_t, uint64_t);
    result (*ResetFences)(void *, uint32_t, const handle *);
    result (*CreateSemaphore)(void *, const void *, const void *, handle *);
    void (*DestroySemaphore)(void *, handle, const void *);
    result (*QueueSubmit)(void *, uint32_t, const void *, handle);
};

// made returns r, and clears the handle if the creation failed. Vulkan leaves the handle undefined
// then; a cleared handle may be destroyed.
static inline result made(result r, handle *h) {
    if (r != 0) *h = 0;
    return r;
}

static inline void count(shim_device *d, int kind, int n) { __atomic_fetch_add(&d->live[kind], n, __ATOMIC_RELAXED); }

// counted returns r, and increments the number of objects of the kind if the creation succeeded.
static inline result counted(shim_device *d, int kind, result r) {
    if (r == 0) count(d, kind, 1);
    return r;
}

#endif
