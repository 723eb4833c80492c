// Package bench measures whole models, the layers of the paper's runtime table, and kernels, whose
// rates it compares with the machine's peak rates. The script against.py alternates measurements of
// sftseq and PyTorch. The commands bench and devices print the results as JSON or as tables.
//
// Times are medians after a warm-up. Alternatives are measured alternately, and each ratio is computed
// within a round, so that temporary load affects both of its times.
package bench
