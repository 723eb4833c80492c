module example.com/molecules

go 1.26.8
