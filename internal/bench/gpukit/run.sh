#!/usr/bin/env bash
# Measures sftseq on this machine's graphics processor, and PyTorch beside it if
# python3 has it. Needs neither network nor compiler. See --help.
set -u
KIT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SELF=$KIT/$(basename "${BASH_SOURCE[0]}")

help() {
	cat <<EOF
usage: run.sh [--quick] [--plan] [--part NAME]

Writes into \${OUT:-results}: results.jsonl, report.txt (tables of it), log.txt and
the loss curves. Each part has a time limit of its own; what fails or hangs is
recorded, and the next part begins.

  --quick       a reduced size, for drivers that compute on the processor; they get
                it anyway
  --plan        print the parts and the time planned for each
  --part NAME   run one part alone

Environment: OUT; TIME (540), seconds for everything, from which those of each part
follow; DEVICE (vulkan), as sftseq devices lists them; PYTHON (python3).
EOF
}

# Parts in their order: seconds planned of 540, and the most that one may take as
# long as the others keep what is planned for them. First what needs no quiet
# machine: meanwhile PyTorch compiles its model. Then the measurements, by
# importance.
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
			check 25 60
			golden 25 60
			loss 85 150
			listops 30 60
			peer 160 220
			profile 15 40
			kernels 35 60
			presets 50 80
			lengths 45 80
			peers 30 240
		EOF
	fi
}

# scaled is a number of seconds out of 540, of the time that there is.
scaled() { echo $((($1 * TIME + 539) / 540)); }

plan() {
	local name planned limit
	parts | while read -r name planned limit; do echo "$name $(scaled "$planned") $(scaled "$limit")"; done
}

# sftseq runs the program, with the loader and driver that were found.
sftseq() {
	if [ -n "$LIBRARIES" ]; then
		LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$LIBRARIES "$KIT/sftseq" "$@"
	else
		"$KIT/sftseq" "$@"
	fi
}

quote() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g')"; }

# emit writes the JSON lines on its input to the results as they come, with the
# part's name.
emit() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in '{'*) printf '{"part":"%s",%s\n' "$1" "${line#?}" >>"$OUT/results.jsonl" ;; esac
	done
}

# fact writes one line: PART, then names and values of JSON.
fact() {
	local part=$1 line="" && shift
	while [ $# -gt 1 ]; do line+=",\"$1\":$2" && shift 2; done
	printf '{%s}\n' "${line#,}" | emit "$part"
}

# run runs a command of a part whose JSON lines are results. That it failed is one,
# too.
run() {
	local part=$1 status && shift
	echo "+ $*" >>"$OUT/log.txt"
	"$@" 2>"$WORK/stderr" | emit "$part"
	status=${PIPESTATUS[0]}
	[ "$status" = 0 ] || fact "$part" command "$(quote "${*/#$KIT\//}")" status "$status" error "$(quote "$(reason "$WORK/stderr")")"
	keep "$WORK/stderr"
	return "$status"
}

# reason is what a program ended with: its last error, or its last line.
reason() { { grep -E '^[A-Za-z.]*Error' "$1" || grep -v '^ *$' "$1"; } | tail -n 1 | cut -c 1-300; }

# keep moves files to the end of the log.
keep() {
	local file
	for file; do [ -e "$file" ] && cat "$file" >>"$OUT/log.txt" && rm "$file"; done
}

left() { echo $((DEADLINE - $(date +%s))); }

# --- what is there --------------------------------------------------------------

graphics() { sftseq devices --quick --json 2>/dev/null | grep -v '"missing":' | grep -qE '"kind":"(discrete|integrated|virtual)"'; }

# find_driver tries the machine's loader, then the kit's with the libraries that
# drivers ask for, then drivers in places that the loader does not look at.
find_driver() {
	graphics && return
	export LIBRARIES=$KIT/lib
	graphics && return
	local driver
	[ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || for driver in /usr/local/*/share/vulkan/icd.d/*.json /opt/*/share/vulkan/icd.d/*.json /usr/local/*/vulkan/icd.d/*.json; do
		[ -e "$driver" ] || continue
		export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
		graphics && return
		unset VK_DRIVER_FILES VK_ICD_FILENAMES
	done
	LIBRARIES=
	sftseq devices --quick --json 2>/dev/null | grep -q '"device":"vulkan:' || LIBRARIES=$KIT/lib
}

# find_device asks for the device's memory, kind and precisions.
find_device() {
	find_driver
	local line
	line=$(sftseq devices --quick --json 2>>"$OUT/log.txt" | grep -v '"missing":' | grep "^{\"device\":\"$DEVICE" | head -n 1)
	MEMORY=$(sed -n 's/.*"memory_bytes":\([0-9]*\).*/\1/p' <<<"$line")
	MEMORY=$((${MEMORY:-4294967296} / 100 * 92))
	PRECISIONS=fp32
	grep -q '"mixed":true' <<<"$line" && PRECISIONS="fp32 mixed"
	if [ -z "$QUICK" ] && ! grep -qE '"kind":"(discrete|integrated|virtual)"' <<<"$line"; then
		echo "no graphics processor was found as $DEVICE: a reduced size"
		QUICK=1
	fi
	export MEMORY PRECISIONS QUICK
}

has_peer() { [ -e "$KIT/sft_torch_gpu.py" ] && command -v "$PYTHON" >/dev/null; }

# torch runs the PyTorch program for at most so many seconds.
torch() {
	local part=$1 seconds && seconds=$(scaled "$2") && shift 2
	[ "$(left)" -lt "$seconds" ] && seconds=$(left)
	[ "$seconds" -gt 0 ] && run "$part" timeout -k 5 "$seconds" "$PYTHON" "$KIT/sft_torch_gpu.py" "$@"
}

# --- the parts ------------------------------------------------------------------

part_info() {
	fact kit date "$(quote "$(date -u +%Y-%m-%dT%H:%MZ)")" version "$(quote "$(sftseq version | head -n 1)")" system "$(quote "$(uname -srm), $(nproc) processors")" \
		precisions "$(quote "$PRECISIONS")" quick "$([ -n "$QUICK" ] && echo true || echo false)"
	if command -v nvidia-smi >/dev/null; then
		fact driver says "$(quote "$(timeout 10 nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.mem --format=csv,noheader 2>&1 | head -n 1)")"
		timeout 10 nvidia-smi >>"$OUT/log.txt" 2>&1
	fi
	run devices sftseq devices --json
	if has_peer; then
		fact python says "$(quote "$(timeout 25 "$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)' 2>&1 | tail -n 1)")"
	fi
}

part_check() { run check sftseq check --device "$DEVICE" --json; }

part_golden() {
	local p folder status=0
	mkdir -p "$WORK/golden"
	for folder in "$KIT"/golden/*/; do
		[ -n "$QUICK" ] && [ "$(basename "$folder")" = long ] && continue
		ln -sfn "$folder" "$WORK/golden/$(basename "$folder")"
	done
	for p in $PRECISIONS; do run golden sftseq check --golden "$WORK/golden" --device "$DEVICE" --precision "$p" --json || status=1; done
	return $status
}

# part_loss trains twice on the same data, as long as there is time for, and
# compares the losses at the end.
part_loss() {
	local steps=1000 last=100 every=10 batch=4 status=0 p b rate begin rows
	local shape=(--preset paper) data=()
	if [ -n "$QUICK" ]; then
		steps=20 last=10 every=2
		shape=(--preset paper --hidden 32 --layers 2 --k 8) data=(--min-length 20 --max-length 60)
	else # the largest batch that leaves each run 30 seconds
		rate=$(sftseq bench model --device "$DEVICE" --what train --length 1024 --batch 8 --reps 1 --json 2>>"$OUT/log.txt" | sed -n 's/.*"tokens_per_s":\([0-9]*\).*/\1/p')
		for b in 8 16 32 64; do [ $((b * steps * 1033)) -le $((${rate:-0} * 30)) ] && batch=$b; done
	fi
	rows=$((steps * batch < 16000 ? steps * batch : 16000))
	sftseq data generate listops --out "$WORK/data" --train "$rows" --val 16 --test 16 "${data[@]}" >>"$OUT/log.txt" 2>&1 || return 1
	for p in $PRECISIONS; do
		begin=$(date +%s)
		run loss sftseq train listops "${shape[@]}" --data "$WORK/data" --out "$WORK/loss-$p" --device "$DEVICE" --precision "$p" --memory "$MEMORY" \
			--steps $steps --batch $batch --log-every $every --eval-every $steps --save-every 1h || status=1
		[ -e "$WORK/loss-$p/metrics.jsonl" ] || continue
		grep '"kind":"train"' "$WORK/loss-$p/metrics.jsonl" >"$OUT/loss-$p.jsonl" || continue
		fact loss precision "\"$p\"" batch $batch steps "$(sed -n 's/.*"step":\([0-9]*\).*/\1/p' "$OUT/loss-$p.jsonl" | tail -n 1)" seconds $(($(date +%s) - begin)) last $last \
			loss "$(tail -n $((last / every)) "$OUT/loss-$p.jsonl" | sed 's/.*"loss":\([-+.0-9eE]*\).*/\1/' | awk '{ s += $1 } END { print s / NR }')"
	done
	return $status
}

# model measures a model in each precision.
model() {
	local part=$1 status=0 p && shift
	for p in $PRECISIONS; do run "$part" sftseq bench model --device "$DEVICE" --precision "$p" --memory "$MEMORY" --json "$@" || status=1; done
	return $status
}

listops() { if [ -n "$QUICK" ]; then echo --length 64 --batch 1; else echo --length 2048 --batch 64; fi; }

part_listops() { model listops $(listops) --reps $([ -n "$QUICK" ] && echo 1 || echo 5); }

part_profile() { model profile $(listops) --reps 1 --profile; }

part_peer() {
	has_peer || { echo "no PyTorch program, or no $PYTHON" >>"$OUT/log.txt"; return; }
	local status=0 type
	if [ -n "$QUICK" ]; then
		for type in --compile "" --full; do torch peer 40 $type --dtype fp32 $(listops) --steps 1 || status=1; done
		return $status
	fi
	torch peer 80 --compile --dtype bf16 || status=1
	torch peer 80 --compile --dtype fp32 || status=1
	torch peer 30 --dtype bf16 --steps 5 || status=1
	torch peer 30 --full --dtype bf16 --steps 10 || status=1
	torch peer 40 --dtype fp32 --steps 5 || status=1
	torch peer 40 --full --dtype fp32 --steps 5 || status=1
	return $status
}

part_kernels() {
	local p status=0
	for p in $PRECISIONS; do run kernels sftseq bench kernels --device "$DEVICE" --precision "$p" --json $([ -n "$QUICK" ] && echo --only gelu) || status=1; done
	return $status
}

# part_presets measures the other tasks of the Long Range Arena. A pair of sequences
# counts as one of twice the length.
part_presets() {
	local status=0
	cd "$KIT" || return 1
	if [ -n "$QUICK" ]; then
		for task in text image pathfinder retrieval; do model presets --config configs/$task.json --length 64 --batch 1 --reps 1 || status=1; done
		return $status
	fi
	model presets --config configs/text.json --length 1024 --batch 64 --reps 3 || status=1
	model presets --config configs/image.json --length 1024 --batch 64 --reps 3 || status=1
	model presets --config configs/pathfinder.json --length 1024 --batch 64 --reps 3 || status=1
	model presets --config configs/retrieval.json --length 8192 --batch 16 --reps 3 || status=1
	return $status
}

part_lengths() {
	local status=0 lengths=1024,4096,16384,65536,262144,1048576
	[ -n "$QUICK" ] && lengths=64,256
	model lengths --what forward --batch 1 --length $lengths --reps 2 || status=1
	model lengths --what train --batch 1 --length $lengths --reps 2 || status=1
	return $status
}

# part_peers has PyTorch run the other tasks, compiled where there is the time.
part_peers() {
	has_peer || return 0
	local status=0 task
	for task in text image pathfinder retrieval; do
		if [ -n "$QUICK" ]; then
			[ $task = text ] && torch peers 20 --task $task --dtype fp32 --length 64 --batch 1 --steps 1
		elif [ "$(left)" -gt 110 ]; then
			torch peers 110 --task $task --compile --dtype bf16 || status=1
		else
			torch peers 30 --task $task --dtype bf16 --steps 5 || status=1
		fi
	done
	return $status
}

# --- the whole ------------------------------------------------------------------

# warm compiles PyTorch's models into a cache, beside parts that are not timed.
warm() {
	local type
	for type in bf16 fp32; do
		timeout -k 5 240 "$PYTHON" "$KIT/sft_torch_gpu.py" --compile --dtype $type --steps 1 >"$WORK/warm-$type" 2>&1 &
		WARMING+=" $!"
	done
}

# cool waits for that for at most so many seconds.
cool() {
	local until=$(($(date +%s) + $1)) pid begin
	begin=$(date +%s)
	for pid in $WARMING; do
		while kill -0 "$pid" 2>/dev/null && [ "$(date +%s)" -lt $until ]; do sleep 1; done
		kill "$pid" 2>/dev/null
	done
	[ -z "$WARMING" ] || fact parts name '"(PyTorch compiles)"' status 0 seconds $(($(date +%s) - begin)) planned 0 limit "$1"
	WARMING=
	keep "$WORK"/warm-*
}

report() { sftseq bench report "$OUT/results.jsonl" >"$OUT/report.txt" 2>>"$OUT/log.txt"; }

# part runs one part within its time: what is planned for it at least, and what the
# parts after it can spare.
part() {
	local name=$1 planned=$2 limit=$3 later=$4 begin seconds status
	seconds=$(($(left) - later))
	[ $seconds -gt "$limit" ] && seconds=$limit
	[ $seconds -lt "$planned" ] && seconds=$planned
	[ $seconds -gt "$(left)" ] && seconds=$(left)
	begin=$(date +%s) status=124
	if [ $seconds -gt 0 ]; then # a signal to this script interrupts wait alone
		DEADLINE=$((begin + seconds)) timeout -k 5 $seconds "$BASH" "$SELF" --part "$name" >>"$OUT/log.txt" 2>&1 &
		RUNNING=$!
		wait $RUNNING
		status=$?
		RUNNING=
		keep "$WORK/stderr"
	fi
	seconds=$(($(date +%s) - begin))
	fact parts name "\"$name\"" status $status seconds $seconds planned "$planned" limit "$limit"
	printf '%-9s %4d s of %d planned%s\n' "$name" $seconds "$planned" "$([ $status = 0 ] || echo ", not all of it succeeded (status $status)")"
	report
}

all() {
	export DEADLINE=$(($(date +%s) + $(scaled 525))) # what is stopped takes a moment to end
	printf 'results in %s; planned: %d s of %d\n' "$OUT" "$(plan | awk '{ s += $2 } END { print s }')" "$(left)"
	local name planned limit later
	later=$(plan | awk '{ s += $2 } END { print s }')
	while read -r name planned limit <&3; do
		later=$((later - planned))
		[ "$name" = listops ] && cool "$(scaled 60)"
		part "$name" "$planned" "$limit" $later
		[ "$name" = info ] && [ -z "$QUICK" ] && has_peer && warm
	done 3< <(plan)
	cat "$OUT/report.txt"
}

PART= PLAN=
QUICK=${QUICK:-}
while [ $# -gt 0 ]; do
	case $1 in
	--quick) QUICK=1 ;;
	--plan) PLAN=1 ;;
	--part) PART=${2:-} && shift ;;
	--help | -h) help && exit ;;
	*) help >&2 && exit 2 ;;
	esac
	shift
done
[ -n "$PART" ] && TIME=${TIME:-3600}
export TIME=${TIME:-540}
if [ -n "$PLAN" ]; then
	plan
	exit
fi
if [ -n "${PART_OF_ALL:-}" ]; then
	"part_$PART"
	exit
fi
export OUT=${OUT:-results} PYTHON=${PYTHON:-python3} DEVICE=${DEVICE:-vulkan} LIBRARIES= QUICK
WARMING= RUNNING=
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd) || exit 1
WORK=$(mktemp -d) || exit 1
# Caches begin empty, and nothing of this run is left behind.
export WORK PART_OF_ALL=1 XDG_CACHE_HOME=$WORK/cache TORCHINDUCTOR_CACHE_DIR=$WORK/inductor TRITON_CACHE_DIR=$WORK/triton
trap 'kill $WARMING $RUNNING 2>/dev/null; wait; rm -rf "$WORK"' EXIT
trap 'exit 1' INT TERM
[ -x "$KIT/sftseq" ] || chmod +x "$KIT/sftseq" # not every way of copying keeps that
rm -f "$OUT"/{results.jsonl,report.txt,log.txt,loss-fp32.jsonl,loss-mixed.jsonl}
find_device
if [ -z "$PART" ]; then
	all
else
	export DEADLINE=$(($(date +%s) + TIME))
	"part_$PART"
	report
	cat "$OUT/report.txt"
fi
