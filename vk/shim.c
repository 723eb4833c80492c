//go:build cgo

#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef function (*get_proc)(void *, const char *);
static get_proc instance_proc;

void *shim_load(const char *name, const char **message) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); // never closed: drivers keep threads
    if (!library || !(instance_proc = (get_proc)dlsym(library, "vkGetInstanceProcAddr"))) {
        *message = dlerror();
        return NULL;
    }
    return (void *)instance_proc;
}

// ---- structures of vulkan_core.h

enum { // VkStructureType
    TYPE_SUBMIT = 4, TYPE_ALLOCATE = 5, TYPE_FENCE = 8, TYPE_QUERY_POOL = 11, TYPE_BUFFER = 12, TYPE_SHADER = 16,
    TYPE_CACHE = 17, TYPE_STAGE = 18, TYPE_COMPUTE = 29, TYPE_LAYOUT = 30, TYPE_SET_LAYOUT = 32,
    TYPE_SET_POOL = 33, TYPE_SETS = 34, TYPE_WRITE_SET = 35, TYPE_POOL = 39, TYPE_COMMANDS = 40,
    TYPE_BEGIN = 42, TYPE_BARRIER = 46, TYPE_FEATURES11 = 49, TYPE_FEATURES12 = 51, TYPE_FEATURES13 = 53,
    TYPE_PROPERTIES13 = 54, TYPE_FEATURES2 = 1000059000, TYPE_PROPERTIES2 = 1000059001, TYPE_MEMORY2 = 1000059006,
    TYPE_ID = 1000071004, TYPE_SUBGROUP = 1000094000, TYPE_MESSENGER = 1000128004, TYPE_MAINTENANCE3 = 1000168000,
    TYPE_DRIVER = 1000196000, TYPE_SUBGROUP_SIZE = 1000225000, TYPE_REQUIRED_SIZE = 1000225001, TYPE_BUDGET = 1000237000,
    TYPE_VALIDATION = 1000247000, TYPE_COOPERATIVE = 1000506000, TYPE_COOPERATIVE_SHAPE = 1000506001,
};

typedef struct { uint32_t type; void *next; } chained;
typedef struct { uint32_t type; void *next; uint32_t f[55]; } features2;
typedef struct { uint32_t type; void *next; uint32_t f[12]; } features11;
typedef struct { uint32_t type; void *next; uint32_t f[47]; } features12;
typedef struct { uint32_t type; void *next; uint32_t f[15]; } features13;
typedef struct { uint32_t type; void *next; uint32_t cooperative, robust; } features_cooperative;
enum { F11_STORAGE16 = 0, F12_FLOAT16 = 7, F12_MEMORY_MODEL = 41, F13_SIZE_CONTROL = 7, F13_FULL_SUBGROUPS = 8 };

typedef struct { uint32_t type; void *next; uint8_t properties[1024]; } properties2; // VkPhysicalDeviceProperties has 824 bytes
typedef struct { uint32_t type; void *next; uint32_t size, stages, operations, quad; } subgroup_properties;
typedef struct { uint32_t type; void *next; uint32_t min, max, groups, stages; } size_properties;
typedef struct { uint32_t type; void *next; uint32_t sets; uint64_t allocation; } maintenance3;
typedef struct { uint32_t type; void *next; uint32_t id; char name[256], info[256]; uint8_t version[4]; } driver_properties;
typedef struct { uint32_t type; void *next; uint8_t device[16], driver[16], luid[8]; uint32_t mask, valid; } id_properties;
typedef struct { uint32_t type; void *next; uint32_t m, n, k, a, b, c, result, saturating, scope; } cooperative_shape;
typedef struct { uint32_t type; void *next; uint64_t budget[16], usage[16]; } budget_properties;
typedef struct { uint32_t type; void *next; uint8_t properties[1024]; } memory2; // VkPhysicalDeviceMemoryProperties has 520

// ---- instances

struct shim_debug {
    void *instance;
    handle messenger;
    pthread_mutex_t lock;
    char *text;
    size_t length;
};

typedef struct { uint32_t type; const void *next; uint32_t flags; const char *id; int32_t number; const char *message; } message_data;

static uint32_t message(uint32_t severity, uint32_t kind, const message_data *data, void *user) {
    (void)severity, (void)kind;
    shim_debug *d = user;
    size_t n = strlen(data->message);
    pthread_mutex_lock(&d->lock);
    char *text = d->length < 1 << 20 ? realloc(d->text, d->length + n + 2) : NULL;
    if (text) {
        memcpy(text + d->length, data->message, n);
        d->length += n;
        text[d->length++] = '\n';
        text[d->length] = 0;
        d->text = text;
    }
    pthread_mutex_unlock(&d->lock);
    return 0;
}

shim_debug *shim_debug_open(void *instance) {
    result (*create)(void *, const void *, const void *, handle *) = (void *)instance_proc(instance, "vkCreateDebugUtilsMessengerEXT");
    if (!create) return NULL;
    shim_debug *d = calloc(1, sizeof *d);
    d->instance = instance;
    pthread_mutex_init(&d->lock, NULL);
    struct { uint32_t type; const void *next; uint32_t flags, severity, kinds; void *callback, *user; } info =
        {TYPE_MESSENGER, NULL, 0, 0x1100 /* warnings, errors */, 0x7, (void *)message, d};
    if (create(instance, &info, NULL, &d->messenger) != 0) {
        free(d);
        return NULL;
    }
    return d;
}

char *shim_debug_take(shim_debug *d) {
    pthread_mutex_lock(&d->lock);
    char *text = d->text;
    d->text = NULL;
    d->length = 0;
    pthread_mutex_unlock(&d->lock);
    return text;
}

void shim_debug_close(shim_debug *d) {
    if (!d) return;
    void (*destroy)(void *, handle, const void *) = (void *)instance_proc(d->instance, "vkDestroyDebugUtilsMessengerEXT");
    destroy(d->instance, d->messenger, NULL);
    free(d->text);
    free(d);
}

const void *shim_validation(void) {
    static const uint32_t enabled[] = {4 /* synchronisation */};
    static const struct { uint32_t type; const void *next; uint32_t n; const uint32_t *enable; uint32_t m; const uint32_t *disable; } features =
        {TYPE_VALIDATION, NULL, 1, enabled, 0, NULL};
    return &features;
}

// ---- physical devices

static const uint32_t api13 = 1u << 22 | 3u << 12;

void shim_query_properties(void *instance, void *physical, uint32_t api, shim_properties *out) {
    void (*get)(void *, void *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceProperties2");
    memset(out, 0, sizeof *out);
    if (!get) return;
    size_properties size = {TYPE_SUBGROUP_SIZE};
    subgroup_properties subgroup = {TYPE_SUBGROUP, api >= api13 ? &size : NULL};
    id_properties id = {TYPE_ID, &subgroup};
    driver_properties driver = {TYPE_DRIVER, &id};
    maintenance3 limits = {TYPE_MAINTENANCE3, &driver};
    properties2 p = {TYPE_PROPERTIES2, &limits};
    get(physical, &p);
    out->subgroup_size = subgroup.size;
    out->subgroup_min = size.min ? size.min : subgroup.size;
    out->subgroup_max = size.max ? size.max : subgroup.size;
    out->subgroup_operations = subgroup.operations;
    out->subgroup_stages = subgroup.stages;
    out->max_allocation = limits.allocation;
    memcpy(out->driver_name, driver.name, sizeof driver.name);
    memcpy(out->driver_info, driver.info, sizeof driver.info);
    memcpy(out->device_uuid, id.device, sizeof id.device);
}

void shim_query_features(void *instance, void *physical, uint32_t api, int cooperative, shim_features *out) {
    void (*get)(void *, void *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceFeatures2");
    memset(out, 0, sizeof *out);
    if (!get) return;
    features_cooperative coop = {TYPE_COOPERATIVE};
    features13 f13 = {TYPE_FEATURES13, cooperative ? &coop : NULL};
    features12 f12 = {TYPE_FEATURES12, api >= api13 ? (void *)&f13 : f13.next};
    features11 f11 = {TYPE_FEATURES11, &f12};
    features2 f = {TYPE_FEATURES2, &f11};
    get(physical, &f);
    *out = (shim_features){f12.f[F12_FLOAT16], f11.f[F11_STORAGE16], f12.f[F12_MEMORY_MODEL], f13.f[F13_SIZE_CONTROL],
                           f13.f[F13_FULL_SUBGROUPS], coop.cooperative};
}

int shim_query_cooperative(void *instance, void *physical, shim_cooperative *out, int room) {
    result (*get)(void *, uint32_t *, cooperative_shape *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = 0;
    if (!get || get(physical, &n, NULL) < 0) return 0;
    cooperative_shape *s = calloc(n + 1, sizeof *s);
    for (uint32_t i = 0; i < n; i++) s[i].type = TYPE_COOPERATIVE_SHAPE;
    if (get(physical, &n, s) < 0) n = 0;
    if (n > (uint32_t)room) n = room;
    for (uint32_t i = 0; i < n; i++)
        out[i] = (shim_cooperative){s[i].m, s[i].n, s[i].k, s[i].a, s[i].b, s[i].c, s[i].result, s[i].scope};
    free(s);
    return n;
}

void shim_query_budget(void *instance, void *physical, shim_heap *out, int room) {
    void (*get)(void *, void *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceMemoryProperties2");
    budget_properties budget = {TYPE_BUDGET};
    memory2 m = {TYPE_MEMORY2, &budget};
    if (get) get(physical, &m);
    for (int i = 0; i < room && i < 16; i++) out[i] = (shim_heap){budget.budget[i], budget.usage[i]};
}

typedef struct { features2 f; features11 f11; features12 f12; features13 f13; features_cooperative coop; } feature_chain;

void *shim_feature_chain(uint32_t api, const shim_features *f) {
    feature_chain *c = calloc(1, sizeof *c);
    c->f.type = TYPE_FEATURES2, c->f11.type = TYPE_FEATURES11, c->f12.type = TYPE_FEATURES12, c->f13.type = TYPE_FEATURES13;
    c->coop.type = TYPE_COOPERATIVE;
    c->f11.f[F11_STORAGE16] = f->storage16;
    c->f12.f[F12_FLOAT16] = f->float16;
    c->f12.f[F12_MEMORY_MODEL] = f->memory_model;
    c->f13.f[F13_SIZE_CONTROL] = f->subgroup_size_control;
    c->f13.f[F13_FULL_SUBGROUPS] = f->full_subgroups;
    c->coop.cooperative = f->cooperative;
    void *last = f->cooperative ? &c->coop : NULL;
    c->f13.next = last;
    c->f12.next = api >= api13 ? (void *)&c->f13 : last;
    c->f11.next = &c->f12;
    c->f.next = &c->f11;
    return c;
}

void shim_feature_chain_free(void *chain) { free(chain); }

// ---- devices

struct shim_device {
    void *device, *queue;
    uint32_t family;
    void (*DestroyDevice)(void *, const void *);
    result (*DeviceWaitIdle)(void *);
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
    result (*QueueSubmit)(void *, uint32_t, const void *, handle);
};

shim_device *shim_open(void *instance, void *device, void *queue, uint32_t family) {
    get_proc get = (get_proc)instance_proc(instance, "vkGetDeviceProcAddr");
    shim_device *d = calloc(1, sizeof *d);
    d->device = device, d->queue = queue, d->family = family;
    int missing = 0;
#define LOAD(name) missing += !(d->name = (void *)get(device, "vk" #name))
    LOAD(DestroyDevice); LOAD(DeviceWaitIdle);
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
#undef LOAD
    if (missing) {
        free(d);
        return NULL;
    }
    return d;
}

void shim_close(shim_device *d) {
    d->DestroyDevice(d->device, NULL);
    free(d);
}

result shim_wait_idle(shim_device *d) { return d->DeviceWaitIdle(d->device); }

result shim_buffer_create(shim_device *d, uint64_t bytes, handle *buffer, uint64_t *need, uint32_t *types) {
    struct { uint32_t type; void *next; uint32_t flags; uint64_t size; uint32_t usage, sharing, n; const uint32_t *families; } info =
        {TYPE_BUFFER, NULL, 0, bytes, 0x23 /* transfer, storage */, 0, 0, NULL};
    result r = d->CreateBuffer(d->device, &info, NULL, buffer);
    if (r != 0) return r;
    struct { uint64_t size, alignment; uint32_t types; } m;
    d->GetBufferMemoryRequirements(d->device, *buffer, &m);
    *need = m.size;
    *types = m.types;
    return 0;
}

result shim_memory_allocate(shim_device *d, uint64_t bytes, uint32_t type, handle *memory) {
    struct { uint32_t type; void *next; uint64_t size; uint32_t index; } info = {TYPE_ALLOCATE, NULL, bytes, type};
    return d->AllocateMemory(d->device, &info, NULL, memory);
}

result shim_buffer_bind(shim_device *d, handle buffer, handle memory) { return d->BindBufferMemory(d->device, buffer, memory, 0); }

result shim_memory_map(shim_device *d, handle memory, void **at) { return d->MapMemory(d->device, memory, 0, ~0ull, 0, at); }

void shim_memory_free(shim_device *d, handle buffer, handle memory) {
    if (buffer) d->DestroyBuffer(d->device, buffer, NULL);
    if (memory) d->FreeMemory(d->device, memory, NULL);
}

// ---- pipelines

enum { MAX_BUFFERS = 32, STORAGE_BUFFER = 7, COMPUTE_STAGE = 0x20 };

result shim_set_layout_create(shim_device *d, uint32_t buffers, handle *layout) {
    struct { uint32_t binding, kind, n, stages; const void *samplers; } b[MAX_BUFFERS];
    if (buffers > MAX_BUFFERS) return -3;
    for (uint32_t i = 0; i < buffers; i++) b[i].binding = i, b[i].kind = STORAGE_BUFFER, b[i].n = 1, b[i].stages = COMPUTE_STAGE, b[i].samplers = NULL;
    struct { uint32_t type; void *next; uint32_t flags, n; const void *bindings; } info = {TYPE_SET_LAYOUT, NULL, 0, buffers, b};
    return d->CreateDescriptorSetLayout(d->device, &info, NULL, layout);
}

result shim_pipeline_layout_create(shim_device *d, handle set_layout, uint32_t push_bytes, handle *layout) {
    struct { uint32_t stages, offset, size; } push = {COMPUTE_STAGE, 0, push_bytes};
    struct { uint32_t type; void *next; uint32_t flags, sets; const handle *layouts; uint32_t pushes; const void *push; } info =
        {TYPE_LAYOUT, NULL, 0, 1, &set_layout, 1, &push};
    return d->CreatePipelineLayout(d->device, &info, NULL, layout);
}

result shim_cache_create(shim_device *d, const void *data, size_t bytes, handle *cache) {
    struct { uint32_t type; void *next; uint32_t flags; size_t size; const void *data; } info = {TYPE_CACHE, NULL, 0, bytes, data};
    return d->CreatePipelineCache(d->device, &info, NULL, cache);
}

result shim_cache_read(shim_device *d, handle cache, void *data, size_t *bytes) {
    return d->GetPipelineCacheData(d->device, cache, bytes, data);
}

result shim_pipeline_create(shim_device *d, handle cache, handle layout, const uint32_t *code, size_t words,
                            const uint32_t *constants, uint32_t n, uint32_t subgroup, handle *pipeline) {
    if (n > MAX_BUFFERS) return -3;
    handle module;
    struct { uint32_t type; void *next; uint32_t flags; size_t size; const uint32_t *code; } source = {TYPE_SHADER, NULL, 0, 4 * words, code};
    result r = d->CreateShaderModule(d->device, &source, NULL, &module);
    if (r != 0) return r;
    struct { uint32_t id, offset; size_t size; } entries[MAX_BUFFERS];
    for (uint32_t i = 0; i < n; i++) entries[i].id = i, entries[i].offset = 4 * i, entries[i].size = 4;
    struct { uint32_t n; const void *entries; size_t size; const void *data; } special = {n, entries, 4 * n, constants};
    struct { uint32_t type; void *next; uint32_t size; } required = {TYPE_REQUIRED_SIZE, NULL, subgroup};
    typedef struct { uint32_t type; void *next; uint32_t flags, stage; handle module; const char *name; const void *special; } stage;
    struct { uint32_t type; void *next; uint32_t flags; stage s; handle layout, base; int32_t index; } info =
        {TYPE_COMPUTE, NULL, 0, {TYPE_STAGE, subgroup ? &required : NULL, 0, COMPUTE_STAGE, module, "main", n ? &special : NULL}, layout, 0, -1};
    r = d->CreateComputePipelines(d->device, cache, 1, &info, NULL, pipeline);
    d->DestroyShaderModule(d->device, module, NULL);
    return r;
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
    return d->CreateDescriptorPool(d->device, &info, NULL, pool);
}

result shim_set_allocate(shim_device *d, handle pool, handle layout, const shim_range *ranges, uint32_t n, handle *set) {
    struct { uint32_t type; void *next; handle pool; uint32_t n; const handle *layouts; } info = {TYPE_SETS, NULL, pool, 1, &layout};
    result r = d->AllocateDescriptorSets(d->device, &info, set);
    if (r != 0) return r;
    struct { uint32_t type; void *next; handle set; uint32_t binding, element, n, kind; const void *image; const shim_range *buffer; const void *view; } w =
        {TYPE_WRITE_SET, NULL, *set, 0, 0, n, STORAGE_BUFFER, NULL, ranges, NULL};
    // A write of n elements runs on into the bindings that follow.
    d->UpdateDescriptorSets(d->device, 1, &w, 0, NULL);
    return 0;
}

void shim_sets_destroy(shim_device *d, handle pool) { d->DestroyDescriptorPool(d->device, pool, NULL); }

// ---- recording

result shim_pool_create(shim_device *d, handle *pool) {
    struct { uint32_t type; void *next; uint32_t flags, family; } info = {TYPE_POOL, NULL, 2 /* buffers are reset one by one */, d->family};
    return d->CreateCommandPool(d->device, &info, NULL, pool);
}

void shim_pool_destroy(shim_device *d, handle pool) { d->DestroyCommandPool(d->device, pool, NULL); }

result shim_commands_allocate(shim_device *d, handle pool, void **commands) {
    struct { uint32_t type; void *next; handle pool; uint32_t level, n; } info = {TYPE_COMMANDS, NULL, pool, 0, 1};
    return d->AllocateCommandBuffers(d->device, &info, commands);
}

void shim_commands_free(shim_device *d, handle pool, void *commands) { d->FreeCommandBuffers(d->device, pool, 1, &commands); }

enum { STAGE_COMPUTE = 0x800, STAGE_TRANSFER = 0x1000, STAGE_BOTTOM = 0x2000, STAGE_HOST = 0x4000 };
enum { SHADER_READ = 0x20, SHADER_WRITE = 0x40, TRANSFER_READ = 0x800, TRANSFER_WRITE = 0x1000, HOST_READ = 0x2000 };

static void barrier(shim_device *d, void *commands, int host) {
    struct { uint32_t type; void *next; uint32_t from, to; } b =
        {TYPE_BARRIER, NULL, SHADER_WRITE | TRANSFER_WRITE, SHADER_READ | SHADER_WRITE | TRANSFER_READ | TRANSFER_WRITE | (host ? HOST_READ : 0)};
    uint32_t stages = STAGE_COMPUTE | STAGE_TRANSFER;
    d->CmdPipelineBarrier(commands, stages, stages | (host ? STAGE_HOST : 0), 0, 1, &b, 0, NULL, 0, NULL);
}

result shim_record(shim_device *d, void *commands, const shim_step *steps, uint32_t n, handle queries) {
    struct { uint32_t type; void *next; uint32_t flags; const void *inheritance; } begin = {TYPE_BEGIN};
    result r = d->BeginCommandBuffer(commands, &begin);
    if (r != 0) return r;
    barrier(d, commands, 0);
    if (queries) {
        d->CmdResetQueryPool(commands, queries, 0, n + 1);
        d->CmdWriteTimestamp(commands, STAGE_BOTTOM, queries, 0);
    }
    handle bound = 0;
    for (uint32_t i = 0; i < n; i++) {
        const shim_step *s = &steps[i];
        if (s->barrier || queries) barrier(d, commands, 0);
        switch (s->kind) {
        case SHIM_DISPATCH:
            if (s->pipeline != bound) d->CmdBindPipeline(commands, 1, bound = s->pipeline);
            d->CmdBindDescriptorSets(commands, 1, s->layout, 0, 1, &s->set, 0, NULL);
            if (s->push_words) d->CmdPushConstants(commands, s->layout, COMPUTE_STAGE, 0, 4 * s->push_words, s->push);
            d->CmdDispatch(commands, s->x, s->y, 1);
            break;
        case SHIM_FILL:
            d->CmdFillBuffer(commands, s->to, s->to_offset, s->bytes, 0);
            break;
        case SHIM_COPY: {
            struct { uint64_t from, to, bytes; } region = {s->from_offset, s->to_offset, s->bytes};
            d->CmdCopyBuffer(commands, s->from, s->to, 1, &region);
        }
        }
        if (queries) d->CmdWriteTimestamp(commands, STAGE_BOTTOM, queries, i + 1);
    }
    barrier(d, commands, 1);
    return d->EndCommandBuffer(commands);
}

result shim_queries_create(shim_device *d, uint32_t n, handle *queries) {
    struct { uint32_t type; void *next; uint32_t flags, kind, n, statistics; } info = {TYPE_QUERY_POOL, NULL, 0, 2 /* timestamps */, n, 0};
    return d->CreateQueryPool(d->device, &info, NULL, queries);
}

result shim_queries_read(shim_device *d, handle queries, uint32_t n, uint64_t *ticks) {
    return d->GetQueryPoolResults(d->device, queries, 0, n, 8 * (size_t)n, ticks, 8, 0x3 /* 64 bits, wait */);
}

void shim_queries_destroy(shim_device *d, handle queries) { d->DestroyQueryPool(d->device, queries, NULL); }

result shim_fence_create(shim_device *d, handle *fence) {
    struct { uint32_t type; void *next; uint32_t flags; } info = {TYPE_FENCE};
    return d->CreateFence(d->device, &info, NULL, fence);
}

void shim_fence_destroy(shim_device *d, handle fence) { d->DestroyFence(d->device, fence, NULL); }

result shim_submit(shim_device *d, void *commands, handle fence) {
    struct { uint32_t type; void *next; uint32_t waits; const void *wait, *stages; uint32_t n; void **commands; uint32_t signals; const void *signal; } info =
        {TYPE_SUBMIT, NULL, 0, NULL, NULL, 1, &commands, 0, NULL};
    return d->QueueSubmit(d->queue, 1, &info, fence);
}

result shim_wait(shim_device *d, handle fence, uint64_t nanoseconds) {
    result r = d->WaitForFences(d->device, 1, &fence, 1, nanoseconds);
    return r != 0 ? r : d->ResetFences(d->device, 1, &fence);
}
