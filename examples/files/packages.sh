#!/bin/bash
# Downloads a sample of Debian's packages, without installing them, and extracts each to a folder of its
# own, for `sftseq data files`. Needs Debian or Ubuntu, apt, curl and 30 GB of disk. The sample depends only on
# the package lists.
#
#   examples/files/packages.sh data/packages
#   sftseq data files --from data/packages/packages --from /usr --to data/files
set -euo pipefail
export LC_ALL=C
if [ $# != 1 ]; then echo "usage: packages.sh DIR" >&2; exit 1; fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)

# configure ARCHITECTURE downloads the lists of the architecture's packages and of the source packages to a
# separate folder, and sets the variable apt to the options of apt-get for this folder.
configure() {
    local state=$dir/apt-$1
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/sources"
    touch "$state/status"
    sed 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources > "$state/sources/all.sources" 2> /dev/null ||
        sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' /etc/apt/sources.list > "$state/sources/all.list"
    apt=(-qq -o APT::Sandbox::User=root -o Dir::State="$state" -o Dir::State::status="$state/status"
        -o Dir::Cache="$state/cache" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$state/sources"
        -o APT::Architecture="$1" -o APT::Architectures="$1")
    [ -s "$state/updated" ] || if apt-get "${apt[@]}" update; then date > "$state/updated"; fi
}

# records LIST KILOBYTES prints NAME SOURCE for each package of at most this size. LIST is Packages for binary
# packages, or Sources.
records() {
    for list in "$dir/apt-$architecture"/lists/*_"$1"*; do /usr/lib/apt/apt-helper cat-file "$list"; done |
        awk -v limit=$(($2 * 1024)) -v RS= -F '\n' '{
            name = source = ""; size = 0
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^Package: /) name = substr($i, 10)
                if ($i ~ /^Source: / && split($i, f, " ")) source = f[2]
                if ($i ~ /^Size: /) size = substr($i, 7) + 0
                if ($i ~ /^ [0-9a-f]+ [0-9]+ .*\.tar\./ && split($i, f, " ") == 3 && length(f[1]) == 64) size += f[2]
            }
            if (size > 0 && size <= limit) print name, source == "" ? name : source
        }' | sort -u
}

# archives prints NAME URL FILE for each tar archive of each source package.
archives() {
    apt-get "${apt[@]}" indextargets --format '$(SITE) $(FILENAME)' 'Created-By: Sources' | while read -r site list; do
        /usr/lib/apt/apt-helper cat-file "$list" | awk -v site="$site" -v RS= -F '\n' '{
            name = folder = ""
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^Package: /) name = substr($i, 10)
                if ($i ~ /^Directory: /) folder = substr($i, 12)
            }
            for (i = 1; i <= NF; i++)
                if ($i ~ /^ [0-9a-f]+ [0-9]+ .*\.tar\.[a-z0-9]+$/ && split($i, f, " ") == 3 && length(f[1]) == 64)
                    print name, site "/" folder "/" f[3], f[3]
        }'
    done
}

# draw N PATTERN reads records and prints at most N of those whose names match PATTERN. The choice depends only
# on the records.
draw() { { grep -E "^($2) " || true; } | shuf --random-source=<(yes) | awk "NR <= $1"; }

# missing PREFIX reads records and prints NAME FOLDER for each package that is not extracted yet. The folder is named
# after the package, with PREFIX before the name.
missing() {
    while read -r name source; do
        [ -e "$dir/packages/$source/$1$name" ] || echo "$name" "$dir/packages/$source/$1$name"
    done
}

# binary KILOBYTES N PATTERN downloads and extracts at most N binary packages of at most this size whose names match
# PATTERN.
binary() {
    local wanted name to
    wanted=$(records Packages "$1" | draw "$2" "$3" | missing "$architecture-")
    [ -n "$wanted" ] || return 0
    # shellcheck disable=SC2046 # one word for each name
    (cd "$dir/downloads" && apt-get "${apt[@]}" download $(cut -d ' ' -f 1 <<< "$wanted")) || true
    while read -r name to; do
        rm -rf "$to.tmp"
        mkdir -p "${to%/*}"
        if dpkg-deb -x "$dir/downloads/${name}"_*.deb "$to.tmp"; then mv "$to.tmp" "$to"; fi
    done <<< "$wanted"
    rm -rf "$dir/downloads/"*
    echo "$architecture $3: done" >&2
}

# sources KILOBYTES N downloads and unpacks at most N source packages of at most this size.
sources() {
    local wanted name to archive
    wanted=$(records Sources "$1" | draw "$2" '.*' | missing source-)
    [ -n "$wanted" ] || return 0
    # Mirrors lack some of the archives. apt-get source would stop at the first, and is slow for thousands of names.
    archives | awk 'NR == FNR { wanted[$1]; next } $1 in wanted { print $2, $3 }' <(echo "$wanted") - |
        (cd "$dir/downloads" && xargs -r -n 2 -P 8 sh -c 'curl -sfL --retry 2 -o "$2" "$1"' sh) || true
    while read -r name to; do
        rm -rf "$to.tmp"
        mkdir -p "$to.tmp"
        for archive in "$dir/downloads/${name}"_*.tar.*; do
            [[ ! -e $archive || $archive == *.asc ]] || tar -C "$to.tmp" --no-same-owner -xf "$archive" || true
        done
        rmdir "$to.tmp" 2> /dev/null || mv "$to.tmp" "$to" # an empty folder: not downloaded
    done <<< "$wanted"
    rm -rf "$dir/downloads/"*
    echo "source packages: done" >&2
}

mkdir -p "$dir/downloads" "$dir/packages"
architecture=$(dpkg --print-architecture)
configure "$architecture"
for pattern in 'librust-.*-dev' 'ruby-.*' 'lua-.*' 'elpa-.*' 'lib.*-ocaml-dev' 'lib.*-perl' 'php-.*' 'lib.*-java' 'node-.*' \
    'fonts-.*' 'golang-.*-dev' 'r-cran-.*' 'octave-.*' 'erlang-.*' 'tcl.*' 'vim-.*' 'lib.*-cil' '.*-theme' 'python3-.*'; do
    binary 1024 100 "$pattern"
done
binary 4096 500 '.*-doc'
binary 8192 400 '.*-(data|sounds?|music)'
binary 2048 300 'lib.*-dev'
sources 2048 6000
for architecture in arm64 armhf i386 mips64el ppc64el s390x; do
    configure "$architecture"
    binary 300 250 '[a-z][^-]*'
done
