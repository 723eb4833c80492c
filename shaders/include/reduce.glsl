// Sums and maxima over a workgroup. The device determines the order of additions. All invocations
// must call these functions, and all receive the result.
#ifndef REDUCE_GLSL
#define REDUCE_GLSL
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

shared float reduceParts[256];

float reduceAdd(float v) {
    v = subgroupAdd(v);
    if (gl_NumSubgroups == 1) return v;
    if (subgroupElect()) reduceParts[gl_SubgroupID] = v;
    barrier();
    v = reduceParts[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) v += reduceParts[i];
    barrier(); // all invocations must have read the parts before the next write
    return v;
}

float reduceMax(float v) {
    v = subgroupMax(v);
    if (gl_NumSubgroups == 1) return v;
    if (subgroupElect()) reduceParts[gl_SubgroupID] = v;
    barrier();
    v = reduceParts[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) v = max(v, reduceParts[i]);
    barrier();
    return v;
}

#endif
