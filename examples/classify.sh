#!/usr/bin/env bash
# Classifies JSON lines and prints a table. It needs bash and jq.
#
#   make build
#   echo '{"id": "sum", "text": "[MAX 2 9 ]"}' | examples/classify.sh ./sftseq serve --model runs/listops
#
# The arguments are the server's command. Columns are separated by tabs.
set -euo pipefail

# One JSON-RPC exchange: the result of initialize describes the model.
echo '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}' | "$@" | jq -r '
    .result.model | "\(.name): \(.task), labels \(.labels | join(" ")), up to \(.longestLength) tokens"'

# Bare lines need no handshake. Their responses are in order.
"$@" | jq -nr --unbuffered '
    ["id", "label", "probability", "length"],
    (inputs | if .error then [(.id | tostring), "error", .error.message]
              else [(.id | tostring), .label, (.probabilities | max * 1000 | round / 1000), .length] end)
    | @tsv'
