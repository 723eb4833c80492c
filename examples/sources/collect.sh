#!/bin/sh
# Copies source files that are installed on this machine into a folder for each language:
#
#     examples/sources/collect.sh DIR [FILES]
#
# A folder gets at most FILES (default 500) files, evenly spaced in the sorted list of the paths found. Of files
# with the same content, only the first is copied. Files smaller than 200 bytes or larger than 200 kB are
# skipped. The environment variable SOURCES lists the folders to search.
set -eu
to=${1:?usage: collect.sh DIR [FILES]}
files=${2:-500}
: "${SOURCES:=/usr /etc $(go env GOROOT GOMODCACHE 2>/dev/null | tr '\n' ' ')}"

found() { # FIND-EXPRESSION...
    # shellcheck disable=SC2086 # several folders
    find $SOURCES -type f "$@" -size +199c -size -200001c 2>/dev/null || true
}

take() { # CLASS, paths from stdin
    mkdir -p "$to/$1"
    LC_ALL=C sort -u | tr '\n' '\0' | xargs -0 -r cksum 2>/dev/null |
        awk -v max="$files" '!seen[$1, $2]++ { sub(/^[0-9]+ [0-9]+ /, ""); path[n++] = $0 }
            END { m = n < max ? n : max; for (i = 0; i < m; i++) print path[int(i * n / m)] }' |
        while IFS= read -r path; do
            cp "$path" "$to/$1/$(printf '%s' "${path#/}" | tr / _)"
        done
    echo "$1: $(find "$to/$1" -type f | wc -l) files"
}

found -name '*.h' | take c
found -name '*.go' | take go
found '(' -name '*.js' -o -name '*.mjs' -o -name '*.cjs' ')' | take javascript
found -name '*.md' | take markdown
found -name '*.py' | take python
{
    found '(' -name '*.sh' -o -name '*.bash' ')'
    found ! -name '*.*' | tr '\n' '\0' | xargs -0 -r grep -lsIE -m1 '^#! ?(/usr)?/bin/(env )?(ba|da)?sh' || true
} | take shell
