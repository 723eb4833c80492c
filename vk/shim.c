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
    TYPE_APPLICATION = 0, TYPE_INSTANCE = 1, TYPE_QUEUE = 2, TYPE_DEVICE = 3, TYPE_SUBMIT = 4, TYPE_ALLOCATE = 5, TYPE_FENCE = 8, TYPE_QUERY_POOL = 11, TYPE_BUFFER = 12, TYPE_SHADER = 16,
    TYPE_CACHE = 17, TYPE_STAGE = 18, TYPE_COMPUTE = 29, TYPE_LAYOUT = 30, TYPE_SET_LAYOUT = 32,
    TYPE_SET_POOL = 33, TYPE_SETS = 34, TYPE_WRITE_SET = 35, TYPE_POOL = 39, TYPE_COMMANDS = 40,
    TYPE_BEGIN = 42, TYPE_BARRIER = 46, TYPE_FEATURES12 = 51, TYPE_FEATURES13 = 53,
    TYPE_FEATURES2 = 1000059000, TYPE_PROPERTIES2 = 1000059001, TYPE_MEMORY2 = 1000059006,
    TYPE_SUBGROUP = 1000094000, TYPE_MESSENGER = 1000128004, TYPE_MAINTENANCE3 = 1000168000,
    TYPE_BFLOAT16 = 1000141000, TYPE_DRIVER = 1000196000, TYPE_SUBGROUP_SIZE = 1000225000, TYPE_REQUIRED_SIZE = 1000225001, TYPE_BUDGET = 1000237000,
    TYPE_VALIDATION = 1000247000, TYPE_COOPERATIVE = 1000506000, TYPE_COOPERATIVE_SHAPE = 1000506001, TYPE_MAINTENANCE4 = 1000413001,
};

typedef struct { uint32_t type; void *next; uint32_t f[55]; } features2;
typedef struct { uint32_t type; void *next; uint32_t f[47]; } features12;
typedef struct { uint32_t type; void *next; uint32_t f[15]; } features13;
typedef struct { uint32_t type; void *next; uint32_t cooperative, robust; } features_cooperative;
typedef struct { uint32_t type; void *next; uint32_t type16, dot, cooperative; } features_bfloat16;
enum { F12_FLOAT16 = 7, F12_MEMORY_MODEL = 41, F12_MEMORY_MODEL_DEVICE = 42, F13_SIZE_CONTROL = 7 };

typedef struct { uint32_t type; void *next; uint64_t properties[128]; } properties2; // VkPhysicalDeviceProperties has 824 bytes
typedef struct { uint32_t type; void *next; uint32_t size, stages, operations, quad; } subgroup_properties;
typedef struct { uint32_t type; void *next; uint32_t min, max, groups, stages; } size_properties;
typedef struct { uint32_t type; void *next; uint32_t sets; uint64_t allocation; } maintenance3;
typedef struct { uint32_t type; void *next; uint64_t buffer; } maintenance4;
typedef struct { uint32_t type; void *next; uint32_t id; char name[256], info[256]; uint8_t version[4]; } driver_properties;
typedef struct { uint32_t type; void *next; uint32_t m, n, k, a, b, c, result, saturating, scope; } cooperative_shape;
typedef struct { uint32_t type; void *next; uint64_t budget[16], usage[16]; } budget_properties;
typedef struct { uint32_t type; void *next; uint64_t properties[128]; } memory2; // VkPhysicalDeviceMemoryProperties has 520

typedef struct { char name[256]; uint32_t version; } extension;
typedef struct { char name[256]; uint32_t specification, version; char description[256]; } layer;
typedef struct { uint32_t flags, queues, timestamp_bits, granularity[3]; } family_properties;

// ---- instances

static const uint32_t api12 = 1u << 22 | 2u << 12, api13 = 1u << 22 | 3u << 12;

// lines joins n names, each at the head of a structure.
static char *lines(const char *first, size_t size, uint32_t n) {
    char *text = calloc(n + 1, 257), *end = text;
    for (uint32_t i = 0; text && i < n; i++) {
        size_t length = strnlen(first + i * size, 256);
        memcpy(end, first + i * size, length);
        end += length;
        *end++ = '\n';
    }
    return text;
}

char *shim_layers(void) {
    result (*list)(uint32_t *, layer *) = (void *)instance_proc(NULL, "vkEnumerateInstanceLayerProperties");
    uint32_t n = 0;
    if (!list || list(&n, NULL) < 0) return NULL;
    layer *all = calloc(n + 1, sizeof *all);
    char *text = all && list(&n, all) >= 0 ? lines(all->name, sizeof *all, n) : NULL;
    free(all);
    return text;
}

result shim_instance_create(int validate, void **instance) {
    result (*create)(const void *, const void *, void **) = (void *)instance_proc(NULL, "vkCreateInstance");
    if (!create) return -3;
    struct { uint32_t type; const void *next; const char *name; uint32_t version; const char *engine; uint32_t engine_version, api; } app =
        {TYPE_APPLICATION, NULL, "sftseq", 0, NULL, 0, api13};
    const uint32_t enabled[] = {4 /* synchronisation */};
    const char *const layers[] = {"VK_LAYER_KHRONOS_validation"}, *const extensions[] = {"VK_EXT_debug_utils", "VK_EXT_validation_features"};
    struct { uint32_t type; const void *next; uint32_t n; const uint32_t *enable; uint32_t m; const uint32_t *disable; } features =
        {TYPE_VALIDATION, NULL, 1, enabled, 0, NULL};
    struct { uint32_t type; const void *next; uint32_t flags; const void *app; uint32_t layers; const char *const *layer; uint32_t extensions; const char *const *extension; } info =
        {TYPE_INSTANCE, validate ? &features : NULL, 0, &app, validate ? 1 : 0, layers, validate ? 2 : 0, extensions};
    return create(&info, NULL, instance);
}

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

// ---- physical devices

void shim_query_properties(void *instance, void *physical, uint32_t api, shim_properties *out) {
    void (*get)(void *, void *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceProperties2");
    memset(out, 0, sizeof *out);
    if (!get || api < api12) return;
    maintenance4 buffers = {TYPE_MAINTENANCE4};
    size_properties size = {TYPE_SUBGROUP_SIZE, &buffers};
    subgroup_properties subgroup = {TYPE_SUBGROUP, api >= api13 ? &size : NULL};
    driver_properties driver = {TYPE_DRIVER, &subgroup};
    maintenance3 limits = {TYPE_MAINTENANCE3, &driver};
    properties2 p = {TYPE_PROPERTIES2, &limits};
    get(physical, &p);
    out->subgroup_size = subgroup.size;
    out->subgroup_min = size.min ? size.min : subgroup.size;
    out->subgroup_max = size.max ? size.max : subgroup.size;
    out->subgroup_operations = subgroup.operations;
    out->subgroup_stages = subgroup.stages;
    out->max_allocation = limits.allocation;
    out->max_buffer = buffers.buffer;
    memcpy(out->driver_name, driver.name, sizeof driver.name);
    memcpy(out->driver_info, driver.info, sizeof driver.info);
}

void shim_query_features(void *instance, void *physical, uint32_t api, int cooperative, int bfloat16, shim_features *out) {
    void (*get)(void *, void *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceFeatures2");
    memset(out, 0, sizeof *out);
    if (!get || api < api12) return;
    features_bfloat16 half = {TYPE_BFLOAT16};
    features_cooperative coop = {TYPE_COOPERATIVE};
    features13 f13 = {TYPE_FEATURES13};
    features12 f12 = {TYPE_FEATURES12};
    features2 f = {TYPE_FEATURES2, &f12};
    void **end = &f12.next;
    if (api >= api13) *end = &f13, end = &f13.next;
    if (cooperative) *end = &coop, end = &coop.next;
    if (bfloat16) *end = &half;
    get(physical, &f);
    *out = (shim_features){f12.f[F12_FLOAT16], f12.f[F12_MEMORY_MODEL] && f12.f[F12_MEMORY_MODEL_DEVICE], f13.f[F13_SIZE_CONTROL], coop.cooperative,
                           half.type16 && half.cooperative};
}

char *shim_extensions(void *instance, void *physical) {
    result (*list)(void *, const char *, uint32_t *, extension *) = (void *)instance_proc(instance, "vkEnumerateDeviceExtensionProperties");
    uint32_t n = 0;
    if (!list || list(physical, NULL, &n, NULL) < 0) return NULL;
    extension *all = calloc(n + 1, sizeof *all);
    char *text = all && list(physical, NULL, &n, all) >= 0 ? lines(all->name, sizeof *all, n) : NULL;
    free(all);
    return text;
}

int shim_query_queue(void *instance, void *physical, uint32_t *bits) {
    void (*list)(void *, uint32_t *, family_properties *) = (void *)instance_proc(instance, "vkGetPhysicalDeviceQueueFamilyProperties");
    enum { ROOM = 64, GRAPHICS = 1, COMPUTE = 2 };
    family_properties all[ROOM];
    uint32_t n = ROOM;
    int found = -1;
    if (list) list(physical, &n, all);
    for (uint32_t i = 0; list && i < n; i++)
        if (all[i].flags & COMPUTE && (found < 0 || !(all[i].flags & GRAPHICS))) found = (int)i;
    *bits = found < 0 ? 0 : all[found].timestamp_bits;
    return found;
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

// ---- devices

struct shim_device {
    void *device, *queue;
    uint32_t family;
    void (*DestroyDevice)(void *, const void *);
    result (*DeviceWaitIdle)(void *);
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
    result (*QueueSubmit)(void *, uint32_t, const void *, handle);
};

result shim_open(void *instance, void *physical, uint32_t api, const shim_features *f, uint32_t family, shim_device **out) {
    get_proc get = (get_proc)instance_proc(instance, "vkGetDeviceProcAddr");
    result (*create)(void *, const void *, const void *, void **) = (void *)instance_proc(instance, "vkCreateDevice");
    shim_device *d = calloc(1, sizeof *d);
    if (!get || !create || !d) return free(d), -3;

    features_bfloat16 half = {TYPE_BFLOAT16, NULL, f->bfloat16, 0, f->bfloat16};
    features_cooperative coop = {TYPE_COOPERATIVE, NULL, f->cooperative, 0};
    features13 f13 = {TYPE_FEATURES13};
    features12 f12 = {TYPE_FEATURES12};
    features2 all = {TYPE_FEATURES2, &f12};
    f12.f[F12_FLOAT16] = f->float16;
    f12.f[F12_MEMORY_MODEL] = f12.f[F12_MEMORY_MODEL_DEVICE] = f->memory_model;
    f13.f[F13_SIZE_CONTROL] = f->subgroup_size_control;
    const char *extensions[2];
    uint32_t n = 0;
    void **end = &f12.next;
    if (api >= api13) *end = &f13, end = &f13.next;
    if (f->cooperative) *end = &coop, end = &coop.next, extensions[n++] = "VK_KHR_cooperative_matrix";
    if (f->bfloat16) *end = &half, extensions[n++] = "VK_KHR_shader_bfloat16";

    const float priority = 1;
    struct { uint32_t type; void *next; uint32_t flags, family, n; const float *priorities; } queue = {TYPE_QUEUE, NULL, 0, family, 1, &priority};
    struct { uint32_t type; void *next; uint32_t flags, queues; const void *queue; uint32_t layers; const void *layer; uint32_t extensions; const void *extension; const void *features; } info =
        {TYPE_DEVICE, &all, 0, 1, &queue, 0, NULL, n, extensions, NULL};
    result r = create(physical, &info, NULL, &d->device);
    if (r != 0) return free(d), r;

    void *device = d->device;
    int missing = 0;
#define LOAD(name) missing += !(d->name = (void *)get(device, "vk" #name))
    LOAD(DestroyDevice); LOAD(DeviceWaitIdle); LOAD(GetDeviceQueue);
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
        if (d->DestroyDevice) d->DestroyDevice(device, NULL);
        free(d);
        return -3;
    }
    d->GetDeviceQueue(device, family, 0, &d->queue);
    d->family = family;
    *out = d;
    return 0;
}

void shim_close(shim_device *d) {
    d->DestroyDevice(d->device, NULL);
    free(d);
}

// made clears the handle of what could not be made, which Vulkan leaves undefined:
// it may be destroyed all the same then.
static result made(result r, handle *h) {
    if (r != 0) *h = 0;
    return r;
}

result shim_wait_idle(shim_device *d) { return d->DeviceWaitIdle(d->device); }

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
    return made(d->AllocateMemory(d->device, &info, NULL, memory), memory);
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
    return made(d->CreateDescriptorPool(d->device, &info, NULL, pool), pool);
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
    return made(d->CreateCommandPool(d->device, &info, NULL, pool), pool);
}

void shim_pool_destroy(shim_device *d, handle pool) { d->DestroyCommandPool(d->device, pool, NULL); }

result shim_commands_allocate(shim_device *d, handle pool, void **commands) {
    struct { uint32_t type; void *next; handle pool; uint32_t level, n; } info = {TYPE_COMMANDS, NULL, pool, 0, 1};
    result r = d->AllocateCommandBuffers(d->device, &info, commands);
    if (r != 0) *commands = NULL;
    return r;
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
        case SHIM_FILL: // a GiB at a time: MoltenVK counts the bytes of a fill in 32 bits
            for (uint64_t at = 0, size; at < s->bytes; at += size) {
                size = s->bytes - at < 1u << 30 ? s->bytes - at : 1u << 30;
                d->CmdFillBuffer(commands, s->to, s->to_offset + at, size, 0);
            }
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
    return made(d->CreateQueryPool(d->device, &info, NULL, queries), queries);
}

result shim_queries_read(shim_device *d, handle queries, uint32_t n, uint64_t *ticks) {
    return d->GetQueryPoolResults(d->device, queries, 0, n, 8 * (size_t)n, ticks, 8, 0x3 /* 64 bits, wait */);
}

void shim_queries_destroy(shim_device *d, handle queries) { d->DestroyQueryPool(d->device, queries, NULL); }

result shim_fence_create(shim_device *d, handle *fence) {
    struct { uint32_t type; void *next; uint32_t flags; } info = {TYPE_FENCE};
    return made(d->CreateFence(d->device, &info, NULL, fence), fence);
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
