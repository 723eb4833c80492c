#!/usr/bin/env bash
# Measures sftseq on this machine's GPU, and PyTorch for comparison if it is
# installed. Needs neither network nor compiler. See --help.
# shellcheck disable=SC2317 # the parts are called by name
set -u
SECONDS=0
KIT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GRACE=${GRACE:-5} # seconds between SIGTERM and SIGKILL

help() {
	cat <<EOF
usage: run.sh [--quick] [--plan] [--part NAME]

Writes into \${OUT:-results}, replacing earlier results: results.jsonl, report.txt
(its tables), log.txt, and the runs loss-fp32 and loss-mixed, which sftseq plot
draws. Each part has its own time limit. A command that fails or hangs is recorded,
and the next parts run. The exit status is 1 if sftseq fails or runs out of time; a
failure of PyTorch is only recorded.

  --quick       run at a reduced size, the default if the driver computes on the CPU
  --plan        print the parts and the time planned for each
  --part NAME   run one part, and keep the results of the other parts

Environment:
  OUT      directory of the results (results)
  TIME     total seconds, divided among the parts (540, or 3600 with --part)
  DEVICE   device as listed by sftseq devices (vulkan)
  PYTHON   Python with PyTorch (python3)
EOF
}

wrong() { printf 'run.sh: %s\n' "$1" >&2 && exit 2; }

# Parts in order, each with its planned seconds out of 540 and its maximum seconds. A part may use
# more than planned if the later parts keep their planned time. PyTorch compiles its model during the
# first parts, which do not need an idle machine. The measurements follow, the most important first.
parts() {
	if [ -n "$QUICK" ]; then
		cat <<-EOF
			info 10 60
			check 120 180
			golden 40 90
			loss 15 60
			listops 30 60
			peer 40 90
			profile 30 60
			kernels 10 60
			presets 60 120
			lengths 70 90
			peers 10 60
		EOF
	else
		cat <<-EOF
			info 15 40
			check 60 120
			golden 25 60
			loss 60 150
			listops 20 60
			peer 160 220
			profile 15 40
			kernels 30 60
			presets 40 80
			lengths 45 80
			peers 30 240
		EOF
	fi
}

# scaled converts seconds out of 540 to seconds of the available time.
scaled() { echo $(($1 * TIME >= 540 ? $1 * TIME / 540 : 1)); }

plan() {
	local name planned limit
	parts | while read -r name planned limit; do echo "$name $(scaled "$planned") $(scaled "$limit")"; done
}

print_plan() {
	plan | awk -v time="$TIME" '
		BEGIN { printf "%-9s %9s %9s\n", "part", "planned", "at most" }
		{ printf "%-9s %7d s %7d s\n", $1, $2, $3; sum += $2 }
		END { printf "%-9s %7d s %7d s\n", "all", sum, time }'
}

# --- running and recording ------------------------------------------------------

# within runs a command for at most the given number of seconds. It runs sftseq with the loader and
# driver that were found. timeout runs the command in a process group, and stop ends the whole group.
# The command runs in the background, because bash runs its traps during wait, but not before a
# command in the foreground ends.
within() {
	local seconds=$1 begin=$SECONDS status && shift
	[ "$seconds" -gt 0 ] || return 124
	[ "$1" = sftseq ] && shift && set -- "${SFTSEQ[@]}" "$@"
	timeout -k "$GRACE" "$seconds" "$@" &
	RUNNING=$!
	wait "$RUNNING" 2>/dev/null
	status=$?
	stop "$RUNNING"
	RUNNING=
	[ "$status" = 137 ] && [ $((SECONDS - begin)) -ge "$seconds" ] && status=124 # SIGKILL ended timeout, too
	return "$status"
}

# stop ends process groups of timeout. It kills processes that do not end, and waits for each group at
# most GRACE seconds until its processes have released the device. It does not wait for zombies, because
# there may be no process that reaps them.
stop() {
	local group tenths
	for group; do kill "$group"; done
	for group; do
		wait "$group"
		for ((tenths = 0; tenths < 10 * GRACE; tenths++)); do
			kill -KILL -- "-$group" || break
			grep -qsE "\) [^ZX] [0-9]+ $group " /proc/[0-9]*/stat || break
			sleep 0.1
		done
	done
} 2>/dev/null

left() { echo $((DEADLINE - SECONDS)); }

quote() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g')"; }

# emit appends the JSON lines of its input to the results, with the name of the part.
emit() { awk -v part="$1" 'sub(/^[{]/, "{\"part\":\"" part "\",")' >>"$OUT/results.jsonl"; }

# fact writes a JSON line from its arguments: the part, then names and values.
fact() {
	local part=$1 line="" && shift
	while [ $# -gt 1 ]; do line+=",\"$1\":$2" && shift 2; done
	printf '{%s}\n' "${line#,}" | emit "$part"
}

# note adds a text to the report's note on the current part.
note() { NOTE+=${NOTE:+; }$1; }

skip() { RESULT=skipped && note "$1"; }

# run runs a command of a part in the part's remaining time. It records the JSON lines that the
# command prints, and a failure.
run() { limited "$1" "$(left)" "${@:2}"; }

# limited is like run, for at most the given number of seconds.
limited() {
	local part=$1 seconds=$2 status error line && shift 2
	[ "$(left)" -lt "$seconds" ] && seconds=$(left)
	echo "+ $*" >>"$OUT/log.txt"
	within "$seconds" "$@" >"$WORK/stdout" 2>"$WORK/stderr"
	status=$?
	emit "$part" <"$WORK/stdout"
	error=$(reason "$WORK/stderr")
	while read -r line; do note "$line"; done < <(grep ' is skipped: ' "$WORK/stderr") # a size too large for the memory
	keep "$WORK/stderr"
	[ "$status" = 0 ] && return
	if [ "$status" = 124 ]; then
		RESULT="out of time"
		if [ "$seconds" -gt 0 ]; then error="out of time after $seconds s"; else error="no time was left"; fi
	elif [ "$RESULT" = ok ]; then
		RESULT=incomplete
	fi
	[ "$1" = sftseq ] && FAILED=1
	fact "$part" command "$(quote "${*/#"$KIT/"/}")" status "$status" error "$(quote "$error")"
	return "$status"
}

# reason prints why a program ended: its last error, or its last line.
reason() { { grep -E '^[A-Za-z.]*Error' "$1" || grep -v '^ *$' "$1"; } | tail -n 1 | cut -c 1-300; }

# keep appends files to the log and removes them.
keep() {
	local file
	for file; do [ -e "$file" ] && cat "$file" >>"$OUT/log.txt" && rm "$file"; done
}

# --- devices and PyTorch --------------------------------------------------------

# list makes sftseq use the libraries of a directory, and writes the devices that it then finds to
# $WORK/devices.
list() {
	SFTSEQ=("$KIT/sftseq")
	[ -z "$1" ] || SFTSEQ=(env "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1" "$KIT/sftseq")
	within 20 sftseq devices --quick --json >"$WORK/devices" 2>"$WORK/stderr"
}

# has_gpu succeeds if its input, a list of devices, contains a GPU.
has_gpu() { grep -v '"missing":' | grep -qE '"kind":"(discrete|integrated|virtual)"'; }

# find_driver tries the machine's Vulkan loader, then the kit's loader with the libraries that
# drivers need, then drivers in directories that the loader does not search. If no GPU is found, it
# may select a driver that computes on the CPU.
find_driver() {
	local driver libraries
	for libraries in "" "$KIT/lib"; do list "$libraries"; has_gpu <"$WORK/devices" && return; done
	[ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || for driver in /usr/local/*/share/vulkan/icd.d/*.json /opt/*/share/vulkan/icd.d/*.json /usr/local/*/vulkan/icd.d/*.json; do
		[ -e "$driver" ] || continue
		export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
		list "$KIT/lib"
		has_gpu <"$WORK/devices" && return
		unset VK_DRIVER_FILES VK_ICD_FILENAMES
	done
	for libraries in "" "$KIT/lib"; do list "$libraries"; grep -q '"device":"vulkan:' "$WORK/devices" && return; done
}

# find_device sets MEMORY, PRECISIONS and LISTOPS for the device, and QUICK unless the device is a GPU. It
# exits if the device is missing.
find_device() {
	find_driver
	local line name=$DEVICE\"
	[ "$DEVICE" = vulkan ] && name=vulkan:
	line=$(grep -v '"missing":' "$WORK/devices" | grep -F "{\"device\":\"$name" | head -n 1)
	if [ -z "$line" ]; then
		printf 'run.sh: no device %s. Available devices:\n' "$DEVICE" >&2
		cat "$WORK/stderr" >&2
		within 20 sftseq devices --quick >&2
		exit 1
	fi
	MEMORY=$(sed -n 's/.*"memory_bytes":\([0-9]*\).*/\1/p' <<<"$line")
	MEMORY=$((${MEMORY:-4294967296} * 92 / 100))
	PRECISIONS=(fp32)
	grep -q '"mixed":true' <<<"$line" && PRECISIONS+=(mixed)
	if [ -z "$QUICK" ] && ! has_gpu <<<"$line"; then
		echo "$DEVICE is not a GPU: running at a reduced size"
		QUICK=1
	fi
	LISTOPS=(--length 2048 --batch 64)
	[ -n "$QUICK" ] && LISTOPS=(--length 64 --batch 1)
}

# has_peer succeeds if PyTorch can be measured. It sets TORCH to the version, or to the reason why
# PyTorch cannot be measured.
has_peer() {
	[ -n "$TORCH" ] && return "$NO_TORCH"
	local python other="set PYTHON=path/to/python3"
	NO_TORCH=1
	if [ ! -e "$KIT/sft_torch_gpu.py" ]; then
		TORCH="no sft_torch_gpu.py beside run.sh: make bench-gpu-kit PEER=path/to/sft_torch_gpu.py includes it"
	elif ! python=$(command -v "$PYTHON"); then
		TORCH="no $PYTHON: $other"
	else
		within 25 "$python" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)' >"$WORK/stdout" 2>"$WORK/stderr"
		case $? in
		0) NO_TORCH=0 TORCH="$(tail -n 1 "$WORK/stdout") of $python" ;;
		124) NO_TORCH=0 TORCH="PyTorch of $python, which takes more than 25 s to import" ;;
		*) TORCH="no PyTorch in $python ($(reason "$WORK/stderr")): $other" ;;
		esac
		keep "$WORK/stderr"
	fi
	return $NO_TORCH
}

# torch runs the PyTorch program for at most the given number of seconds out of 540.
torch() { limited "$1" "$(scaled "$2")" "$PYTHON" "$KIT/sft_torch_gpu.py" "${@:3}"; }

# --- the parts ------------------------------------------------------------------

part_info() {
	fact kit date "$(quote "$(date -u +%Y-%m-%dT%H:%MZ)")" version "$(quote "$("$KIT/sftseq" version | head -n 1)")" \
		system "$(quote "$(uname -srm), $(nproc) CPUs")" quick "$([ -n "$QUICK" ] && echo true || echo false)"
	if command -v nvidia-smi >/dev/null; then
		within 10 nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.mem --format=csv,noheader >"$WORK/stdout" 2>&1
		fact driver says "$(quote "$(head -n 1 "$WORK/stdout")")"
		within 10 nvidia-smi
	fi
	run devices sftseq devices --json
	has_peer
	fact python says "$(quote "$TORCH")"
}

part_check() { run check sftseq check --device "$DEVICE" --json; }

part_golden() {
	local p folder
	mkdir -p "$WORK/golden"
	for folder in "$KIT"/golden/*/; do
		[ -n "$QUICK" ] && [ "$(basename "$folder")" = long ] && note "without the model long" && continue
		ln -sfn "$folder" "$WORK/golden/$(basename "$folder")"
	done
	for p in "${PRECISIONS[@]}"; do run golden sftseq check --golden "$WORK/golden" --device "$DEVICE" --precision "$p" --json; done
}

# part_loss trains in each precision on the same data, as far as time permits, and records the final
# losses.
part_loss() {
	local steps=1000 last=100 every=10 batch=4 p b rate begin rows
	local shape=(--preset paper) data=()
	rm -rf "$OUT/loss-fp32" "$OUT/loss-mixed"
	if [ -n "$QUICK" ]; then
		steps=20 last=10 every=2
		shape=(--preset paper --hidden 32 --layers 2 --k 8) data=(--min-length 20 --max-length 60)
	else # the largest batch for which a run takes at most 30 seconds
		within "$(left)" sftseq bench model --device "$DEVICE" --what train --length 1024 --batch 8 --reps 1 --json >"$WORK/stdout"
		rate=$(sed -n 's/.*"tokens_per_s":\([0-9]*\).*/\1/p' "$WORK/stdout")
		for b in 8 16 32 64; do [ $((b * steps * 1033)) -le $((${rate:-0} * 30)) ] && batch=$b; done
	fi
	rows=$((steps * batch < 16000 ? steps * batch : 16000))
	run loss sftseq data generate listops --out "$WORK/data" --train "$rows" --val 16 --test 16 "${data[@]}" || return
	for p in "${PRECISIONS[@]}"; do
		begin=$SECONDS
		run loss sftseq train listops "${shape[@]}" --data "$WORK/data" --out "$WORK/loss-$p" --device "$DEVICE" --precision "$p" --memory "$MEMORY" \
			--steps "$steps" --batch "$batch" --log-every "$every" --eval-every "$steps" --save-every 1h
		grep '"kind":"train"' "$WORK/loss-$p/metrics.jsonl" >"$WORK/curve" || continue
		mkdir -p "$OUT/loss-$p" && cp "$WORK/loss-$p/metrics.jsonl" "$OUT/loss-$p"
		fact loss precision "\"$p\"" batch "$batch" steps "$(sed -n 's/.*"step":\([0-9]*\).*/\1/p' "$WORK/curve" | tail -n 1)" seconds $((SECONDS - begin)) last "$last" \
			loss "$(tail -n $((last / every)) "$WORK/curve" | sed 's/.*"loss":\([-+.0-9eE]*\).*/\1/' | awk '{ s += $1 } END { print s / NR }')"
	done
}

# model measures a model in each precision.
model() {
	local part=$1 p && shift
	for p in "${PRECISIONS[@]}"; do run "$part" sftseq bench model --device "$DEVICE" --precision "$p" --memory "$MEMORY" --json "$@"; done
}

part_listops() { model listops "${LISTOPS[@]}" --reps "$([ -n "$QUICK" ] && echo 1 || echo 5)"; }

part_profile() { model profile "${LISTOPS[@]}" --reps 1 --profile; }

part_peer() {
	has_peer || { skip "$TORCH" && return; }
	if [ -n "$QUICK" ]; then
		torch peer 40 --compile --dtype fp32 "${LISTOPS[@]}" --steps 1
		torch peer 40 --dtype fp32 "${LISTOPS[@]}" --steps 1
		torch peer 40 --full --dtype fp32 "${LISTOPS[@]}" --steps 1
		return
	fi
	torch peer 80 --compile --dtype bf16
	torch peer 80 --compile --dtype fp32
	torch peer 30 --dtype bf16 --steps 5
	torch peer 30 --full --dtype bf16 --steps 10
	torch peer 40 --dtype fp32 --steps 5
	torch peer 40 --full --dtype fp32 --steps 5
}

part_kernels() {
	local p only=()
	[ -n "$QUICK" ] && only=(--only gelu) && note "gelu only"
	for p in "${PRECISIONS[@]}"; do run kernels sftseq bench kernels --device "$DEVICE" --precision "$p" --json "${only[@]}"; done
}

# part_presets measures the tasks of the Long Range Arena except ListOps. A pair of sequences counts as
# one sequence of twice the length.
part_presets() {
	local task
	if [ -n "$QUICK" ]; then
		for task in text image pathfinder retrieval; do model presets --config "$KIT/configs/$task.json" --length 64 --batch 1 --reps 1; done
		return
	fi
	for task in text image pathfinder; do model presets --config "$KIT/configs/$task.json" --length 1024 --batch 64 --reps 3; done
	model presets --config "$KIT/configs/retrieval.json" --length 8192 --batch 16 --reps 3
}

part_lengths() {
	local lengths=1024,4096,16384,65536,262144,1048576
	[ -n "$QUICK" ] && lengths=64,256
	model lengths --what forward --batch 1 --length "$lengths" --reps 2
	model lengths --what train --batch 1 --length "$lengths" --reps 2
}

# part_peers measures the tasks of part_presets with PyTorch, compiled if time permits.
part_peers() {
	has_peer || { skip "$TORCH" && return; }
	local task
	if [ -n "$QUICK" ]; then
		note "text only"
		torch peers 20 --task text --dtype fp32 --length 64 --batch 1 --steps 1
		return
	fi
	for task in text image pathfinder retrieval; do
		if [ "$(left)" -gt 110 ]; then
			torch peers 110 --task "$task" --compile --dtype bf16
		else
			torch peers 30 --task "$task" --dtype bf16 --steps 5
		fi
	done
}

# --- all parts ------------------------------------------------------------------

# warm starts to compile PyTorch's models into a cache. The parts before listops, which do not need an idle
# machine, run at the same time.
warm() {
	local type
	for type in bf16 fp32; do
		timeout -k "$GRACE" 240 "$PYTHON" "$KIT/sft_torch_gpu.py" --compile --dtype $type --steps 1 >"$WORK/warm-$type" 2>&1 &
		WARMING+=($!)
	done
}

# cool waits for warm for at most the given number of seconds, and then stops it.
cool() {
	local begin=$SECONDS group result=ok
	[ ${#WARMING[@]} -gt 0 ] || return
	for group in "${WARMING[@]}"; do
		while kill -0 "$group" 2>/dev/null && [ $((SECONDS - begin)) -lt "$1" ]; do sleep 1; done
		kill -0 "$group" 2>/dev/null && result="out of time"
	done
	stop "${WARMING[@]}"
	WARMING=()
	fact parts name '"(PyTorch compiles)"' result "\"$result\"" seconds $((SECONDS - begin)) planned 0 limit "$1"
	keep "$WORK"/warm-*
}

report() {
	within 30 "$KIT/report" "$OUT/results.jsonl" >"$OUT/report.txt" 2>"$WORK/stderr" || { FAILED=1 && cat "$WORK/stderr" >&2; }
	keep "$WORK/stderr"
}

# part runs a part. Its time limit is the remaining time minus the planned time of the later parts, but
# at least its own planned time, if that remains, and at most its maximum.
part() {
	local name=$1 planned=$2 limit=$3 later=$4 begin=$SECONDS seconds
	seconds=$((END - SECONDS - later))
	[ "$seconds" -gt "$limit" ] && seconds=$limit
	[ "$seconds" -lt "$planned" ] && seconds=$planned
	DEADLINE=$((begin + seconds < END ? begin + seconds : END))
	RESULT=ok NOTE=$ALONE
	"part_$name" >>"$OUT/log.txt" 2>&1
	seconds=$((SECONDS - begin))
	fact parts name "\"$name\"" result "\"$RESULT\"" seconds $seconds planned "$planned" limit "$limit" note "$(quote "$NOTE")"
	printf '%-9s %4d s of %d planned: %s%s\n' "$name" $seconds "$planned" "$RESULT" "${NOTE:+, $NOTE}"
	report
}

all() {
	local name planned limit later
	later=$(plan | awk '{ s += $2 } END { print s }')
	printf 'results in %s; planned: %d s of %d\n' "$OUT" "$later" "$END"
	while read -r name planned limit <&3; do
		later=$((later - planned))
		[ "$name" = listops ] && cool "$(scaled 60)"
		part "$name" "$planned" "$limit" $later
		[ "$name" = info ] && [ -z "$QUICK" ] && has_peer && warm
	done 3< <(plan)
}

# forget removes the lines of a part from the results.
forget() {
	local own=$1
	[ "$1" = info ] && own='kit|driver|devices|python'
	[ -e "$OUT/results.jsonl" ] || return 0
	grep -vE "^[{]\"part\":(\"($own)\"|\"parts\",\"name\":\"$1\")," "$OUT/results.jsonl" >"$OUT/results.kept"
	mv "$OUT/results.kept" "$OUT/results.jsonl"
}

PART='' PLAN='' QUICK=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--plan) PLAN=1 ;;
	--part)
		PART=${2:-}
		parts | cut -d ' ' -f 1 | grep -qxF -- "$PART" || wrong "no part \"$PART\": expected one of $(parts | cut -d ' ' -f 1 | paste -sd ' ')"
		shift
		;;
	--help | -h) help && exit ;;
	*) wrong "unexpected argument $1: see run.sh --help" ;;
	esac
	shift
done
TIME=${TIME:-$([ -n "$PART" ] && echo 3600 || echo 540)}
[[ $TIME =~ ^[1-9][0-9]{1,5}$ ]] || wrong "TIME=$TIME: expected a number of seconds from 10 to 999999"
if [ -n "$PLAN" ]; then
	print_plan
	exit
fi
OUT=${OUT:-results} PYTHON=${PYTHON:-python3} DEVICE=${DEVICE:-vulkan}
END=$((TIME - TIME / 60 - 6)) # programs take a moment to end
SFTSEQ=() WARMING=() RUNNING='' FAILED=0 TORCH='' ALONE=''
WORK=$(mktemp -d) || exit 1
# Caches are empty at the start and removed at the end.
export XDG_CACHE_HOME=$WORK/cache TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TRITON_CACHE_DIR=$WORK/triton
trap 'stop "${WARMING[@]}" $RUNNING; rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT TERM
[ -x "$KIT/sftseq" ] || chmod +x "$KIT/sftseq" # a copy may lose the permission
find_device
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd) || exit 1
if [ -n "$PART" ]; then
	forget "$PART"
	ALONE="run alone on $DEVICE, $(date -u +%Y-%m-%dT%H:%MZ)${QUICK:+, at a reduced size}"
	part "$PART" "$(parts | sed -n "s/^$PART \([0-9]*\) .*/\1/p")" "$TIME" 0
else
	rm -rf "$OUT"/{results.jsonl,report.txt,log.txt,loss-fp32,loss-mixed}
	all
fi
cat "$OUT/report.txt"
[ "$FAILED" = 0 ] || echo "Some commands of sftseq failed: see the table of failed commands, and $OUT/log.txt." >&2
exit "$FAILED"
