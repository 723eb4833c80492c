#!/bin/bash
# Downloads a sample of Debian's packages, without installing them, and extracts each to a folder of its
# own, for sftseq data files. Needs Debian or Ubuntu, apt and 10 GB of disk. The sample depends only on
# the package lists.
#
#   examples/files/packages.sh data/packages
#   sftseq data files --from data/packages --from /usr --to data/files
set -euo pipefail
if [ $# != 1 ]; then echo "usage: packages.sh DIR" >&2; exit 1; fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)

# configure ARCHITECTURE sets the variable apt to options with lists of their own: those of the system,
# and those of the sources.
configure() {
    local state=$dir/apt-$1
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/sources"
    touch "$state/status"
    sed 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources > "$state/sources/all.sources" 2>/dev/null ||
        sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' /etc/apt/sources.list > "$state/sources/all.list"
    apt=(-qq -o APT::Sandbox::User=root -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$state/sources" -o APT::Architecture="$1" -o APT::Architectures="$1")
    [ -s "$state/updated" ] || if apt-get "${apt[@]}" update; then date > "$state/updated"; fi
}

# records LIST KILOBYTES prints the names of the packages or sources in the lists, up to a size.
records() {
    for list in "$dir/apt-$architecture"/lists/*_"$1"*; do /usr/lib/apt/apt-helper cat-file "$list"; done |
        awk -v limit=$(($2 * 1024)) -v RS= -F '\n' '{
            name = ""; size = 0
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^Package: /) name = substr($i, 10)
                if ($i ~ /^Size: /) size = substr($i, 7) + 0
                if ($i ~ /^ [0-9a-f]+ [0-9]+ .*\.tar\./ && split($i, f, " ") == 3 && length(f[1]) == 32) size += f[2]
            }
            if (size > 0 && size <= limit) print name
        }' | sort -u
}

# draw N prints N of the lines, always the same for the same lines.
draw() { shuf -n "$1" --random-source=<(yes); }

# binary KILOBYTES N PATTERN downloads and extracts N packages whose names match a pattern.
binary() {
    local names wanted=() to
    names=$(records Packages "$1" | { grep -xE "$3" || true; } | draw "$2")
    for name in $names; do
        [ -e "$dir/packages/$architecture-$name" ] || wanted+=("$name")
    done
    [ ${#wanted[@]} = 0 ] || (cd "$dir/downloads" && apt-get "${apt[@]}" download "${wanted[@]}") || true
    for name in "${wanted[@]}"; do
        to=$dir/packages/$architecture-$name
        rm -rf "$to.tmp"
        if dpkg-deb -x "$dir/downloads/${name}"_*.deb "$to.tmp"; then mv "$to.tmp" "$to"; fi
    done
    rm -rf "$dir/downloads/"*
    echo "$architecture $3: $(wc -w <<< "$names") packages" >&2
}

# sources KILOBYTES N downloads and unpacks N source packages.
sources() {
    local names wanted=() to
    names=$(records Sources "$1" | draw "$2")
    for name in $names; do
        [ -e "$dir/packages/source-$name" ] || wanted+=("$name")
    done
    for ((i = 0; i < ${#wanted[@]}; i += 20)); do # an error ends a call of apt-get
        (cd "$dir/downloads" && apt-get "${apt[@]}" source --download-only "${wanted[@]:i:20}" > /dev/null) || true
    done
    for name in "${wanted[@]}"; do
        to=$dir/packages/source-$name
        rm -rf "$to.tmp" && mkdir "$to.tmp"
        for archive in "$dir/downloads/${name}"_*.tar.*; do
            [[ ! -e $archive || $archive == *.asc ]] || tar -C "$to.tmp" --no-same-owner -xf "$archive" || true
        done
        rmdir "$to.tmp" 2> /dev/null || mv "$to.tmp" "$to" # an empty folder: not downloaded
    done
    rm -rf "$dir/downloads/"*
    echo "$(wc -w <<< "$names") source packages" >&2
}

mkdir -p "$dir/downloads" "$dir/packages"
architecture=$(dpkg --print-architecture)
configure "$architecture"
for pattern in 'librust-.*-dev' 'ruby-.*' 'lua-.*' 'elpa-.*' 'lib.*-ocaml-dev' 'lib.*-perl' 'php-.*' 'lib.*-java' 'node-.*' \
    'fonts-.*' 'golang-.*-dev' 'r-cran-.*' 'octave-.*' 'erlang-.*' 'tcl.*' 'vim-.*' 'lib.*-cil' '.*-theme' 'python3-.*'; do
    binary 1024 50 "$pattern"
done
binary 4096 250 '.*-doc'
binary 8192 250 '.*-(data|sounds?|music)'
binary 2048 150 'lib.*-dev'
sources 2048 600
for architecture in arm64 armhf i386 mips64el ppc64el s390x; do
    configure "$architecture"
    binary 300 250 '[a-z][^-]*'
done
