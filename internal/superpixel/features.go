package superpixel

// PieceFeatureNames are the numbers of a superpixel: the mean and the deviation of its light, from 0 to 1,
// and the darkest and lightest; where its middle is, from 0 to 1; and its area, of which 1 is usual.
var PieceFeatureNames = []string{"mean", "deviation", "darkest", "lightest", "x", "y", "area"}

// BorderFeatureNames are the numbers of an edge between two superpixels with a common border: the distance
// of their middles, and how many pixels of the one lie beside pixels of the other. Both are divided by
// the side of a usual superpixel.
var BorderFeatureNames = []string{"distance", "border"}
