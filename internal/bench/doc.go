// Package bench measures kernels against what the machine can do, whole models and the layer of
// the paper's runtime table. against.py does so in turns with PyTorch. Its results are what bench, check and
// devices print, as JSON and as rows of tables.
//
// Times are medians after a warm-up. What is compared is measured in turns, one
// pair after the other, and compared within a pair: a machine that is busy for a
// while then slows both.
package bench
