//go:build cgo

#include "shim_internal.h"

result shim_pool_create(shim_device *d, handle *pool) {
    struct { uint32_t type; void *next; uint32_t flags, family; } info = {TYPE_POOL, NULL, 2 /* buffers are reset one by one */, d->family};
    return made(d->CreateCommandPool(d->device, &info, NULL, pool), pool);
}

void shim_pool_destroy(shim_device *d, handle pool) { d->DestroyCommandPool(d->device, pool, NULL); }

result shim_commands_allocate(shim_device *d, handle pool, void **commands) {
    struct { uint32_t type; void *next; handle pool; uint32_t level, n; } info = {TYPE_COMMANDS, NULL, pool, 0, 1};
    result r = d->AllocateCommandBuffers(d->device, &info, commands);
    if (r != 0) *commands = NULL;
    return counted(d, SHIM_COMMANDS, r);
}

void shim_commands_free(shim_device *d, handle pool, void *commands) {
    d->FreeCommandBuffers(d->device, pool, 1, &commands);
    count(d, SHIM_COMMANDS, -1);
}

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
    uint32_t stamps = 1;
    if (queries) {
        for (uint32_t i = 0; i < n; i++) stamps += !steps[i].joins;
        d->CmdResetQueryPool(commands, queries, 0, stamps);
        d->CmdWriteTimestamp(commands, STAGE_BOTTOM, queries, 0);
    }
    handle bound = 0;
    uint32_t timed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const shim_step *s = &steps[i];
        if (!s->joins && (s->barrier || queries)) barrier(d, commands, 0);
        switch (s->kind) {
        case SHIM_DISPATCH:
            if (s->pipeline != bound) d->CmdBindPipeline(commands, 1, bound = s->pipeline);
            d->CmdBindDescriptorSets(commands, 1, s->layout, 0, 1, &s->set, 0, NULL);
            if (s->push_words) d->CmdPushConstants(commands, s->layout, COMPUTE_STAGE, 0, 4 * s->push_words, s->push);
            d->CmdDispatch(commands, s->x, s->y, 1);
            break;
        case SHIM_FILL: // fill a GiB at a time, as drivers may count the bytes of a fill in 32 bits
            for (uint64_t at = 0, size; at < s->bytes; at += size) {
                size = s->bytes - at < 1u << 30 ? s->bytes - at : 1u << 30;
                d->CmdFillBuffer(commands, s->to, s->to_offset + at, size, s->word);
            }
            break;
        case SHIM_COPY: {
            struct { uint64_t from, to, bytes; } region = {s->from_offset, s->to_offset, s->bytes};
            d->CmdCopyBuffer(commands, s->from, s->to, 1, &region);
        }
        }
        if (queries && (i + 1 == n || !steps[i + 1].joins)) d->CmdWriteTimestamp(commands, STAGE_BOTTOM, queries, ++timed);
    }
    barrier(d, commands, 1);
    return d->EndCommandBuffer(commands);
}

result shim_queries_create(shim_device *d, uint32_t n, handle *queries) {
    struct { uint32_t type; void *next; uint32_t flags, kind, n, statistics; } info = {TYPE_QUERY_POOL, NULL, 0, 2 /* timestamps */, n, 0};
    return counted(d, SHIM_QUERIES, made(d->CreateQueryPool(d->device, &info, NULL, queries), queries));
}

result shim_queries_read(shim_device *d, handle queries, uint32_t n, uint64_t *ticks) {
    return d->GetQueryPoolResults(d->device, queries, 0, n, 8 * (size_t)n, ticks, 8, 0x3 /* 64 bits, wait */);
}

void shim_queries_destroy(shim_device *d, handle queries) {
    d->DestroyQueryPool(d->device, queries, NULL);
    count(d, SHIM_QUERIES, -1);
}

result shim_fence_create(shim_device *d, handle *fence) {
    struct { uint32_t type; void *next; uint32_t flags; } info = {TYPE_FENCE};
    return counted(d, SHIM_FENCES, made(d->CreateFence(d->device, &info, NULL, fence), fence));
}

void shim_fence_destroy(shim_device *d, handle fence) {
    if (!fence) return;
    d->DestroyFence(d->device, fence, NULL);
    count(d, SHIM_FENCES, -1);
}

result shim_submit(shim_device *d, uint32_t queue, void *commands, handle fence, uint64_t wait, uint64_t signal) {
    uint32_t waits = wait != 0, signals = signal != 0, stages = STAGE_COMPUTE | STAGE_TRANSFER;
    struct { uint32_t type; void *next; uint32_t waits; const uint64_t *wait; uint32_t signals; const uint64_t *signal; } values =
        {TYPE_TIMELINE_SUBMIT, NULL, waits, &wait, signals, &signal};
    struct { uint32_t type; void *next; uint32_t waits; const handle *wait; const uint32_t *stages; uint32_t n; void **commands; uint32_t signals; const handle *signal; } info =
        {TYPE_SUBMIT, &values, waits, &d->timeline, &stages, 1, &commands, signals, &d->timeline};
    return d->QueueSubmit(d->queues[queue], 1, &info, fence);
}

result shim_wait(shim_device *d, handle fence, uint64_t nanoseconds) {
    result r = d->WaitForFences(d->device, 1, &fence, 1, nanoseconds);
    return r != 0 ? r : d->ResetFences(d->device, 1, &fence);
}
