#!/bin/sh
# Downloads glslang and spirv-val of Debian testing into DIR/debian. For each program it writes to
# DIR/bin a script that starts the program. Shaders with cooperative matrices or bfloat16 need extensions that
# the tools of Debian 12 do not support. The script installs nothing: the programs run from DIR/debian,
# with the C library that they were built for.
#
#   shaders/newer-tools.sh DIR
set -eu
dir=$1 packages='glslang-tools spirv-tools libc6 libstdc++6 libgcc-s1'
mkdir -p "$dir"
work=$(cd "$dir" && mktemp -d "$PWD/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Use the Debian archive of this machine's apt, and its suite testing.
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | sed -n 1p)
[ -n "$archive" ] || { echo "found no Debian archive in apt's package lists: run this on Debian, after apt-get update" >&2; exit 1; }
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debian"
: >"$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive testing main" >"$work/sources.list"
apt() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
		-o Dir::State::Status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}
apt update
(cd "$work" && apt download $packages)
for p in "$work"/*.deb; do
	dpkg -x "$p" "$work/debian"
done

rm -rf "$dir/debian" "$dir/bin"
mkdir "$dir/bin"
mv "$work/debian" "$dir/debian"
loader=$(cd "$dir" && find "$PWD/debian" -name 'ld-linux*.so.*' | sed -n 1p)
for program in glslang spirv-val; do
	printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "${loader%/*}" "$(cd "$dir" && pwd)/debian/usr/bin/$program" >"$dir/bin/$program"
	chmod +x "$dir/bin/$program"
	"$dir/bin/$program" --version | sed -n 1p
done
