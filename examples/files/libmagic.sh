#!/bin/bash
# Compares `sftseq files` with libmagic (the command `file`) on the test files of a data set of `sftseq data files`.
# Files within archives are left out. Each of libmagic's types (MIME type, and the machine of an ELF file) is mapped
# to the most frequent kind among the validation files of this type.
#
#   examples/files/libmagic.sh data/files [MODEL]
set -euo pipefail
if [ $# -lt 1 ]; then echo "usage: libmagic.sh DATA [MODEL]" >&2; exit 1; fi
data=$1 model=${2:-builtin:files}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for split in val test; do
    sftseq data head --rows 1000000000 --split $split "$data" | jq -r '[.label, .id] | @tsv' |
        while IFS=$'\t' read -r kind path; do
            if [[ $path != *'!/'* && -f $path ]]; then printf '%s\t%s\n' "$kind" "$path"; fi
        done > "$dir/$split.labels"
    cut -f 2 "$dir/$split.labels" > "$dir/$split.paths"
    file --brief --mime-type --no-pad --files-from "$dir/$split.paths" > "$dir/$split.mime"
    file --brief --no-pad --files-from "$dir/$split.paths" | sed -nE 's/^ELF.*(LSB|MSB)[^,]*, ([^,]*).*/ \2/p; t; s/.*//p' \
        > "$dir/$split.machine"
    paste -d '' "$dir/$split.mime" "$dir/$split.machine" > "$dir/$split.types"
done
tr '\n' '\0' < "$dir/test.paths" | xargs -0 sftseq files --model "$model" --threshold 0 --json |
    jq -r .nearest > "$dir/test.predicted"

# The validation files determine the kind of each type. The accuracies are those on the test files.
paste "$dir/val.labels" "$dir/val.types" > "$dir/val"
paste "$dir/test.labels" "$dir/test.types" "$dir/test.predicted" > "$dir/test"
awk -F '\t' '
    NR == FNR { if (++count[$3, $1] > best[$3]) { best[$3] = count[$3, $1]; kind[$3] = $1 } next }
    FNR == 1 { for (type in kind) known[kind[type]] = 1 }
    {
        group = known[$1] ? "kinds that libmagic knows" : "other kinds"
        n[group]++; n["all"]++
        if (kind[$3] == $1) { magic[group]++; magic["all"]++ }
        if ($4 == $1) { model[group]++; model["all"]++ }
    }
    END {
        printf "%-26s %6s %9s %9s\n", "", "files", "libmagic", "sftseq"
        for (g in n) printf "%-26s %6d %8.2f%% %8.2f%%\n", g, n[g], 100 * magic[g] / n[g], 100 * model[g] / n[g]
    }' "$dir/val" "$dir/test"
