//go:build cgo

#include "shim_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

get_proc shim_instance_proc;

void *shim_load(const char *name, const char **message) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL); // never closed, as drivers keep threads
    if (!library || !(shim_instance_proc = (get_proc)dlsym(library, "vkGetInstanceProcAddr"))) {
        *message = dlerror();
        return NULL;
    }
    return (void *)shim_instance_proc;
}

// ---- structures of queries

typedef struct { uint32_t type; void *next; uint64_t properties[128]; } properties2; // VkPhysicalDeviceProperties has 824 bytes
typedef struct { uint32_t type; void *next; uint32_t size, stages, operations, quad; } subgroup_properties;
typedef struct { uint32_t type; void *next; uint32_t min, max, groups, stages; } size_properties;
typedef struct { uint32_t type; void *next; uint32_t sets; uint64_t allocation; } maintenance3;
typedef struct { uint32_t type; void *next; uint64_t buffer; } maintenance4;
typedef struct { uint32_t type; void *next; uint32_t id; char name[256], info[256]; uint8_t version[4]; } driver_properties;
typedef struct { uint32_t type; void *next; uint32_t m, n, k, a, b, c, result, saturating, scope; } cooperative_shape;
typedef struct { uint32_t type; void *next; uint64_t budget[16], usage[16]; } budget_properties;
typedef struct { uint32_t type; void *next; uint64_t properties[128]; } memory2; // VkPhysicalDeviceMemoryProperties has 520 bytes

typedef struct { char name[256]; uint32_t version; } extension;
typedef struct { char name[256]; uint32_t specification, version; char description[256]; } layer;
typedef struct { uint32_t flags, queues, timestamp_bits, granularity[3]; } family_properties;

// ---- instances

// lines returns n names, one per line. Each name is at the start of a structure of the given size.
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
    result (*list)(uint32_t *, layer *) = (void *)shim_instance_proc(NULL, "vkEnumerateInstanceLayerProperties");
    uint32_t n = 0;
    if (!list || list(&n, NULL) < 0) return NULL;
    layer *all = calloc(n + 1, sizeof *all);
    char *text = all && list(&n, all) >= 0 ? lines(all->name, sizeof *all, n) : NULL;
    free(all);
    return text;
}

result shim_instance_create(int validate, void **instance) {
    result (*create)(const void *, const void *, void **) = (void *)shim_instance_proc(NULL, "vkCreateInstance");
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
    result (*create)(void *, const void *, const void *, handle *) = (void *)shim_instance_proc(instance, "vkCreateDebugUtilsMessengerEXT");
    if (!create) return NULL;
    shim_debug *d = calloc(1, sizeof *d);
    if (!d) return NULL;
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
    void (*destroy)(void *, handle, const void *) = (void *)shim_instance_proc(d->instance, "vkDestroyDebugUtilsMessengerEXT");
    destroy(d->instance, d->messenger, NULL);
    free(d->text);
    free(d);
}

// ---- physical devices

void shim_query_properties(void *instance, void *physical, uint32_t api, shim_properties *out) {
    void (*get)(void *, void *) = (void *)shim_instance_proc(instance, "vkGetPhysicalDeviceProperties2");
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
    out->required_stages = size.stages;
    out->max_allocation = limits.allocation;
    out->max_buffer = buffers.buffer;
    memcpy(out->driver_name, driver.name, sizeof driver.name);
    memcpy(out->driver_info, driver.info, sizeof driver.info);
}

void shim_query_features(void *instance, void *physical, uint32_t api, int cooperative, int bfloat16, shim_features *out) {
    void (*get)(void *, void *) = (void *)shim_instance_proc(instance, "vkGetPhysicalDeviceFeatures2");
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
    result (*list)(void *, const char *, uint32_t *, extension *) = (void *)shim_instance_proc(instance, "vkEnumerateDeviceExtensionProperties");
    uint32_t n = 0;
    if (!list || list(physical, NULL, &n, NULL) < 0) return NULL;
    extension *all = calloc(n + 1, sizeof *all);
    char *text = all && list(physical, NULL, &n, all) >= 0 ? lines(all->name, sizeof *all, n) : NULL;
    free(all);
    return text;
}

int shim_query_queue(void *instance, void *physical, uint32_t *bits, uint32_t *queues) {
    void (*list)(void *, uint32_t *, family_properties *) = (void *)shim_instance_proc(instance, "vkGetPhysicalDeviceQueueFamilyProperties");
    enum { ROOM = 64, GRAPHICS = 1, COMPUTE = 2 };
    family_properties all[ROOM];
    uint32_t n = ROOM;
    int found = -1;
    if (list) list(physical, &n, all);
    for (uint32_t i = 0; list && i < n; i++)
        if (all[i].flags & COMPUTE && (found < 0 || !(all[i].flags & GRAPHICS))) found = (int)i;
    *bits = found < 0 ? 0 : all[found].timestamp_bits;
    *queues = found < 0 ? 0 : all[found].queues;
    return found;
}

int shim_query_cooperative(void *instance, void *physical, shim_cooperative *out, int room) {
    result (*get)(void *, uint32_t *, cooperative_shape *) = (void *)shim_instance_proc(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    uint32_t n = 0;
    if (!get || get(physical, &n, NULL) < 0) return 0;
    cooperative_shape *s = calloc(n + 1, sizeof *s);
    if (!s) return 0;
    for (uint32_t i = 0; i < n; i++) s[i].type = TYPE_COOPERATIVE_SHAPE;
    if (get(physical, &n, s) < 0) n = 0;
    if (n > (uint32_t)room) n = room;
    for (uint32_t i = 0; i < n; i++)
        out[i] = (shim_cooperative){s[i].m, s[i].n, s[i].k, s[i].a, s[i].b, s[i].c, s[i].result, s[i].scope};
    free(s);
    return n;
}

void shim_query_budget(void *instance, void *physical, shim_heap *out, int room) {
    void (*get)(void *, void *) = (void *)shim_instance_proc(instance, "vkGetPhysicalDeviceMemoryProperties2");
    budget_properties budget = {TYPE_BUDGET};
    memory2 m = {TYPE_MEMORY2, &budget};
    if (get) get(physical, &m);
    for (int i = 0; i < room && i < 16; i++) out[i] = (shim_heap){budget.budget[i], budget.usage[i]};
}
