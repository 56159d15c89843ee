module waymark/packaging

go 1.26.8
