module example.com/superpixels

go 1.26.8
