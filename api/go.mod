module github.com/berth-proxy/berth/api

go 1.26.0

require (
	github.com/hashicorp/go-immutable-radix/v2 v2.1.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace github.com/berth-proxy/berth/proto => ../proto
