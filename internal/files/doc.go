// Package files collects a data set of files whose class is their kind, such as python or png, from
// installed software.
//
// [Kinds] lists the kinds with their file names and signatures. [Walk] finds the files below folders,
// including those within gzip, zip, jar and whl archives, and assigns each to its software package
// ([Packages]). [Options.Choose] samples the files so that no package dominates a kind. [Write] reads the
// chosen files, removes duplicates and writes the bytes that [Sample] or [Fragment] selects. It assigns
// whole packages to splits: similar files of one package are never in two of train, val and test.
package files
