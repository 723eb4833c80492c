//go:build cgo

#include "shim_internal.h"

#include <stdlib.h>
#include <string.h>

result shim_open(void *instance, void *physical, uint32_t api, const shim_features *f, uint32_t family, uint32_t queues, shim_device **out) {
    get_proc get = (get_proc)shim_instance_proc(instance, "vkGetDeviceProcAddr");
    result (*create)(void *, const void *, const void *, void **) = (void *)shim_instance_proc(instance, "vkCreateDevice");
    shim_device *d = calloc(1, sizeof *d);
    if (!get || !create || !d) return free(d), -3;

    features_executable executable = {TYPE_EXECUTABLE_FEATURES, NULL, 1};
    features_bfloat16 half = {TYPE_BFLOAT16, NULL, f->bfloat16, 0, f->bfloat16};
    features_cooperative coop = {TYPE_COOPERATIVE, NULL, f->cooperative, 0};
    features13 f13 = {TYPE_FEATURES13};
    features12 f12 = {TYPE_FEATURES12};
    features2 all = {TYPE_FEATURES2, &f12};
    f12.f[F12_FLOAT16] = f->float16;
    f12.f[F12_TIMELINE] = 1; // mandatory in Vulkan 1.2
    f12.f[F12_MEMORY_MODEL] = f12.f[F12_MEMORY_MODEL_DEVICE] = f->memory_model;
    f13.f[F13_SIZE_CONTROL] = f->subgroup_size_control;
    const char *extensions[3];
    uint32_t n = 0;
    void **end = &f12.next;
    if (api >= api13) *end = &f13, end = &f13.next;
    if (f->cooperative) *end = &coop, end = &coop.next, extensions[n++] = "VK_KHR_cooperative_matrix";
    if (f->bfloat16) *end = &half, end = &half.next, extensions[n++] = "VK_KHR_shader_bfloat16";
    if (f->statistics) *end = &executable, extensions[n++] = "VK_KHR_pipeline_executable_properties";

    float priorities[SHIM_QUEUES];
    if (queues > SHIM_QUEUES) queues = SHIM_QUEUES;
    for (uint32_t i = 0; i < queues; i++) priorities[i] = 1;
    struct { uint32_t type; void *next; uint32_t flags, family, n; const float *priorities; } queue = {TYPE_QUEUE, NULL, 0, family, queues, priorities};
    struct { uint32_t type; void *next; uint32_t flags, queues; const void *queue; uint32_t layers; const void *layer; uint32_t extensions; const void *extension; const void *features; } info =
        {TYPE_DEVICE, &all, 0, 1, &queue, 0, NULL, n, extensions, NULL};
    result r = create(physical, &info, NULL, &d->device);
    if (r != 0) return free(d), r;

    void *device = d->device;
    int missing = 0;
#define LOAD(name) missing += !(d->name = (void *)get(device, "vk" #name))
    LOAD(DestroyDevice); LOAD(GetDeviceQueue);
    LOAD(CreateBuffer); LOAD(DestroyBuffer); LOAD(GetBufferMemoryRequirements);
    LOAD(AllocateMemory); LOAD(FreeMemory); LOAD(BindBufferMemory); LOAD(MapMemory);
    LOAD(CreateDescriptorSetLayout); LOAD(DestroyDescriptorSetLayout); LOAD(CreatePipelineLayout); LOAD(DestroyPipelineLayout);
    LOAD(CreatePipelineCache); LOAD(GetPipelineCacheData); LOAD(DestroyPipelineCache);
    LOAD(CreateShaderModule); LOAD(DestroyShaderModule); LOAD(CreateComputePipelines); LOAD(DestroyPipeline);
    LOAD(CreateDescriptorPool); LOAD(DestroyDescriptorPool); LOAD(AllocateDescriptorSets); LOAD(UpdateDescriptorSets);
    LOAD(CreateCommandPool); LOAD(DestroyCommandPool); LOAD(AllocateCommandBuffers); LOAD(FreeCommandBuffers);
    LOAD(BeginCommandBuffer); LOAD(EndCommandBuffer); LOAD(CmdBindPipeline); LOAD(CmdBindDescriptorSets); LOAD(CmdPushConstants);
    LOAD(CmdDispatch); LOAD(CmdFillBuffer); LOAD(CmdCopyBuffer); LOAD(CmdPipelineBarrier);
    LOAD(CmdResetQueryPool); LOAD(CmdWriteTimestamp); LOAD(CreateQueryPool); LOAD(DestroyQueryPool); LOAD(GetQueryPoolResults);
    LOAD(CreateFence); LOAD(DestroyFence); LOAD(WaitForFences); LOAD(ResetFences); LOAD(QueueSubmit);
    LOAD(CreateSemaphore); LOAD(DestroySemaphore);
#undef LOAD
    if (f->statistics) missing += !(d->statistics = (void *)get(device, "vkGetPipelineExecutableStatisticsKHR"));
    if (missing) {
        if (d->DestroyDevice) d->DestroyDevice(device, NULL);
        free(d);
        return -3;
    }
    *out = d;
    if (d->statistics) return 0; // drivers that compile for missing hardware have no semaphores
    struct { uint32_t type; void *next; uint32_t kind; uint64_t value; } timeline = {TYPE_TIMELINE, NULL, 1, 0};
    struct { uint32_t type; void *next; uint32_t flags; } semaphore = {TYPE_SEMAPHORE, &timeline, 0};
    r = made(d->CreateSemaphore(device, &semaphore, NULL, &d->timeline), &d->timeline);
    if (r != 0) {
        d->DestroyDevice(device, NULL);
        free(d);
        *out = NULL;
        return r;
    }
    for (uint32_t i = 0; i < SHIM_QUEUES; i++) d->GetDeviceQueue(device, family, i % queues, &d->queues[i]);
    d->family = family;
    return 0;
}

void shim_close(shim_device *d) {
    if (d->timeline) d->DestroySemaphore(d->device, d->timeline, NULL);
    d->DestroyDevice(d->device, NULL);
    free(d);
}

int shim_live(shim_device *d, int kind) { return __atomic_load_n(&d->live[kind], __ATOMIC_RELAXED); }

result shim_buffer_create(shim_device *d, uint64_t bytes, handle *buffer, uint64_t *need, uint32_t *types) {
    struct { uint32_t type; void *next; uint32_t flags; uint64_t size; uint32_t usage, sharing, n; const uint32_t *families; } info =
        {TYPE_BUFFER, NULL, 0, bytes, 0x23 /* transfer, storage */, 0, 0, NULL};
    result r = made(d->CreateBuffer(d->device, &info, NULL, buffer), buffer);
    if (r != 0) return r;
    struct { uint64_t size, alignment; uint32_t types; } m;
    d->GetBufferMemoryRequirements(d->device, *buffer, &m);
    *need = m.size;
    *types = m.types;
    return 0;
}

result shim_memory_allocate(shim_device *d, uint64_t bytes, uint32_t type, handle *memory) {
    struct { uint32_t type; void *next; uint64_t size; uint32_t index; } info = {TYPE_ALLOCATE, NULL, bytes, type};
    return counted(d, SHIM_BLOCKS, made(d->AllocateMemory(d->device, &info, NULL, memory), memory));
}

result shim_buffer_bind(shim_device *d, handle buffer, handle memory) { return d->BindBufferMemory(d->device, buffer, memory, 0); }

result shim_memory_map(shim_device *d, handle memory, void **at) { return d->MapMemory(d->device, memory, 0, ~0ull, 0, at); }

void shim_memory_free(shim_device *d, handle buffer, handle memory) {
    if (buffer) d->DestroyBuffer(d->device, buffer, NULL);
    if (memory) d->FreeMemory(d->device, memory, NULL), count(d, SHIM_BLOCKS, -1);
}

// ---- pipelines

enum { MAX_BUFFERS = 32, MAX_CONSTANTS = 32, STORAGE_BUFFER = 7, CAPTURE_STATISTICS = 0x40 };

result shim_set_layout_create(shim_device *d, uint32_t buffers, handle *layout) {
    struct { uint32_t binding, kind, n, stages; const void *samplers; } b[MAX_BUFFERS];
    if (buffers > MAX_BUFFERS) return -3;
    for (uint32_t i = 0; i < buffers; i++) b[i].binding = i, b[i].kind = STORAGE_BUFFER, b[i].n = 1, b[i].stages = COMPUTE_STAGE, b[i].samplers = NULL;
    struct { uint32_t type; void *next; uint32_t flags, n; const void *bindings; } info = {TYPE_SET_LAYOUT, NULL, 0, buffers, b};
    return made(d->CreateDescriptorSetLayout(d->device, &info, NULL, layout), layout);
}

result shim_pipeline_layout_create(shim_device *d, handle set_layout, uint32_t push_bytes, handle *layout) {
    struct { uint32_t stages, offset, size; } push = {COMPUTE_STAGE, 0, push_bytes};
    struct { uint32_t type; void *next; uint32_t flags, sets; const handle *layouts; uint32_t pushes; const void *push; } info =
        {TYPE_LAYOUT, NULL, 0, 1, &set_layout, 1, &push};
    return made(d->CreatePipelineLayout(d->device, &info, NULL, layout), layout);
}

result shim_cache_create(shim_device *d, const void *data, size_t bytes, handle *cache) {
    struct { uint32_t type; void *next; uint32_t flags; size_t size; const void *data; } info = {TYPE_CACHE, NULL, 0, bytes, data};
    return made(d->CreatePipelineCache(d->device, &info, NULL, cache), cache);
}

result shim_cache_read(shim_device *d, handle cache, void *data, size_t *bytes) {
    return d->GetPipelineCacheData(d->device, cache, bytes, data);
}

result shim_pipeline_create(shim_device *d, handle cache, handle layout, const uint32_t *code, size_t words,
                            const uint32_t *constants, uint32_t n, uint32_t subgroup, handle *pipeline) {
    if (n > MAX_CONSTANTS) return -3;
    handle module;
    struct { uint32_t type; void *next; uint32_t flags; size_t size; const uint32_t *code; } source = {TYPE_SHADER, NULL, 0, 4 * words, code};
    result r = d->CreateShaderModule(d->device, &source, NULL, &module);
    if (r != 0) return r;
    struct { uint32_t id, offset; size_t size; } entries[MAX_CONSTANTS];
    for (uint32_t i = 0; i < n; i++) entries[i].id = i, entries[i].offset = 4 * i, entries[i].size = 4;
    struct { uint32_t n; const void *entries; size_t size; const void *data; } special = {n, entries, 4 * n, constants};
    struct { uint32_t type; void *next; uint32_t size; } required = {TYPE_REQUIRED_SIZE, NULL, subgroup};
    typedef struct { uint32_t type; void *next; uint32_t flags, stage; handle module; const char *name; const void *special; } stage;
    struct { uint32_t type; void *next; uint32_t flags; stage s; handle layout, base; int32_t index; } info =
        {TYPE_COMPUTE, NULL, d->statistics ? CAPTURE_STATISTICS : 0, {TYPE_STAGE, subgroup ? &required : NULL, 0, COMPUTE_STAGE, module, "main", n ? &special : NULL}, layout, 0, -1};
    r = made(d->CreateComputePipelines(d->device, cache, 1, &info, NULL, pipeline), pipeline);
    d->DestroyShaderModule(d->device, module, NULL);
    return r;
}

int shim_pipeline_statistics(shim_device *d, handle pipeline, shim_statistic *out, int room) {
    enum { ROOM = 64, INTEGER = 1, UNSIGNED = 2 };
    struct { uint32_t type; void *next; handle pipeline; uint32_t index; } info = {TYPE_EXECUTABLE, NULL, pipeline, 0};
    struct { uint32_t type; void *next; char name[256], description[256]; uint32_t format; uint64_t value; } *s = calloc(ROOM, sizeof *s);
    uint32_t n = ROOM;
    int count = 0;
    for (uint32_t i = 0; s && i < n; i++) s[i].type = TYPE_STATISTIC;
    if (!s || !d->statistics || d->statistics(d->device, &info, &n, s) < 0) return free(s), -1;
    for (uint32_t i = 0; i < n && count < room; i++) {
        if (s[i].format != INTEGER && s[i].format != UNSIGNED) continue;
        memcpy(out[count].name, s[i].name, sizeof s[i].name);
        out[count++].value = s[i].value;
    }
    free(s);
    return count;
}

void shim_pipeline_destroy(shim_device *d, handle pipeline) { d->DestroyPipeline(d->device, pipeline, NULL); }
void shim_layouts_destroy(shim_device *d, handle set_layout, handle layout) {
    d->DestroyPipelineLayout(d->device, layout, NULL);
    d->DestroyDescriptorSetLayout(d->device, set_layout, NULL);
}
void shim_cache_destroy(shim_device *d, handle cache) { d->DestroyPipelineCache(d->device, cache, NULL); }

result shim_sets_create(shim_device *d, uint32_t sets, uint32_t buffers, handle *pool) {
    struct { uint32_t kind, n; } size = {STORAGE_BUFFER, buffers};
    struct { uint32_t type; void *next; uint32_t flags, sets, n; const void *sizes; } info = {TYPE_SET_POOL, NULL, 0, sets, 1, &size};
    return counted(d, SHIM_SETS, made(d->CreateDescriptorPool(d->device, &info, NULL, pool), pool));
}

result shim_set_allocate(shim_device *d, handle pool, handle layout, const shim_range *ranges, uint32_t n, handle *set) {
    struct { uint32_t type; void *next; handle pool; uint32_t n; const handle *layouts; } info = {TYPE_SETS, NULL, pool, 1, &layout};
    result r = d->AllocateDescriptorSets(d->device, &info, set);
    if (r != 0) return r;
    struct { uint32_t type; void *next; handle set; uint32_t binding, element, n, kind; const void *image; const shim_range *buffer; const void *view; } w =
        {TYPE_WRITE_SET, NULL, *set, 0, 0, n, STORAGE_BUFFER, NULL, ranges, NULL};
    // A write of n elements at binding 0 continues in the following bindings.
    d->UpdateDescriptorSets(d->device, 1, &w, 0, NULL);
    return 0;
}

void shim_sets_destroy(shim_device *d, handle pool) {
    d->DestroyDescriptorPool(d->device, pool, NULL);
    count(d, SHIM_SETS, -1);
}
