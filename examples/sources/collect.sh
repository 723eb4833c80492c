#!/bin/sh
# Copies source files that are installed on this machine into a folder for each language:
#
#     examples/sources/collect.sh DIR [FILES]
#
# A folder gets at most FILES (default 1,000) files, evenly spaced in the sorted list of the paths found.
# Files below 200 bytes and above 200 kB are left out. SOURCES lists the folders that are searched.
set -eu
to=${1:?usage: collect.sh DIR [FILES]}
files=${2:-1000}
goroot=$(go env GOROOT 2>/dev/null || true)
: "${SOURCES:=$goroot /usr/lib/python3 /usr/lib/python3.* /usr/include /usr/lib/node_modules /usr/share /usr/lib/git-core}"

collect() { # CLASS PATTERN...
    class=$1
    shift
    mkdir -p "$to/$class"
    for pattern; do
        # shellcheck disable=SC2086 # several folders
        find $SOURCES -type f -name "$pattern" -size +199c -size -200001c 2>/dev/null || true
    done | LC_ALL=C sort -u |
        awk -v most="$files" '{ path[NR] = $0 }
            END { n = NR < most ? NR : most; for (i = 0; i < n; i++) print path[int(i * NR / n) + 1] }' |
        while IFS= read -r path; do
            cp "$path" "$to/$class/$(printf '%s' "${path#/}" | tr / _)"
        done
    echo "$class: $(find "$to/$class" -type f | wc -l) files"
}

collect c '*.h'
collect go '*.go'
collect javascript '*.js' '*.mjs' '*.cjs'
collect markdown '*.md'
collect python '*.py'
collect shell '*.sh' '*.bash'
